"""The claim of a job on its output: one job at a time may change it, on every store.

The store needs no exclusive create and no conditional write. A job writes ``_claim-<job>``, looks at the claims of others,
writes ``_writer-<job>``, and looks again. Of several jobs that start together exactly one goes on. The rule and its proof
are in ``docs/architecture.md``; ``tests/job/test_interleavings.py`` checks it.

The claim file says which process wrote it. On the same machine the process itself shows whether the claim still counts.
Elsewhere the file's heartbeat shows it: the job writes a new number every 15 seconds, and a claim that does not change for
two minutes is dead.

Does not know what a job writes.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow.fs as pafs

from stateextract.errors import OutputError
from stateextract.job.output import Output

CANDIDATE = "_claim-"
WRITER = "_writer-"
BEAT_SECONDS = 15.0
DEAD_SECONDS = 120.0
"""A claim from elsewhere that does not change for so long is dead: eight heartbeats."""
_POLL_SECONDS = 0.2
_SAY_AFTER_SECONDS = 2.0

_active: set[str] = set()
"""Jobs of this process that hold a claim or try to get one."""


@dataclass(frozen=True)
class Sign:
    """What only one process has.

    :param boot: id of the machine's boot; ``None`` where the system does not give one.
    :param pids: the namespace that ``pid`` belongs to; containers have one each.
    :param started: start of the process in clock ticks after the boot.
    """

    host: str
    pid: int
    boot: str | None
    pids: str | None
    started: int | None

    @classmethod
    def of_this_process(cls) -> Sign:
        """The sign of the process that calls."""
        boot = pids = started = None
        with contextlib.suppress(OSError):
            with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
                boot = file.read().strip()
            pids = os.readlink("/proc/self/ns/pid")
            started = start_of(os.getpid())
        return cls(socket.gethostname(), os.getpid(), boot, pids, started)

    def lives(self) -> bool | None:
        """Whether the process of this sign runs; ``None`` where that cannot be seen from here."""
        here = Sign.of_this_process()
        if None in (here.boot, here.pids, self.started) or (self.boot, self.pids) != (here.boot, here.pids):
            return None
        started = start_of(self.pid)
        if started is None and _hidden(self.pid):
            return None
        return started == self.started


def start_of(pid: int) -> int | None:
    """When a process started, in clock ticks after the boot; ``None`` if it has ended or is not shown."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return None if fields[0] in "ZX" else int(fields[19])
    except (OSError, IndexError, ValueError):
        return None


