"""A store's client in a process of its own, for clients that end the process they are in, or wait without a limit.

Azure's SDK ends the process when it gets no token, at any call, and neither Azure's nor Hadoop's client has a limit of time.
pyarrow asks Google Cloud Storage while it holds Python's global lock, when a file's size is asked for, so a store that does
not answer would stop all threads. So these three run in a helper process, which makes calls for this one and sends back what
they give. If the helper ends, or gives no answer in time, the call raises an error. The next call starts another helper, with
the credentials of that moment.

Requests and answers are pickles in two pipes between a process and the helper that it started, so arguments such as keys
are in no command line. Each request has a thread of the helper. May import: errors,
store_files. Knows nothing of URIs.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, BinaryIO, NamedTuple

from stateextract.errors import StateExtractError
from stateextract.files.store_files import InputFile, OutputFile, no_answer

_SCRIPT = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from stateextract.files.client_process import serve
serve()
"""

CallTarget = int | None
"""The number of an open file, or the file system itself."""


class _HelperFile(NamedTuple):
    """A file that the helper has opened; ``size`` is that of a file that is read, 0 of one that is written."""

    number: int
    size: int


class _PendingCalls:
    """The requests that a helper process has not answered yet. A thread of this process takes the answers."""

    def __init__(self, child: subprocess.Popen[bytes], output: BinaryIO) -> None:
        self.answered = False
        self._child = child
        self._output = output  # what the client printed
        self._lock = threading.Lock()
        self._requests: dict[int, Future[Any]] | None = {}

    def add(self, number: int) -> Future[Any]:
        answer: Future[Any] = Future()
        with self._lock:
            if self._requests is not None:
                self._requests[number] = answer
                return answer
        answer.set_exception(EOFError(self._last_words()))
        return answer

    def receive(self) -> None:
        assert self._child.stdout is not None
        while self._requests is not None:
            try:
                number, good, value = pickle.load(self._child.stdout)
            except Exception:  # the end, in the middle of an answer or not
                break
            self.answered = True
            with self._lock:
                answer = self._requests.pop(number)
            if good:
                answer.set_result(value)
            else:
                answer.set_exception(value)
        self._child.wait()
        with self._lock:
            requests, self._requests = self._requests or {}, None
        for answer in requests.values():
            answer.set_exception(EOFError(self._last_words()))

    def _last_words(self) -> str:
        """Why the helper ended: what C++ says of an exception that nothing caught, or the last line."""
        self._output.seek(max(0, self._output.seek(0, os.SEEK_END) - 10_000))
        lines = [line.strip() for line in self._output.read().decode(errors="replace").splitlines() if line.strip()]
        reason = next((line for line in lines if line.startswith("what():")), lines[-1] if lines else "")
        return reason.removeprefix("what():").strip(" .") or f"exit code {self._child.returncode}"


class _Helper:
    """One helper process."""

    def __init__(self, kind: str, arguments: Mapping[str, Any]) -> None:
        self.process = os.getpid()
        output = tempfile.TemporaryFile()  # noqa: SIM115  # for as long as the helper is there
        command = [sys.executable, "-P", "-c", _SCRIPT, json.dumps([entry for entry in sys.path if entry])]
        self._child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output,
            start_new_session=True,  # Ctrl-C is for this process, which may have to remove files with the helper's help
        )  # fmt: skip
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._pending = _PendingCalls(self._child, output)
        threading.Thread(target=self._pending.receive, name="store answers", daemon=True).start()
        self._send((kind, dict(arguments)))

    @property
    def answered(self) -> bool:
        return self._pending.answered

    @property
    def runs(self) -> bool:
        return self.process == os.getpid() and self._child.poll() is None

    def send(self, target: CallTarget, method: str, arguments: tuple[Any, ...]) -> Future[Any]:
        number = next(self._numbers)
        answer = self._pending.add(number)
        self._send((number, target, method, arguments))
        return answer

    def _send(self, message: Any) -> None:
        requests = self._child.stdin
        assert requests is not None
        # If the helper has ended, the end of its answers says so.
        with self._lock, contextlib.suppress(OSError):
            pickle.dump(message, requests)
            requests.flush()

    def __del__(self) -> None:
        # At the end of its requests the helper ends.
        if self.process == os.getpid() and self._child.stdin is not None:
            with contextlib.suppress(OSError):
                self._child.stdin.close()


