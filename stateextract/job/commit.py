"""Publishing: nothing of a job counts before its manifest, and a failed or killed one leaves nothing behind.

Where the store renames (local disks, HDFS) tasks write below ``<output>/_staging-<job>/data`` and the driver moves the
files to their datasets at the end. A new dataset appears whole with one rename. Object stores cannot rename, so there
the files are written once, at their final place under names that no other attempt uses. Either way the driver publishes
exactly the files that the reports name, never what a listing shows: a file of a killed or doubled attempt is in no
report.

One job at a time has the output (``claim.py``). The manifest is the commit: before it everything is undone, after it
everything is finished, by the job itself or by the next one if this one was killed. :meth:`Commit._finalize` does both.
The protocol is in ``docs/architecture.md``, and ``tests/job/test_interleavings.py`` steps jobs through all its orders.

Works on any ``pyarrow.fs`` file system. Must not know of Spark or of Flink's formats.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import pyarrow.fs as pafs

from stateextract.ending import ending_by_exception
from stateextract.errors import OutputError, StateExtractError
from stateextract.job.claim import CANDIDATE, WRITER, Claim, ThisProcess
from stateextract.job.output import Output, open_output
from stateextract.job.output_manifest import FILE_NAME, Dataset, Manifest, parse_manifest
from stateextract.job.writer import write_error
from stateextract.options import JobOptions

STAGING = "_staging-"
COVERAGE = "_coverage.json"
SUCCESS = "_SUCCESS"
_STAGING_NAME = re.compile(r"_staging-([0-9a-f]{12})")
_OLDER = "_older.json"
_FOUND = "_found.json"


def new_job_id() -> str:
    """Unique to a run, and part of the name of every file that it writes."""
    return uuid.uuid4().hex[:12]


@dataclass
class Commit:
    """The writing side of one job, held by the driver: ``prepare``, then ``publish``, and ``abort`` if anything fails.

    :param output: where the datasets go.
    :param job: id of the run.
    :param mode: ``error`` or ``overwrite``.
    :param renames: files are staged and moved; otherwise they are written at their final place.
    :param process: the process, for tests.
    """

    output: Output
    job: str
    mode: str
    renames: bool
    process: ThisProcess | None = None
    _older: Manifest | None = None
    _existed: bool = True
    _claim: Claim = field(init=False)

    def __post_init__(self) -> None:
        self._claim = Claim(self.output, self.job, self.process)

    @property
    def staging(self) -> str:
        """Path of the staging folder."""
        return self._staging_of(self.job)

    @property
    def task_folder(self) -> str:
        """Folder that the paths of the tasks' files are relative to."""
        return f"{self.staging}/data" if self.renames else self.output.root

    @property
    def plan_file(self) -> str:
        """Where the driver lays down what the tasks read."""
        return f"{self.staging}/plan"

    def prepare(self) -> None:
        """Claim the output, settle what killed jobs left, and check that this job may write.

        :raises OutputError: if another job is writing, if the output has something that may not be touched, or if it
            cannot be written.
        """
        with self._errors():
            info = self.output.fs.get_file_info(self.output.root)
            if info.type == pafs.FileType.File:
                raise OutputError("the output is a file", expected="a directory", file=self.output.uri)
            self._existed = info.type == pafs.FileType.Directory
            entries = self._entries()
            if not any(_is_of_jobs(entry.base_name) for entry in entries):
                self._check_mode(entries)  # so that no claim is written into a directory of someone else
            self._claim.acquire()
            # What was seen before the claim may be the work of a job that has ended since, so look again.
            self._finalize_dead_jobs()
            entries = self._entries()
            self._check_mode(entries)
            self.output.fs.create_dir(self.staging, recursive=True)
            folders = [path for path, info in self._everything() if info.type == pafs.FileType.Directory]
            self.output.write(f"{self.staging}/{_FOUND}", json.dumps(folders).encode())
            if not self.renames:
                # From now on the datasets' directories have files that do not count yet.
                self._delete_file(self.output.path(SUCCESS))

    def write_plan(self, data: bytes) -> None:
        """Lay down what the tasks read."""
        with self._errors():
            self.output.write(self.plan_file, data)

    def publish(self, manifest: Manifest, coverage: bytes) -> Manifest:
        """Make the files of ``manifest`` the output's data; the manifest as it was written.

        :param manifest: this job's datasets; their files are in :attr:`task_folder`.
        :param coverage: content of the coverage report.
        """
        with self._errors():
            self._claim.check()
            self._delete_file(self.output.path(SUCCESS))
            if self.renames:
                for dataset in manifest.datasets:
                    self._move(dataset)
            whole = manifest.replacing(self._older)
            # What finishes the job after the commit, also if another process has to do it.
            self.output.write(f"{self.staging}/{COVERAGE}", coverage)
            if self._older is not None:
                self.output.write(f"{self.staging}/{_OLDER}", self._older.to_json())
            self._claim.check()
            self._put(FILE_NAME, whole.to_json(), self.job)
        with self._errors("the new data are published, but the output could not be tidied: "):
            self._finalize(self.job)
        self._claim.release()
        return whole

    def abort(self) -> None:
        """Remove everything that this job wrote and did not publish; finish what it did publish. Never raises."""
        with contextlib.suppress(Exception):
            if self._claim.mine():
                self._finalize(self.job)
            elif self._claim.held:
                # The output belongs to another job now. Only files that have this job's name are safe to remove.
                self._remove_files_of(self.job, self._read_manifest())
                self._delete_dir(self.staging)
        self._claim.release()
        if not self._existed:
            with contextlib.suppress(Exception):
                self.output.remove_if_empty()

    # -- before

    def _staging_of(self, job: str) -> str:
        return self.output.path(STAGING + job)

    def _entries(self) -> list[pafs.FileInfo]:
        found: list[pafs.FileInfo] = self.output.fs.get_file_info(
            pafs.FileSelector(self.output.root, recursive=False, allow_not_found=True)
        )
        return sorted(found, key=lambda info: info.base_name)

    def _check_mode(self, entries: Sequence[pafs.FileInfo]) -> None:
        self._older = None
        others = [entry.base_name for entry in entries if not _is_of_jobs(entry.base_name)]
        if not others:
            return
        if self.mode == "error":
            raise OutputError(f"the output is not empty: it contains {_abbreviate(others)}", file=self.output.uri,
                              advice="choose another --output, or replace its datasets with --mode overwrite")
        if FILE_NAME not in others:
            raise OutputError(f"the output contains {_abbreviate(others)} and no manifest of this tool", file=self.output.uri,
                              advice="choose another --output; --mode overwrite replaces only what this tool wrote")
        self._older = self._read_manifest()

    def _read_manifest(self) -> Manifest | None:
        path = self.output.path(FILE_NAME)
        data = self._read_if_there(path)
        if data is None:
            return None
        manifest = parse_manifest(data, path)
        for dataset in manifest.datasets:
            self._check_folder(dataset)
        return manifest

    def _check_folder(self, dataset: Dataset) -> None:
        """Refuse a manifest whose datasets are elsewhere by a symbolic link; only local disks have such links."""
        if self.output.fs.type_name != "local":
            return
        top = os.path.realpath(self.output.root)
        if not os.path.realpath(self.output.path(dataset.folder)).startswith(top.rstrip("/") + "/"):
            raise OutputError(
                "a symbolic link takes a dataset of the manifest out of the output", file=self.output.path(dataset.folder),
                advice="put the files where the link is, or choose another --output",
            )  # fmt: skip

    # -- publishing

    def _move(self, dataset: Dataset) -> None:
        fs, target = self.output.fs, self.output.path(dataset.folder)
        if not self.output.exists(target):
            found = f"{self.staging}/whole/{dataset.folder}"
            fs.create_dir(found, recursive=True)
            for name in _names(dataset):
                fs.move(f"{self.task_folder}/{dataset.folder}/{name}", f"{found}/{name}")
            fs.create_dir(target.rsplit("/", 1)[0], recursive=True)
            fs.move(found, target)
            return
        for name in _names(dataset):
            fs.move(f"{self.task_folder}/{dataset.folder}/{name}", f"{target}/{name}")

    def _put(self, name: str, data: bytes, job: str) -> None:
        """Write a file at the top so that a reader sees the old or the new one, whole."""
        path = self.output.path(name)
        if not self.output.renames:
            self.output.write(path, data)
            return
        made = f"{self._staging_of(job)}/{name}.new"
        self.output.write(made, data)
        self.output.replace(made, path)

    # -- settling: what a job did is finished if its manifest is there, and undone if it is not

    def _finalize_dead_jobs(self) -> None:
        entries = self._entries()
        # Only the job that has the output makes a staging folder, so those of others are of dead jobs.
        stagings = [match[1] for entry in entries if (match := _STAGING_NAME.fullmatch(entry.base_name))]
        for job in sorted({*self._claim.dead(entries), *stagings} - {self.job}):
            self._finalize(job)
            self._claim.remove(job)

    def _finalize(self, job: str) -> None:
        """Finish or undo what a job did. Can be repeated after a stop at any step, by any job that has the output."""
        staging = self._staging_of(job)
        # The staging folder is made before anything is changed, and removed after everything.
        if not self.output.exists(staging):
            return
        older = self._staged_manifest(job)
        manifest = self._read_manifest()
        if manifest is None and older is not None:
            # The store cannot replace a file by renaming, and the job was stopped between removing and renaming.
            self._put(FILE_NAME, older.to_json(), job)
            manifest = older
        if manifest is not None and manifest.job == job:
            coverage = self._read_if_there(f"{staging}/{COVERAGE}")
            if coverage is not None:
                self._put(COVERAGE, coverage, job)
            mine = replace(manifest, datasets=[d for d in manifest.datasets if d.job == job])
            self._remove_old(mine, older)
            self._remove_unreported(mine)
        else:
            self._remove_files_of(job, manifest)
        if manifest is not None:
            self.output.write(self.output.path(SUCCESS), b"")
        self._delete_dir(staging)

    def _staged_manifest(self, job: str) -> Manifest | None:
        """The manifest that a job replaces; ``None`` too if it was not written to its end, which is before the commit."""
        path = f"{self._staging_of(job)}/{_OLDER}"
        data = self._read_if_there(path)
        if data is None:
            return None
        with contextlib.suppress(OutputError):
            return parse_manifest(data, path)
        return None

    def _remove_old(self, mine: Manifest, older: Manifest | None) -> None:
        for dataset in mine.replaced(older):
            for file in dataset.files:
                self._delete_file(self.output.path(file.path))
            folder = self.output.path(dataset.folder)
            self._delete_if_empty(folder)
            self._delete_if_empty(folder.rsplit("/", 1)[0])

    def _remove_unreported(self, mine: Manifest) -> None:
        """Files in a job's datasets that no report names, of this job (doubled attempts) or of dead ones."""
        named = {file.path for dataset in mine.datasets for file in dataset.files}
        for dataset in mine.datasets:
            selector = pafs.FileSelector(self.output.path(dataset.folder), allow_not_found=True)
            for info in self.output.fs.get_file_info(selector):
                ours = info.base_name.startswith("part-") and info.base_name.endswith(".parquet")
                if ours and f"{dataset.folder}/{info.base_name}" not in named:
                    self._delete_file(info.path)

    def _remove_files_of(self, job: str, manifest: Manifest | None) -> None:
        """What a job wrote outside of its staging folder, but for files that the manifest names."""
        named = {file.path for dataset in manifest.datasets for file in dataset.files} if manifest is not None else set()
        folders, left = [], set()  # left: folders that have a file
        for path, info in self._everything():
            if info.type == pafs.FileType.Directory:
                folders.append(path)
            elif info.base_name.startswith("part-") and f"-{job}-" in info.base_name and path not in named:
                self._delete_file(info.path)
                folder = info.path.rsplit("/", 1)[0]
                self._delete_if_empty(folder)
                self._delete_if_empty(folder.rsplit("/", 1)[0])
            else:
                left |= {path[:i] for i, letter in enumerate(path) if letter == "/"}
        found = self._found_by(job)
        # A task makes the folder first and then the file in it; inner folders come after outer ones.
        for path in reversed(folders if found is not None else []):
            if path not in left and path not in (found or []):
                self._delete_dir(self.output.path(path))

    def _everything(self) -> list[tuple[str, pafs.FileInfo]]:
        """What is in the output by its relative path, but for what jobs have there while they run; in order."""
        root = self.output.root
        infos = self.output.fs.get_file_info(pafs.FileSelector(root, recursive=True, allow_not_found=True))
        found = [(info.path.removeprefix(root + "/"), info) for info in infos]
        return sorted(((p, i) for p, i in found if not _is_of_jobs(p.split("/", 1)[0])), key=lambda pair: pair[0])

    def _found_by(self, job: str) -> list[str] | None:
        """The folders that were in the output when a job began; ``None`` if it did not come so far."""
        data = self._read_if_there(f"{self._staging_of(job)}/{_FOUND}")
        try:
            found = None if data is None else json.loads(data)
        except ValueError:
            return None
        return found if isinstance(found, list) else None

    # -- files

    def _read_if_there(self, path: str) -> bytes | None:
        return self.output.read(path) if self.output.exists(path) else None

    def _delete_if_empty(self, folder: str) -> None:
        if folder.rstrip("/") == self.output.root or not folder.startswith(self.output.root):
            return
        info = self.output.fs.get_file_info(folder)
        if info.type == pafs.FileType.Directory and not self.output.fs.get_file_info(pafs.FileSelector(folder)):
            self.output.fs.delete_dir(folder)

    def _delete_dir(self, folder: str) -> None:
        if self.output.fs.get_file_info(folder).type == pafs.FileType.Directory:
            self.output.fs.delete_dir(folder)

    def _delete_file(self, path: str) -> None:
        if self.output.exists(path):
            self.output.fs.delete_file(path)

    @contextlib.contextmanager
    def _errors(self, before: str = "") -> Iterator[None]:
        try:
            yield
        except StateExtractError as error:  # for example of a store that does not answer
            error.message = f"{before}{error.message}"
            raise error.at(file=self.output.uri) from None
        except OSError as error:
            problem = write_error(error, self.output.uri)
            problem.message = f"{before}{problem.message}"
            raise problem from error


def open_commit(output: str, options: JobOptions) -> Commit:
    """The commit of a new job.

    :param output: a local path or the URI of a store; :param options: how files are published.
    """
    folder = open_output(output, options.store_timeout)
    renames = {"auto": folder.renames, "rename": True, "direct": False}[options.publish]
    return Commit(folder, new_job_id(), options.mode, renames)


@contextlib.contextmanager
def publishing(commit: Commit) -> Iterator[None]:
    """Prepare a job's output; whatever ends the block with an exception, a signal too, is cleaned up after."""
    with ending_by_exception():
        try:
            commit.prepare()
            yield
        except BaseException:
            commit.abort()
            raise


def _names(dataset: Dataset) -> list[str]:
    return [file.path.rsplit("/", 1)[1] for file in dataset.files]


def _abbreviate(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _is_of_jobs(name: str) -> bool:
    """Whether an entry of the output is what jobs have there while they run."""
    return name.startswith((CANDIDATE, WRITER)) or _STAGING_NAME.fullmatch(name) is not None