def _hidden(pid: int) -> bool:
    """Whether a process exists that ``/proc`` does not show to this user."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return False


class ThisProcess:
    """This process as the protocol needs it. Tests have places of their own."""

    def claim(self, job: str) -> dict[str, Any]:
        """What a claim file says of this process."""
        return {"tool": "stateextract", "job": job, **asdict(Sign.of_this_process())}

    def lives(self, job: str, claim: Mapping[str, Any]) -> bool | None:
        """Whether the job that wrote a claim runs; ``None`` where only its heartbeat can show it."""
        try:
            sign = Sign(*(claim[name] for name in ("host", "pid", "boot", "pids", "started")))
            if type(sign.pid) is not int:
                return None
            mine = sign == Sign.of_this_process()
            return job in _active if mine and sign.started is not None else sign.lives()
        except (KeyError, TypeError):
            return None

    def now(self) -> float:
        """Seconds of a clock that never goes back."""
        return time.monotonic()

    def pause(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)

    def beats(self) -> bool:
        """Whether a thread writes heartbeats."""
        return True


@dataclass
class _Watched:
    content: bytes
    since: float
    changed: bool = False


class Claim:
    """The claim of one job.

    :param output: what is claimed.
    :param job: id of the run. Of two jobs that start together the one with the smaller id goes on.
    """

    def __init__(self, output: Output, job: str, process: ThisProcess | None = None) -> None:
        self._output = output
        self.job = job
        self._process = ThisProcess() if process is None else process
        self._watched: dict[str, _Watched] = {}
        self._beat: threading.Thread | None = None
        self._ended = threading.Event()
        self._reported = False
        self.held = False

    def acquire(self) -> None:
        """Become the one job that may change the output.

        Waits while it is not known whether the job of another claim still runs, at most two minutes after its last
        heartbeat.

        :raises OutputError: if another job has the output or starts at the same moment and goes on.
        """
        _active.add(self.job)
        try:
            self._first_write()
            if self._process.beats():
                self._beat = threading.Thread(target=self._heartbeat, daemon=True)
                self._beat.start()
            self._first_look()
            self._output.write(self._path(WRITER, self.job), b"")
            self._second_look()
            self.held = True
        except BaseException:
            self.release()
            raise

    def check(self) -> None:
        """Look whether the claim is still there.

        :raises OutputError: if another job has removed it.
        """
        if not self.mine():
            raise OutputError(
                "another job took this one for dead and removed its claim", file=self._output.uri,
                advice="this process stopped for more than two minutes; run the job again",
            )  # fmt: skip

    def mine(self) -> bool:
        """Whether this job got the claim and no other job has removed it."""
        return self.held and self._output.exists(self._path(WRITER, self.job))

    def release(self) -> None:
        """Give the output free; never raises an error of the store."""
        self._ended.set()
        if self._beat is not None:
            self._beat.join()
            self._beat = None
        with contextlib.suppress(Exception):
            self.remove(self.job)
        self.held = False
        _active.discard(self.job)

    def remove(self, job: str) -> None:
        """Remove the claim of a job. Where this stops in the middle, the rest is a claim that is judged in the same way."""
        for kind in (WRITER, CANDIDATE):
            if self._output.exists(self._path(kind, job)):
                self._output.fs.delete_file(self._path(kind, job))

    def dead(self, entries: Iterable[pafs.FileInfo]) -> list[str]:
        """The jobs whose claims are among the entries of the output and that no longer run."""
        jobs = claims_among(entries)
        return [job for job in sorted(jobs) if job != self.job and self._lives(job) is False]

    # -- the two looks

    def _first_look(self) -> None:
        while True:
            claims = self._claims()
            rivals = [job for job, writes in claims.items() if writes or job < self.job]
            judged = {job: self._lives(job) for job in rivals}
            if any(judged.values()):
                self._refuse(next(job for job in rivals if judged[job]))
            undecided = [job for job in rivals if judged[job] is None]
            if not undecided:
                return
            self._wait(undecided[0])

    def _second_look(self) -> None:
        while True:
            claims = self._claims()
            rivals = {job: self._lives(job) for job in claims if job < self.job}
            living = [job for job, lives in rivals.items() if lives is not False]
            if not living:
                return
            for job in living:
                if claims[job] and rivals[job]:
                    self._refuse(job)
            # A smaller candidate withdraws if it saw that this job writes, and writes itself if it did not.
            self._wait(living[0])

    def _claims(self) -> dict[str, bool]:
        """The other jobs that have a claim, and whether they have written that they go on."""
        entries = self._output.fs.get_file_info(
            pafs.FileSelector(self._output.root, recursive=False, allow_not_found=True)
        )
        return {job: writes for job, writes in claims_among(entries).items() if job != self.job}

    def _refuse(self, job: str) -> None:
        try:
            claim = json.loads(self._output.read(self._path(CANDIDATE, job)))
            who = f" (process {claim['pid']} on {claim['host']})"
        except (OSError, ValueError, KeyError, TypeError):
            who = ""
        raise OutputError(f"another job is writing there{who}", file=self._output.uri,
                          advice="wait for it, or choose another --output")  # fmt: skip

    # -- whether others live

    def _lives(self, job: str) -> bool | None:
        """Whether the job of a claim runs; ``None``: not known yet."""
        try:
            content = self._output.read(self._path(CANDIDATE, job))
        except OSError:
            if self._output.exists(self._path(CANDIDATE, job)):
                raise
            return False  # it ended in the meantime, or was stopped while it ended
        try:
            lives = self._process.lives(job, json.loads(content))
        except ValueError:
            lives = None  # it is being written
        if lives is not None:
            return lives
        now = self._process.now()
        watched = self._watched.get(job)
        if watched is None:
            self._watched[job] = _Watched(content, now)
            return None
        if watched.content != content:
            self._watched[job] = _Watched(content, now, changed=True)
            return True
        if now - watched.since >= DEAD_SECONDS:
            return False
        return True if watched.changed else None

    def _wait(self, job: str) -> None:
        watched = self._watched.get(job)
        if watched is not None and not self._reported and self._process.now() - watched.since > _SAY_AFTER_SECONDS:
            self._reported = True
            print(
                f"{self._output.uri} has the claim of another job, {CANDIDATE}{job}. Waiting up to "
                f"{DEAD_SECONDS:.0f} seconds for a sign that it still runs.",
                file=sys.stderr, flush=True,
            )  # fmt: skip
        self._process.pause(_POLL_SECONDS)

    def _heartbeat(self) -> None:
        number = 0
        while not self._ended.wait(BEAT_SECONDS):
            number += 1
            # A store that does not answer must not end the thread: the next heartbeat may arrive.
            with contextlib.suppress(Exception):
                if not self._output.exists(self._path(CANDIDATE, self.job)):
                    return
                self._write(number)

    # -- files

    def _first_write(self) -> None:
        attempts = 3
        for attempt in range(attempts):
            self._output.fs.create_dir(self._output.root, recursive=True)
            try:
                return self._write(0)
            except FileNotFoundError:  # a job that failed has removed the directory that it had made
                if attempt == attempts - 1:
                    raise

    def _write(self, beat: int) -> None:
        data = json.dumps({**self._process.claim(self.job), "beat": beat}).encode()
        self._output.write(self._path(CANDIDATE, self.job), data)

    def _path(self, kind: str, job: str) -> str:
        return self._output.path(kind + job)


def claims_among(entries: Iterable[pafs.FileInfo]) -> dict[str, bool]:
    """The jobs that have a claim among the entries of an output, and whether they have written that they go on."""
    found: dict[str, bool] = {}
    for entry in entries:
        for kind in (CANDIDATE, WRITER):
            if entry.base_name.startswith(kind):
                job = entry.base_name[len(kind) :]
                found[job] = found.get(job, False) or kind == WRITER
    return found
