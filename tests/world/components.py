"""What tests against real components share: where ``scripts/world`` installed a component, and servers as child processes.

A directory ``tests/world/NAME`` has the tests of one component, all marked ``world``, and the script ``get_NAME``, which
installs it. Those that CI runs have the mark ``smoke`` too.
"""

from __future__ import annotations

import os
import queue
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


def component(name: str) -> Path:
    """Return the directory that ``get_NAME`` has filled; skip the test if there is none."""
    found = Path(sys.prefix) / "world" / name
    if not (found / ".installed").is_file():
        pytest.skip(f"{name} is not installed: run scripts/world {name}")
    return found


def free_port() -> int:
    """Return a port of the loopback address on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
    return port


class Server:
    """A server in a process group of its own.

    :ivar match: the match of the line that said that it is ready.
    """

    def __init__(self, process: subprocess.Popen[str], match: re.Match[str], lines: queue.Queue[str]) -> None:
        self.process = process
        self.match = match
        self._lines = lines

    def ask(self, command: str, answer: str, seconds: int = 90) -> re.Match[str]:
        """Write a line to standard input, and wait for a line of output that matches."""
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        while True:
            match = re.search(answer, self._lines.get(timeout=seconds))
            if match:
                return match

    def kill(self) -> None:
        """End the server at once, as a machine that is lost."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def freeze(self) -> None:
        """Let the server answer nothing more, as a network that is lost: its connections stay open."""
        os.killpg(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.killpg(self.process.pid, signal.SIGCONT)


@contextmanager
def running(command: Sequence[str], ready: str, *, env: Mapping[str, str] | None = None, seconds: int = 90) -> Iterator[Server]:
    """Run a server until the end of the context.

    :param ready: a regular expression. The server is ready when a line of its standard output or error matches it.
    :param env: variables beside those of this process.
    :raises RuntimeError: if the server ends, or is not ready in time, with the end of what it printed.
    """
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            start_new_session=True, env={**os.environ, **(env or {})},
        )  # fmt: skip
        found: list[re.Match[str]] = []
        lines: queue.Queue[str] = queue.Queue()
        is_ready = threading.Event()

        def watch() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                log.write(line)
                lines.put(line)
                match = re.search(ready, line)
                if match and not found:
                    found.append(match)
                    is_ready.set()
            is_ready.set()

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            is_ready.wait(seconds)
            if not found:
                process.kill()
                watcher.join(10)
                log.seek(0)
                raise RuntimeError(f"{command[0]} did not become ready: {log.read()[-4000:]}")
            yield Server(process, found[0], lines)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            watcher.join(10)
