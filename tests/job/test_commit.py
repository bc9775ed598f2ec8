"""Publishing on a local folder, staged and direct; a crash is an exception from the file system, at every step."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from stateextract.errors import NoAnswerError, OutputError
from stateextract.files.store_files import no_answer
from stateextract.job.claim import Claim, Sign, ThisProcess, start_of
from stateextract.job.commit import Commit, new_job_id
from stateextract.job.output import Output, open_output
from stateextract.job.output_manifest import Dataset, Job, Manifest, joined_ranges, parse_manifest
from stateextract.job.writer import WrittenFile


def _job(job: str) -> Job:
    return Job(job, "0.1.0", "2026-01-01T00:00:00Z", "/snap", 7, 6, {"mode": "error"})


def _dataset(folder: str, job: str, files: list[WrittenFile], raw: bool = False) -> Dataset:
    operator, state = folder.removesuffix("__raw").split("/")
    rows = sum(f.rows for f in files)
    return Dataset(folder, operator, operator, None, state, "value", raw, rows, files, [], "", [], job)


class Run:
    """A job by hand: writes given rows for given datasets, and publishes."""

    def __init__(self, output: Output, mode: str = "error", renames: bool = True) -> None:
        self.job = new_job_id()
        self.commit = Commit(output, self.job, mode, renames)

    def write(self, folder: str, values: list[int], attempt: str = "one") -> WrittenFile:
        path = f"{folder}/part-00000-{self.job}-{attempt}-0.parquet"
        full = Path(f"{self.commit.task_folder}/{path}")
        full.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"key": values}), full)
        return WrittenFile(path, len(values), full.stat().st_size)

    def run(self, content: dict[str, list[int]]) -> Manifest:
        try:
            self.commit.prepare()
            datasets = [_dataset(folder, self.job, [self.write(folder, rows)]) for folder, rows in content.items()]
            return self.commit.publish(Manifest(self.job, {self.job: _job(self.job)}, datasets), b"{}")
        except BaseException:
            self.commit.abort()
            raise


def rows(root: Path, folder: str) -> list[int]:
    return sorted(v for f in (root / folder).glob("*.parquet") for v in pq.read_table(f)["key"].to_pylist())


def tree(root: Path) -> set[str]:
    return {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}


@pytest.fixture(params=[True, False], ids=["staged", "direct"])
def renames(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def test_a_job_publishes_datasets_manifest_and_success(out: Path, renames: bool) -> None:
    run = Run(open_output(str(out)), renames=renames)
    run.run({"op/a": [1, 2], "op/b": [3]})
    part = f"part-00000-{run.job}-one-0.parquet"
    assert tree(out) == {f"op/a/{part}", f"op/b/{part}", "_manifest.json", "_coverage.json", "_SUCCESS"}
    assert (rows(out, "op/a"), rows(out, "op/b")) == ([1, 2], [3])
    manifest = parse_manifest((out / "_manifest.json").read_bytes(), "m")
    assert [(d.folder, d.rows, [f.path for f in d.files]) for d in manifest.datasets] == [
        ("op/a", 2, [f"op/a/{part}"]),
        ("op/b", 1, [f"op/b/{part}"]),
    ]
    assert manifest.jobs[run.job].checkpoint_id == 7


def test_staged_files_are_invisible_before_the_end(out: Path) -> None:
    run = Run(open_output(str(out)))
    run.commit.prepare()
    run.write("op/a", [1])
    assert {p.name for p in out.iterdir()} == {f"{kind}-{run.job}" for kind in ("_staging", "_claim", "_writer")}


def test_files_that_no_report_names_are_not_published(out: Path, renames: bool) -> None:
    run = Run(open_output(str(out)), renames=renames)
    run.commit.prepare()
    good = run.write("op/a", [1, 2])
    run.write("op/a", [1, 2], attempt="doubled")
    run.commit.publish(Manifest(run.job, {run.job: _job(run.job)}, [_dataset("op/a", run.job, [good])]), b"{}")
    assert rows(out, "op/a") == [1, 2]
    assert tree(out) == {good.path, "_manifest.json", "_coverage.json", "_SUCCESS"}


def test_abort_leaves_nothing(out: Path, renames: bool) -> None:
    run = Run(open_output(str(out)), renames=renames)
    run.commit.prepare()
    run.write("op/a", [1])
    run.commit.abort()
    assert not out.exists()


def test_abort_keeps_a_folder_that_was_there(out: Path, renames: bool) -> None:
    out.mkdir()
    run = Run(open_output(str(out)), renames=renames)
    run.commit.prepare()
    run.write("op/a", [1])
    run.commit.abort()
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("mode", ["error", "overwrite"])
def test_foreign_content_is_refused(out: Path, mode: str, renames: bool) -> None:
    out.mkdir()
    (out / "mine.txt").write_text("precious")
    with pytest.raises(OutputError, match=r"mine\.txt"):
        Run(open_output(str(out)), mode, renames).run({"op/a": [1]})
    assert tree(out) == {"mine.txt"}


def test_a_foreign_manifest_is_refused(out: Path) -> None:
    out.mkdir()
    (out / "_manifest.json").write_text('{"format": "other"}')
    with pytest.raises(OutputError, match="not one that this tool wrote"):
        Run(open_output(str(out)), "overwrite").run({"op/a": [1]})


def test_an_output_that_is_a_file(out: Path) -> None:
    out.write_text("x")
    with pytest.raises(OutputError, match="is a file"):
        Run(open_output(str(out))).run({"op/a": [1]})


def test_mode_error_refuses_an_earlier_output(out: Path) -> None:
    Run(open_output(str(out))).run({"op/a": [1]})
    before = tree(out)
    with pytest.raises(OutputError, match="not empty") as caught:
        Run(open_output(str(out))).run({"op/a": [2]})
    assert "overwrite" in str(caught.value)
    assert tree(out) == before


def test_overwrite_replaces_only_the_datasets_it_writes(out: Path, renames: bool) -> None:
    first = Run(open_output(str(out)), renames=renames)
    first.run({"op/a": [1, 2], "op/b": [3]})
    second = Run(open_output(str(out)), "overwrite", renames)
    manifest = second.run({"op/a": [9], "op2/c": [4]})
    assert (rows(out, "op/a"), rows(out, "op/b"), rows(out, "op2/c")) == ([9], [3], [4])
    assert {d.folder: d.job for d in manifest.datasets} == {
        "op/a": second.job,
        "op/b": first.job,
        "op2/c": second.job,
    }
    assert set(manifest.jobs) == {first.job, second.job}
    third = Run(open_output(str(out)), "overwrite", renames).run({"op/b": [5]})
    assert set(third.jobs) == {second.job, third.job}


def test_overwriting_a_state_removes_its_raw_tail(out: Path) -> None:
    first = Run(open_output(str(out)))
    first.commit.prepare()
    datasets = [
        _dataset("op/a", first.job, [first.write("op/a", [1])]),
        _dataset("op/a__raw", first.job, [first.write("op/a__raw", [2])], raw=True),
    ]
    first.commit.publish(Manifest(first.job, {first.job: _job(first.job)}, datasets), b"{}")
    Run(open_output(str(out)), "overwrite").run({"op/a": [3]})
    assert rows(out, "op/a") == [3]
    assert not (out / "op" / "a__raw").exists()


class Breaking(pafs.FileSystemHandler):  # type: ignore[misc]
    """Local files; the nth call that changes something fails, as does every later one that is not a deletion."""

    CHANGES = ("create_dir", "move", "open_output_stream", "delete_file", "delete_dir")

    def __init__(self, at: int) -> None:
        self.left = at
        self.calls: list[str] = []
        self.real = pafs.LocalFileSystem()

    def _call(self, name: str, *arguments: Any, **options: Any) -> Any:
        if name in self.CHANGES:
            self.calls.append(name)
            self.left -= 1
            if self.left == 0:
                raise OSError(f"broken at {name}")
        return getattr(self.real, name)(*arguments, **options)

    def get_type_name(self) -> str:
        return "local"

    def normalize_path(self, path: str) -> str:
        return str(self.real.normalize_path(path))

    def get_file_info(self, paths: list[str]) -> Any:
        return self.real.get_file_info(paths)

    def get_file_info_selector(self, selector: Any) -> Any:
        return self.real.get_file_info(selector)

    def create_dir(self, path: str, recursive: bool) -> None:
        self._call("create_dir", path, recursive=recursive)

    def delete_dir(self, path: str) -> None:
        self._call("delete_dir", path)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        raise NotImplementedError

    def delete_root_dir_contents(self) -> None:
        raise NotImplementedError

    def delete_file(self, path: str) -> None:
        self._call("delete_file", path)

    def move(self, src: str, dest: str) -> None:
        self._call("move", src, dest)

    def copy_file(self, src: str, dest: str) -> None:
        raise NotImplementedError

    def open_input_stream(self, path: str) -> Any:
        return self.real.open_input_stream(path)

    def open_input_file(self, path: str) -> Any:
        return self.real.open_input_file(path)

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        return self._call("open_output_stream", path)

    def open_append_stream(self, path: str, metadata: Any) -> Any:
        raise NotImplementedError


def test_a_failure_at_any_step_leaves_the_old_data_or_the_new(tmp_path: Path, renames: bool) -> None:
    """The manifest, and the files that it names, always agree; before the manifest is written, nothing new is left."""
    outcomes = set()
    for step in range(1, 60):
        out = tmp_path / str(step)
        Run(open_output(str(out)), renames=renames).run({"op/a": [1, 2], "op/b": [3]})
        before = tree(out)
        handler = Breaking(step)
        broken = replace(open_output(str(out)), fs=pafs.PyFileSystem(handler))
        run = Run(broken, "overwrite", renames)
        try:
            run.run({"op/a": [9], "op/c": [4]})
        except OutputError:
            failed = True
        else:
            failed = False
        manifest = parse_manifest((out / "_manifest.json").read_bytes(), "m")
        for dataset in manifest.datasets:
            assert all((out / f.path).stat().st_size == f.bytes for f in dataset.files), (step, handler.calls)
        if manifest.job == run.job:
            outcomes.add("new, failed" if failed else "new")
            assert {d.folder for d in manifest.datasets} == {"op/a", "op/b", "op/c"}
        else:
            outcomes.add("old")
            assert failed
            assert {f for f in tree(out) if not f.startswith("_staging")} >= before - {"_SUCCESS"}
            assert {f for f in tree(out) if f.endswith(".parquet")} == {f for f in before if f.endswith(".parquet")}
        if not failed:
            assert (out / "_SUCCESS").exists()
            if handler.left > 0:
                break
    else:
        pytest.fail("the last step was not reached")
    assert outcomes == {"old", "new, failed", "new"}


def test_a_broken_first_publish_leaves_nothing(tmp_path: Path, renames: bool) -> None:
    for step in range(1, 40):
        out = tmp_path / str(step)
        handler = Breaking(step)
        run = Run(replace(open_output(str(out)), fs=pafs.PyFileSystem(handler)), renames=renames)
        try:
            run.run({"op/a": [1], "op2/b": [2]})
        except OutputError:
            if not (out / "_manifest.json").exists():
                assert not out.exists() or tree(out) == set(), (step, handler.calls)
        else:
            if handler.left > 0:
                return
    pytest.fail("the last step was not reached")


def _dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def _change_claim(out: Path, job: str, **changes: object) -> None:
    path = out / f"_claim-{job}"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def _killed(out: Path, run: Run, **changes: object) -> None:
    """Let a run look like one whose process was killed."""
    run.commit._claim._ended.set()
    _change_claim(out, run.job, **{"pid": _dead_pid(), **changes})


def test_what_a_dead_job_left_is_cleared(out: Path, renames: bool) -> None:
    dead = Run(open_output(str(out)), renames=renames)
    dead.commit.prepare()
    dead.write("op/a", [1])
    (out / "op" / "empty").mkdir(parents=True, exist_ok=True)
    _killed(out, dead)
    run = Run(open_output(str(out)), renames=renames)
    run.run({"op/b": [2]})
    assert {p.name for p in out.iterdir()} == {"op", "_manifest.json", "_coverage.json", "_SUCCESS"}
    assert rows(out, "op/b") == [2]
    assert not (out / "op" / "a").exists()


def test_a_process_with_the_id_of_a_dead_one_does_not_block(out: Path, renames: bool) -> None:
    """Containers give the same host name and process id again; the start of the process differs."""
    dead = Run(open_output(str(out)), renames=renames)
    dead.commit.prepare()
    claim = json.loads((out / f"_claim-{dead.job}").read_text())
    assert (claim["pid"], claim["started"]) == (os.getpid(), start_of(os.getpid()))
    _killed(out, dead, pid=os.getpid(), started=claim["started"] - 1)
    Run(open_output(str(out)), renames=renames).run({"op/b": [2]})
    assert rows(out, "op/b") == [2]
    assert not list(out.glob(f"*{dead.job}*"))


def test_a_job_that_died_after_its_manifest_keeps_its_data_and_is_finished(out: Path, renames: bool) -> None:
    Run(open_output(str(out)), renames=renames).run({"op/a": [7], "op/b": [3]})
    dead = Run(open_output(str(out)), "overwrite", renames)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Commit, "_finalize", lambda *_: None)
        patch.setattr(Claim, "release", lambda _: None)
        dead.run({"op/a": [1]})
    assert not (out / "_SUCCESS").exists()
    (out / "_coverage.json").write_text("old")
    _killed(out, dead)
    assert rows(out, "op/a") == [1, 7]
    with pytest.raises(OutputError, match="not empty"):
        Run(open_output(str(out)), renames=renames).run({"op/b": [2]})
    assert (rows(out, "op/a"), rows(out, "op/b")) == ([1], [3])
    assert {p.name for p in out.iterdir()} == {"op", "_manifest.json", "_coverage.json", "_SUCCESS"}
    assert (out / "_coverage.json").read_text() == "{}"


def test_a_living_job_is_not_disturbed(out: Path, renames: bool) -> None:
    living = Run(open_output(str(out)), renames=renames)
    living.commit.prepare()
    parent = os.getppid()
    for changes in ({}, {"pid": parent, "started": start_of(parent)}):
        _change_claim(out, living.job, **changes)
        for mode in ("error", "overwrite"):
            with pytest.raises(OutputError, match="another job is writing there") as caught:
                Run(open_output(str(out)), mode).run({"op/a": [1]})
            assert f"process {changes.get('pid', os.getpid())} on {socket.gethostname()}" in str(caught.value)
        assert {p.name for p in out.iterdir()} == {f"{kind}-{living.job}" for kind in ("_staging", "_claim", "_writer")}


def test_a_job_that_failed_in_this_process_does_not_block(out: Path, renames: bool) -> None:
    """Its claim could not be removed, and the process goes on."""
    failed = Run(open_output(str(out)), renames=renames)
    failed.commit.prepare()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Claim, "remove", lambda *_: None)
        failed.commit.abort()
    assert (out / f"_writer-{failed.job}").exists()
    Run(open_output(str(out)), renames=renames).run({"op/b": [2]})
    assert tree(out) == {*(f for f in tree(out) if f.startswith("op/")), "_manifest.json", "_coverage.json", "_SUCCESS"}


class Elsewhere(ThisProcess):
    """A process that sees no other one; time passes at each pause, in which others may act."""

    def __init__(self, act: Callable[[float], None] = lambda _: None) -> None:
        self.time = 0.0
        self.act = act

    def lives(self, job: str, claim: Any) -> bool | None:
        return None

    def now(self) -> float:
        return self.time

    def pause(self, seconds: float) -> None:
        self.time += seconds
        self.act(self.time)


def _elsewhere(output: Output, process: ThisProcess, mode: str = "error") -> Run:
    run = Run(output, mode)
    run.commit = Commit(output, run.job, mode, True, process)
    return run


def test_a_claim_of_another_machine_counts_while_its_heartbeat_goes_on(out: Path, capsys: Any) -> None:
    living = Run(open_output(str(out)))
    living.commit.prepare()
    process = Elsewhere(lambda time: _change_claim(out, living.job, beat=int(time // 15)))
    with pytest.raises(OutputError, match="another job is writing there"):
        _elsewhere(open_output(str(out)), process).run({"op/a": [1]})
    assert 14 < process.time < 16
    assert f"_claim-{living.job}. Waiting up to 120 seconds" in capsys.readouterr().err


def test_a_claim_of_another_machine_without_heartbeat_is_dead(out: Path) -> None:
    dead = Run(open_output(str(out)))
    dead.commit.prepare()
    process = Elsewhere()
    _elsewhere(open_output(str(out)), process).run({"op/a": [1]})
    assert 120 <= process.time < 121
    assert rows(out, "op/a") == [1]
    assert not list(out.glob(f"*{dead.job}*"))


def test_a_job_that_was_taken_for_dead_does_not_touch_its_successors_data(out: Path, renames: bool) -> None:
    slow = Run(open_output(str(out)), "overwrite", renames)
    slow.commit.prepare()
    file = slow.write("op/a", [1])
    _elsewhere(open_output(str(out)), Elsewhere()).run({"op/a": [2]})
    after = tree(out)
    late = [slow.write("op/a", [1]), slow.write("op/b", [1])]
    datasets = [_dataset(f.path.rsplit("/", 1)[0], slow.job, [f]) for f in (file, *late)]
    with pytest.raises(OutputError, match="took this one for dead"):
        slow.commit.publish(Manifest(slow.job, {slow.job: _job(slow.job)}, datasets), b"{}")
    slow.commit.abort()
    assert tree(out) == after
    assert rows(out, "op/a") == [2]


def test_heartbeats(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stateextract.job.claim.BEAT_SECONDS", 0.01)
    run = Run(open_output(str(out)))
    run.commit.prepare()
    claim = out / f"_claim-{run.job}"

    def beat() -> int:
        with contextlib.suppress(ValueError):
            return int(json.loads(claim.read_text())["beat"])
        return 0

    end = time.monotonic() + 20
    while beat() < 3:
        assert time.monotonic() < end
        time.sleep(0.01)
    claim.unlink()
    beating = run.commit._claim._beat
    assert beating is not None
    beating.join(20)
    assert not beating.is_alive()
    assert not claim.exists()
    run.commit.abort()


def test_processes_are_known_by_their_start() -> None:
    sign = Sign.of_this_process()
    assert (sign.pid, sign.started) == (os.getpid(), start_of(os.getpid()))
    assert sign.lives() is True
    assert replace(sign, started=(sign.started or 0) + 1).lives() is False
    assert replace(sign, pid=_dead_pid()).lives() is False
    assert replace(sign, boot="other").lives() is None
    assert replace(sign, pids="pid:[1]").lives() is None
    assert replace(sign, started=None).lives() is None
    child = subprocess.Popen([sys.executable, "-c", ""])
    end = time.monotonic() + 20
    while start_of(child.pid) is not None:  # it has ended, and this process has not asked for its exit code
        assert time.monotonic() < end
        time.sleep(0.01)
    child.wait()


def test_a_staging_folder_of_someone_else_is_refused(out: Path) -> None:
    (out / "_staging-x").mkdir(parents=True)
    with pytest.raises(OutputError, match="it contains _staging-x"):
        Run(open_output(str(out))).run({"op/a": [1]})
    assert (out / "_staging-x").exists()


@pytest.mark.parametrize(
    ("folder", "path"),
    [
        ("op/a", "../../etc/passwd"),
        ("../op", "../op/part.parquet"),
        ("op/..", "op/../part.parquet"),
        ("op/../..", "op/a/part.parquet"),
        ("/etc", "/etc/part.parquet"),
        ("", "part.parquet"),
        (".", "./part.parquet"),
        ("op//a", "op//a/part.parquet"),
        ("op/a/", "op/a//part.parquet"),
        ("op/a", "op/b/part.parquet"),
        ("op/a\0", "op/a\0/part.parquet"),
    ],
)
def test_a_manifest_cannot_lead_out_of_the_output(folder: str, path: str) -> None:
    dataset = replace(_dataset("op/a", "j", [WrittenFile(path, 1, 1)]), folder=folder)
    with pytest.raises(OutputError, match="not one that this tool wrote"):
        parse_manifest(Manifest("j", {"j": _job("j")}, [dataset]).to_json(), "m")
    good = _dataset("op/a", "j", [WrittenFile("op/a/part.parquet", 1, 1)])
    assert parse_manifest(Manifest("j", {"j": _job("j")}, [good]).to_json(), "m").datasets == [good]


def test_a_symbolic_link_cannot_lead_out_of_the_output(out: Path, tmp_path: Path) -> None:
    Run(open_output(str(out))).run({"op/a": [1]})
    (out / "op").rename(tmp_path / "precious")
    (out / "op").symlink_to(tmp_path / "precious")
    before = tree(tmp_path / "precious")
    assert before
    with pytest.raises(OutputError, match="a symbolic link takes a dataset of the manifest out of the output") as caught:
        Run(open_output(str(out)), "overwrite").run({"op/a": [2]})
    assert str(out / "op" / "a") in str(caught.value)
    assert tree(tmp_path / "precious") == before
    # A link that stays inside, and an output that is a link itself, lead nowhere else.
    (out / "op").unlink()
    (tmp_path / "precious").rename(out / "real")
    (out / "op").symlink_to(out / "real")
    (tmp_path / "link").symlink_to(out)
    Run(open_output(str(tmp_path / "link")), "overwrite").run({"op/a": [2]})
    assert rows(out, "op/a") == [2]


def test_ranges() -> None:
    assert joined_ranges([5, 1, 2, 3, 7, 6, 1]) == [[1, 3], [5, 7]]
    assert joined_ranges([]) == []


def test_uris(tmp_path: Path) -> None:
    assert open_output(f"file:{tmp_path}/x/").root == f"{tmp_path}/x"
    assert open_output(f"file://{tmp_path}/x").root == f"{tmp_path}/x"
    assert open_output(str(tmp_path / "a b=c")).root == f"{tmp_path}/a b=c"


def test_a_store_that_does_not_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its error is one of the project and not of the operating system, and says nothing of the file."""
    output = open_output(str(tmp_path / "out"))

    def silent(*_: Any) -> NoReturn:
        raise no_answer(2)

    monkeypatch.setattr(Output, "write", silent)
    with pytest.raises(NoAnswerError, match="did not answer within 2 s") as caught:
        Run(output).run({"op/a": [1]})
    assert caught.value.file == output.uri
    monkeypatch.undo()
    monkeypatch.setattr(Commit, "_finalize", silent)
    with pytest.raises(NoAnswerError, match="the new data are published, but the output could not be tidied: the store"):
        Run(output).run({"op/a": [1]})