class ClientProcess:
    """A file system of pyarrow in a helper process, with as much of its interface as this project uses.

    :param kind: name of the class in ``pyarrow.fs``; :param arguments: for it.
    :param timeout: seconds that each call has.
    :param ended: the error for a helper that ended, by the reason that it gave.
    :raises: at each call what the client raises, ``ended``'s error, and ``NoAnswerError``. After one of the last two from a
        store that had never answered, calls fail at once for as long as one may take.
    """

    def __init__(
        self,
        kind: str,
        arguments: Mapping[str, Any],
        timeout: int,
        type_name: str,
        ended: Callable[[str], StateExtractError],
    ) -> None:
        self.type_name = type_name
        self._kind = kind
        self._arguments = arguments
        self._timeout = timeout
        self._ended = ended
        self._lock = threading.Lock()
        self._helper: _Helper | None = None
        self._refused: tuple[float, Callable[[], StateExtractError]] | None = None

    def call(self, helper: _Helper | None, target: CallTarget, method: str, *arguments: Any) -> tuple[_Helper, Any]:
        """Let a helper, or the one that runs, make a call; which one it was, and what it gave."""
        if self._refused is not None and time.monotonic() < self._refused[0]:
            raise self._refused[1]()
        if helper is None:
            helper = self._running()
        elif helper.process != os.getpid():
            raise OSError("the file was opened by another process")
        answer = helper.send(target, method, arguments)
        try:
            value = answer.result(self._timeout)
        except EOFError as error:
            reason = str(error)
            raise self._failed(helper, lambda: self._ended(reason)) from None
        except TimeoutError:
            if answer.done():
                raise  # of the client itself
            raise self._failed(helper, lambda: no_answer(self._timeout)) from None
        self._refused = None
        return helper, value

    def _failed(self, helper: _Helper, error: Callable[[], StateExtractError]) -> StateExtractError:
        if not helper.answered:
            self._refused = time.monotonic() + self._timeout, error
        return error()

    def _running(self) -> _Helper:
        with self._lock:
            if self._helper is None or not self._helper.runs:
                self._helper = _Helper(self._kind, self._arguments)
            return self._helper

    def make(self) -> None:
        """Make the client, which else the first call does."""
        self.call(None, None, "make")

    def get_file_info(self, what: Any) -> Any:
        from pyarrow import fs

        selects = isinstance(what, fs.FileSelector)
        arguments = (what.base_dir, what.allow_not_found, what.recursive) if selects else (what,)
        found = [
            fs.FileInfo(path, fs.FileType(kind), mtime_ns=mtime, size=size)
            for path, kind, mtime, size in self.call(None, None, "list" if selects else "info", *arguments)[1]
        ]
        return found if selects else found[0]

    def create_dir(self, path: str, recursive: bool = True) -> None:
        self.call(None, None, "create_dir", path, recursive)

    def delete_file(self, path: str) -> None:
        self.call(None, None, "delete_file", path)

    def delete_dir(self, path: str) -> None:
        self.call(None, None, "delete_dir", path)

    def move(self, source: str, target: str) -> None:
        self.call(None, None, "move", source, target)

    def open_input_file(self, path: str) -> _InputFile:
        return _InputFile(self, *self.call(None, None, "open_input_file", path))

    open_input_stream = open_input_file

    def open_output_stream(self, path: str) -> _OutputFile:
        return _OutputFile(self, *self.call(None, None, "open_output_stream", path))


class _InputFile(InputFile):
    """A file that a helper has open."""

    def __init__(self, client: ClientProcess, helper: _Helper, opened: _HelperFile) -> None:
        self._client, self._helper, self._opened = client, helper, opened
        self._closed = False

    def size(self) -> int:
        return self._opened.size

    def read_at(self, length: int, offset: int) -> bytes:
        data: bytes = self._client.call(self._helper, self._opened.number, "read_at", length, offset)[1]
        return data

    def close(self) -> None:
        if not self._closed and self._helper.process == os.getpid():
            self._helper.send(self._opened.number, "close", ())  # nothing depends on the answer
        self._closed = True


class _OutputFile(OutputFile):
    """A file that a helper has open."""

    def __init__(self, client: ClientProcess, helper: _Helper, opened: _HelperFile) -> None:
        super().__init__()
        self._client, self._helper, self._opened = client, helper, opened

    def _send(self, data: bytes) -> None:
        self._client.call(self._helper, self._opened.number, "write", data)

    def _complete(self) -> None:
        self._client.call(self._helper, self._opened.number, "close")


# ---- in the helper process


def serve() -> None:
    """Make calls until no more come. Standard output is for answers alone, whatever the client prints."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    kind, arguments = pickle.load(requests)
    lock = threading.Lock()
    files: dict[CallTarget, Any] = {}

    def made() -> Any:
        with lock:
            if None not in files:
                import pyarrow.fs

                files[None] = getattr(pyarrow.fs, kind)(**arguments)
            return files[None]

    def work(number: int, target: CallTarget, method: str, given: tuple[Any, ...]) -> None:
        try:
            good, value = True, _call(made() if target is None else files[target], method, given)
            if method.startswith("open"):
                files[number] = value
                value = _HelperFile(number, value.size() if value.readable() else 0)
            elif method == "close":
                del files[target]
        except Exception as error:
            good, value = False, error
        data = _pickled(number, good, value)
        with answering:
            answers.write(data)
            answers.flush()

    answering = threading.Lock()
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            os._exit(0)  # whatever the client still does
        threading.Thread(target=work, args=request, daemon=True).start()


def _call(target: Any, method: str, given: tuple[Any, ...]) -> Any:
    import pyarrow.fs

    if method == "make":
        return None
    if method == "create_dir":
        return target.create_dir(given[0], recursive=given[1])
    if method == "info":
        found = [target.get_file_info(*given)]
    elif method == "list":
        base, absent, recursive = given
        found = target.get_file_info(pyarrow.fs.FileSelector(base, allow_not_found=absent, recursive=recursive))
    else:
        return getattr(target, method)(*given)
    return [(info.path, info.type.value, info.mtime_ns, info.size) for info in found]


def _pickled(number: int, good: bool, value: Any) -> bytes:
    try:
        data = pickle.dumps((number, good, value))
        if not good:
            pickle.loads(data)
        return data
    except Exception:  # an error of which no copy can be made
        return pickle.dumps((number, False, OSError(str(value))))
