"""Publishing: nothing of a job is visible before its end, and a failed one leaves nothing behind.

Where the store renames (local disks, HDFS) tasks write below ``<output>/_staging-<job>/data`` and the driver moves the
files to their datasets at the end; a dataset that is new appears whole with one rename. Object stores cannot rename, so
there the files are written once, at their final place under names that no other attempt uses. Either way the driver
publishes exactly the files that the reports name, never what a listing shows: a file of a killed or doubled attempt
is in no report. Then the coverage report and the manifest are written, ``overwrite`` removes the files of the datasets
that were replaced, and ``_SUCCESS`` comes last.

The staging folder holds ``_job.json`` (who writes here, since when) and the plan that tasks read. A staging folder
whose job is dead is removed by the next job, with all that it had written and no manifest names.

Works on any ``pyarrow.fs`` file system. Must not know of Spark or of Flink's formats.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow.fs as pafs

from stateextract.errors import OutputError
from stateextract.job.manifest import FILE_NAME, Dataset, Manifest, parse_manifest
from stateextract.job.output import Output
from stateextract.job.writer import write_error

STAGING = "_staging-"
COVERAGE = "_coverage.json"
SUCCESS = "_SUCCESS"
_MARKER = "_job.json"
_OURS = frozenset({FILE_NAME, COVERAGE, SUCCESS})
_STALE_AFTER = 3 * 24 * 3600  # a job elsewhere that began so long ago is taken for dead


def new_job_id() -> str:
    """Unique to a run, and part of the name of every file that it writes."""
    return uuid.uuid4().hex[:12]


@dataclass
class Commit:
    """The writing side of one job, held by the driver: ``prepare``, then ``publish`` or ``abort``.

    :param output: where the datasets go.
    :param job: id of the run.
    :param mode: ``error`` or ``overwrite``.
    :param renames: files are staged and moved; otherwise they are written at their final place.
    """

    output: Output
    job: str
    mode: str
    renames: bool
    _older: Manifest | None = None
    _older_coverage: bytes | None = None
    _existed: bool = False
    _published: bool = False
    _moved: list[str] = field(default_factory=list)
    _folders: list[str] = field(default_factory=list)

    @property
    def staging(self) -> str:
        """Path of the staging folder."""
        return self.output.path(STAGING + self.job)

    @property
    def task_folder(self) -> str:
        """Folder that the paths of the tasks' files are relative to."""
        return f"{self.staging}/data" if self.renames else self.output.root

    @property
    def plan_file(self) -> str:
        """Where the driver lays down what the tasks read."""
        return f"{self.staging}/plan"

    def prepare(self) -> None:
        """Check that the output may be written, clear what dead jobs left, and claim it.

        :raises OutputError: where it holds something that may not be touched, or cannot be written.
        """
        with self._errors():
            info = self.output.fs.get_file_info(self.output.root)
            if info.type == pafs.FileType.File:
                raise OutputError("the output is a file", expected="a directory", file=self.output.uri)
            self._existed = info.type == pafs.FileType.Directory
            for entry in self._entries():
                if entry.base_name.startswith(STAGING):
                    self._clear_staging(entry)
            self._check_mode()
            self.output.fs.create_dir(self.staging, recursive=True)
            marker = {"tool": "stateextract", "job": self.job, "host": socket.gethostname(), "pid": os.getpid(),
                      "started": time.time()}  # fmt: skip
            self.output.write(f"{self.staging}/{_MARKER}", json.dumps(marker).encode())

    def write_plan(self, data: bytes) -> None:
        """Lay down what the tasks read."""
        with self._errors():
            self.output.write(self.plan_file, data)

    def publish(self, manifest: Manifest, coverage: bytes) -> Manifest:
        """Make the files of ``manifest`` the output's data; the manifest as it was written.

        :param manifest: this job's datasets; their files lie in :attr:`task_folder`.
        :param coverage: content of the coverage report.
        """
        had_success = self._delete_file(self.output.path(SUCCESS))
        try:
            with self._errors():
                if self.renames:
                    self._check_mode()
                    for dataset in manifest.datasets:
                        self._move(dataset)
                whole = manifest.replacing(self._older)
                self._put(COVERAGE, coverage)
                self._put(FILE_NAME, whole.to_json())
                self._published = True
        except BaseException:
            self._roll_back(had_success)
            raise
        with self._errors("the new data are published, but old files could not be removed"):
            self._remove_old(manifest)
        with self._errors():
            self._remove_unreported(manifest)
            self.output.write(self.output.path(SUCCESS), b"")
        return whole

    def abort(self) -> None:
        """Remove everything that this job wrote and did not publish; never raises."""
        with contextlib.suppress(Exception):
            self._delete_dir(self.staging)
        if not self.renames and not self._published:
            with contextlib.suppress(Exception):
                self._remove_files_of(self.job, frozenset())
        with contextlib.suppress(Exception):
            if not self._existed and not self._entries():
                self.output.fs.delete_dir(self.output.root)

    # -- before

    def _entries(self) -> list[pafs.FileInfo]:
        found: list[pafs.FileInfo] = self.output.fs.get_file_info(
            pafs.FileSelector(self.output.root, recursive=False, allow_not_found=True)
        )
        return sorted(found, key=lambda info: info.base_name)

    def _check_mode(self) -> None:
        others = [e.base_name for e in self._entries() if not e.base_name.startswith(STAGING)]
        if not others:
            return
        if self.mode == "error":
            raise OutputError(f"the output is not empty: it holds {_some(others)}", file=self.output.uri,
                              advice="choose another --output, or replace its datasets with --mode overwrite")
        if FILE_NAME not in others:
            raise OutputError(f"the output holds {_some(others)} and no manifest of this tool", file=self.output.uri,
                              advice="choose another --output; --mode overwrite replaces only what this tool wrote")
        self._older = self._read_manifest()
        if COVERAGE in others:
            self._older_coverage = self.output.read(self.output.path(COVERAGE))

    def _read_manifest(self) -> Manifest:
        path = self.output.path(FILE_NAME)
        return parse_manifest(self.output.read(path), path)

    def _clear_staging(self, entry: pafs.FileInfo) -> None:
        job, marker = entry.base_name[len(STAGING) :], {}
        with contextlib.suppress(OSError, ValueError):
            marker = json.loads(self.output.read(f"{entry.path}/{_MARKER}"))
        if not isinstance(marker, dict) or marker.get("tool") != "stateextract" or marker.get("job") != job:
            raise OutputError("a staging folder in the output has no mark of this tool", file=entry.path,
                              advice="remove it if it is what a dead job left")
        if not _dead(marker):
            raise OutputError(f"another job is writing there (process {marker.get('pid')} on {marker.get('host')})",
                              file=self.output.uri, advice=f"wait for it, or remove {entry.path} if it is dead")
        named: frozenset[str] = frozenset()
        if any(e.base_name == FILE_NAME for e in self._entries()):
            named = frozenset(file.path for dataset in self._read_manifest().datasets for file in dataset.files)
        self._remove_files_of(job, named)
        self._delete_dir(entry.path)

    # -- publishing

    def _move(self, dataset: Dataset) -> None:
        fs, target = self.output.fs, self.output.path(dataset.folder)
        if fs.get_file_info(target).type == pafs.FileType.NotFound:
            gathered = f"{self.staging}/whole/{dataset.folder}"
            fs.create_dir(gathered, recursive=True)
            for name in _names(dataset):
                fs.move(f"{self.task_folder}/{dataset.folder}/{name}", f"{gathered}/{name}")
            fs.create_dir(target.rsplit("/", 1)[0], recursive=True)
            self._folders.append(target)
            fs.move(gathered, target)
            return
        for name in _names(dataset):
            self._moved.append(f"{target}/{name}")
            fs.move(f"{self.task_folder}/{dataset.folder}/{name}", f"{target}/{name}")

    def _put(self, name: str, data: bytes) -> None:
        """Write a file at the top so that a reader sees the old or the new one."""
        if not self.renames:
            self.output.write(self.output.path(name), data)
            return
        self.output.write(f"{self.staging}/{name}", data)
        self.output.fs.move(f"{self.staging}/{name}", self.output.path(name))

    def _roll_back(self, had_success: bool) -> None:
        for path in self._moved:
            self._delete_file(path)
        for path in self._folders:
            with contextlib.suppress(Exception):
                self._delete_dir(path)
                self._delete_if_empty(path.rsplit("/", 1)[0])
        with contextlib.suppress(Exception):
            if self._older is None:
                self._delete_file(self.output.path(FILE_NAME))
            if self._older_coverage is None:
                self._delete_file(self.output.path(COVERAGE))
            else:
                self.output.write(self.output.path(COVERAGE), self._older_coverage)
            if had_success:
                self.output.write(self.output.path(SUCCESS), b"")

    def _remove_old(self, manifest: Manifest) -> None:
        for dataset in manifest.replaced(self._older):
            for file in dataset.files:
                self._delete_file(self.output.path(file.path), missing_ok=False)
            folder = self.output.path(dataset.folder)
            self._delete_if_empty(folder)
            self._delete_if_empty(folder.rsplit("/", 1)[0])

    def _remove_unreported(self, manifest: Manifest) -> None:
        """Files that no report names, of this job (doubled attempts) or of dead ones; and the staging folder."""
        named = {file.path for dataset in manifest.datasets for file in dataset.files}
        for dataset in manifest.datasets:
            selector = pafs.FileSelector(self.output.path(dataset.folder), allow_not_found=True)
            for info in self.output.fs.get_file_info(selector):
                ours = info.base_name.startswith("part-") and info.base_name.endswith(".parquet")
                if ours and f"{dataset.folder}/{info.base_name}" not in named:
                    self._delete_file(info.path)
        self._delete_dir(self.staging)

    # -- removing

    def _remove_files_of(self, job: str, named: frozenset[str]) -> None:
        """Files that a job wrote below the datasets' folders, but for those that the manifest names."""
        selector = pafs.FileSelector(self.output.root, recursive=True, allow_not_found=True)
        for info in self.output.fs.get_file_info(selector):
            name = info.base_name
            written = info.type == pafs.FileType.File and name.startswith("part-") and f"-{job}-" in name
            if written and info.path.removeprefix(self.output.root + "/") not in named:
                self._delete_file(info.path)
                folder = info.path.rsplit("/", 1)[0]
                self._delete_if_empty(folder)
                self._delete_if_empty(folder.rsplit("/", 1)[0])

    def _delete_if_empty(self, folder: str) -> None:
        if folder.rstrip("/") == self.output.root or not folder.startswith(self.output.root):
            return
        info = self.output.fs.get_file_info(folder)
        if info.type == pafs.FileType.Directory and not self.output.fs.get_file_info(pafs.FileSelector(folder)):
            self.output.fs.delete_dir(folder)

    def _delete_dir(self, folder: str) -> None:
        if self.output.fs.get_file_info(folder).type == pafs.FileType.Directory:
            self.output.fs.delete_dir(folder)

    def _delete_file(self, path: str, missing_ok: bool = True) -> bool:
        """Delete a file; whether it was there."""
        if self.output.fs.get_file_info(path).type == pafs.FileType.NotFound:
            return False
        try:
            self.output.fs.delete_file(path)
        except OSError:
            if not missing_ok:
                raise
            return False
        return True

    @contextlib.contextmanager
    def _errors(self, before: str = "") -> Iterator[None]:
        try:
            yield
        except OSError as error:
            problem = write_error(error, self.output.uri)
            if before:
                problem.message = f"{before}: {problem.message}"
            raise problem from error


def _names(dataset: Dataset) -> list[str]:
    return [file.path.rsplit("/", 1)[1] for file in dataset.files]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _dead(marker: dict[str, object]) -> bool:
    started, pid = marker.get("started"), marker.get("pid")
    if not isinstance(started, (int, float)) or time.time() - started > _STALE_AFTER:
        return True
    if marker.get("host") != socket.gethostname() or not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


__all__ = ["COVERAGE", "STAGING", "SUCCESS", "Commit", "new_job_id"]
