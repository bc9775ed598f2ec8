"""Whole jobs without Spark: what is planned, what is written, and what is said when something is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from stateextract.errors import (
    FormatError,
    MissingFileError,
    OutputError,
    StateExtractError,
    UndecodableError,
    UnsupportedError,
    UsageError,
)
from stateextract.job import run
from stateextract.job.execute import OnReport, Tasks, in_this_process
from stateextract.job.plan import make_plan
from stateextract.job.run import JobResult, run_job
from stateextract.job.task import SplitReport, TaskRunner
from stateextract.options import JobOptions
from stateextract.snapshot.coverage import CoverageEntry
from tests.job.snapshots import TUPLE, UNKNOWN, numbered, write_snapshot


def _options(snapshot: Path, output: Path, **more: object) -> JobOptions:
    return JobOptions(snapshot=str(snapshot), output=str(output), **more)  # type: ignore[arg-type]


def _run(snapshot: Path, output: Path, **more: object) -> JobResult:
    return run_job(_options(snapshot, output, **more), in_this_process)


def _rows(output: Path, folder: str) -> list[tuple[object, ...]]:
    """Rows by the files that the manifest names, sorted."""
    manifest = json.loads((output / "_manifest.json").read_bytes())
    dataset = next(d for d in manifest["datasets"] if d["folder"] == folder)
    rows = [tuple(r.values()) for f in dataset["files"] for r in pq.read_table(output / f["path"]).to_pylist()]
    assert len(rows) == dataset["rows"]
    return sorted(rows)


def _entry(outcome: JobResult, state: str, uid: str | None = None) -> CoverageEntry:
    return next(e for e in outcome.coverage.entries if e.state == state and uid in (None, e.uid))


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    return write_snapshot(
        tmp_path / "snap", {"one": {"count": numbered(100), "limit": numbered(7)}, "two": {"count": numbered(3)}}
    )


def test_every_state_of_every_operator(snapshot: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    outcome = _run(snapshot, out)
    assert outcome.exit_code == 0
    for folder, count in {"one/count": 100, "one/limit": 7, "two/count": 3}.items():
        # Two subtasks of four key groups each.
        assert _rows(out, folder) == [(i, 10 * i, i % 8, i % 8 // 4) for i in range(count)]
    assert sorted(p.name for p in out.iterdir()) == ["_SUCCESS", "_coverage.json", "_manifest.json", "one", "two"]


@pytest.mark.parametrize("split_bytes", [1, 500, 10**9])
@pytest.mark.parametrize("compressed", [False, True])
def test_rows_do_not_depend_on_splits(tmp_path: Path, split_bytes: int, compressed: bool) -> None:
    snap = write_snapshot(tmp_path / "s", {"op": {"a": numbered(50), "b": numbered(20)}}, compressed=compressed)
    _run(snap, tmp_path / "out", split_bytes=split_bytes)
    assert _rows(tmp_path / "out", "op/a") == [(i, 10 * i, i % 8, i % 8 // 4) for i in range(50)]
    assert len(_rows(tmp_path / "out", "op/b")) == 20


def test_the_manifest_says_where_rows_came_from(snapshot: Path, tmp_path: Path) -> None:
    manifest = _run(snapshot, tmp_path / "out", split_bytes=1).manifest
    dataset = next(d for d in manifest.datasets if d.folder == "one/count")
    assert (dataset.operator_uid, dataset.operator_name) == ("one", "name of one")
    assert (dataset.state_name, dataset.state_kind) == ("count", "value")
    assert [(Path(s.file).name, s.subtask, s.key_groups, s.rows) for s in dataset.sources] == [
        ("one-0", 0, [[0, 3]], 52),
        ("one-1", 1, [[4, 7]], 48),
    ]
    assert [c["name"] for c in dataset.schema] == ["key", "value", "key_group", "subtask"]
    job = manifest.jobs[manifest.job]
    assert (job.checkpoint_id, job.metadata_version, job.snapshot) == (7, 6, str(snapshot / "_metadata"))
    assert job.options["split-bytes"] == 1


def test_columns_can_be_left_out(snapshot: Path, tmp_path: Path) -> None:
    _run(snapshot, tmp_path / "out", key_group_column=False, subtask_column=False)
    assert _rows(tmp_path / "out", "two/count") == [(0, 0), (1, 10), (2, 20)]


def test_a_state_without_rows_has_its_schema(tmp_path: Path) -> None:
    snap = write_snapshot(tmp_path / "s", {"op": {"a": numbered(1), "empty": {}}})
    _run(snap, tmp_path / "out")
    assert _rows(tmp_path / "out", "op/empty") == []
    file = next((tmp_path / "out" / "op" / "empty").iterdir())
    assert pq.read_schema(file).names == ["key", "value", "key_group", "subtask"]


def test_choice_of_operators_and_states(snapshot: Path, tmp_path: Path) -> None:
    by_uid = _run(snapshot, tmp_path / "uid", operator=("one",))
    assert {d.folder for d in by_uid.manifest.datasets} == {"one/count", "one/limit"}
    statuses = {(e.uid, e.state): e.status for e in by_uid.coverage.entries}
    assert statuses == {("one", "count"): "decoded", ("one", "limit"): "decoded", ("two", "count"): "not selected"}
    assert by_uid.exit_code == 0
    by_name = _run(snapshot, tmp_path / "name", operator=("name of two",))
    assert {d.folder for d in by_name.manifest.datasets} == {"two/count"}
    identity = next(e.operator_id for e in by_uid.coverage.entries if e.uid == "two")
    by_id = _run(snapshot, tmp_path / "id", operator=(str(identity).upper(),), state=("count",))
    assert {d.folder for d in by_id.manifest.datasets} == {"two/count"}
    by_state = _run(snapshot, tmp_path / "state", state=("count",))
    assert {d.folder for d in by_state.manifest.datasets} == {"one/count", "two/count"}


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"operator": ("onee",)}, ["'onee'", "nearest are 'one'"]),
        ({"operator": ("xyzzy",)}, ["'xyzzy'", "operators are 'one', 'two'"]),
        ({"state": ("cuont",)}, ["'cuont'", "'count'"]),
        ({"state": ("limit",), "operator": ("two",)}, ["'limit'", "in the chosen operators", "'count'"]),
    ],
)
def test_a_choice_that_matches_nothing(
    snapshot: Path, tmp_path: Path, choice: dict[str, tuple[str, ...]], words: list[str]
) -> None:
    with pytest.raises(UsageError) as caught:
        _run(snapshot, tmp_path / "out", **choice)
    for word in words:
        assert word in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_schemas_of_subtasks_are_united(tmp_path: Path) -> None:
    snap = write_snapshot(
        tmp_path / "s", {"op": {"a": numbered(8)}}, values={"a": TUPLE}, values_by_subtask={("a", 1): TUPLE}
    )
    _run(snap, tmp_path / "out")
    values = [r[1] for r in _rows_unsorted(tmp_path / "out")]
    assert sorted(v["f0"] for v in values) == [10 * i for i in range(8)]


def _rows_unsorted(output: Path) -> list[tuple[dict[str, int], ...]]:
    return [tuple(r.values()) for p in output.rglob("*.parquet") for r in pq.read_table(p).to_pylist()]


def test_schemas_that_cannot_be_united(tmp_path: Path) -> None:
    snap = write_snapshot(tmp_path / "s", {"op": {"a": numbered(8)}}, values_by_subtask={("a", 1): TUPLE})
    with pytest.raises(UnsupportedError, match="'value' is int64 in one") as caught:
        _run(snap, tmp_path / "out")
    assert (caught.value.operator, caught.value.state) == ("op", "a")
    assert not (tmp_path / "out").exists()


class TestUndecodable:
    """``a`` is fine, ``b`` has an unknown serializer, ``c`` stands behind it."""

    @pytest.fixture
    def snap(self, tmp_path: Path) -> Path:
        states = {"a": numbered(10), "b": numbered(3), "c": numbered(10)}
        return write_snapshot(tmp_path / "s", {"op": states}, values={"b": UNKNOWN})

    def test_asked_for_by_name_is_an_error_before_anything_starts(self, snap: Path, tmp_path: Path) -> None:
        with pytest.raises(UndecodableError, match=r"com\.example\.Shape") as caught:
            make_plan(_options(snap, tmp_path / "out", state=("b",)))
        assert (caught.value.operator, caught.value.state) == ("op", "b")

    def test_fail_publishes_nothing_if_the_job_is_strict(self, snap: Path, tmp_path: Path) -> None:
        with pytest.raises(UndecodableError) as caught:
            _run(snap, tmp_path / "out", strict=True)
        assert (caught.value.file, caught.value.operator, caught.value.state) == (str(snap / "op-0"), "op", "b")
        assert not (tmp_path / "out").exists()

    def test_fail_leaves_out_the_state(self, snap: Path, tmp_path: Path) -> None:
        outcome = _run(snap, tmp_path / "out")
        assert [r[:2] for r in _rows(tmp_path / "out", "op/a")] == [(i, 10 * i) for i in range(10)]
        assert [(_entry(outcome, n).status, _entry(outcome, n).read.rows) for n in "abc"] == [
            ("decoded", 10), ("unsupported", 0), ("partial", 5),
        ]  # fmt: skip
        assert "com.example.Shape" in str(_entry(outcome, "b").reason)
        assert outcome.exit_code == 3
        assert not (tmp_path / "out" / "op" / "b").exists()
        assert outcome.coverage.summary() == (
            "3 states: 1 whole, 1 partial, 1 missing, 15 rows read, 3 entries lost, "
            "6 key groups of a state lost in part or whole."
        )

    def test_a_state_without_values_is_whole_whatever_its_serializer_is(self, tmp_path: Path) -> None:
        snap = write_snapshot(tmp_path / "s", {"op": {"a": numbered(4), "b": {}}}, values={"b": UNKNOWN})
        outcome = _run(snap, tmp_path / "out")
        assert (_entry(outcome, "b").status, outcome.exit_code) == ("decoded", 0)

    def test_skip_keeps_what_can_be_read(self, snap: Path, tmp_path: Path) -> None:
        outcome = _run(snap, tmp_path / "out", on_undecodable="skip")
        assert [r[:2] for r in _rows(tmp_path / "out", "op/a")] == [(i, 10 * i) for i in range(10)]
        assert _entry(outcome, "b").status == "skipped"
        assert "com.example.Shape" in str(_entry(outcome, "b").reason)
        # Three key groups hold a value of b, and with it c is lost there.
        assert [r[0] for r in _rows(tmp_path / "out", "op/c")] == [3, 4, 5, 6, 7]
        assert _entry(outcome, "c").status == "partial"
        assert _entry(outcome, "c").read.lost_key_groups == 3
        assert outcome.exit_code == 3
        assert sorted(d.state_name for d in outcome.datasets) == ["a", "c"]
        assert not (tmp_path / "out" / "op" / "b").exists()

    def test_raw_keeps_the_bytes(self, snap: Path, tmp_path: Path) -> None:
        outcome = _run(snap, tmp_path / "out", on_undecodable="raw")
        raw = next(d for d in outcome.manifest.datasets if d.raw)
        assert (raw.folder, raw.rows) == ("op/b__raw", 3)
        table = pq.read_table(tmp_path / "out" / raw.files[0].path).to_pylist()
        assert [(r["key_group"], r["entries"]) for r in table] == [(0, 1), (1, 1), (2, 1)]
        assert _entry(outcome, "b").status == "raw"
        assert not (tmp_path / "out" / "op" / "b").exists()

    def test_compressed_states_behind_it_survive(self, tmp_path: Path) -> None:
        states = {"a": numbered(10), "b": numbered(3), "c": numbered(10)}
        snap = write_snapshot(tmp_path / "z", {"op": states}, values={"b": UNKNOWN}, compressed=True)
        outcome = _run(snap, tmp_path / "out", on_undecodable="skip")
        assert [r[0] for r in _rows(tmp_path / "out", "op/c")] == list(range(10))
        assert _entry(outcome, "c").status == "decoded"

    def test_other_states_can_be_chosen(self, snap: Path, tmp_path: Path) -> None:
        _run(snap, tmp_path / "out", state=("a",))
        assert len(_rows(tmp_path / "out", "op/a")) == 10


class TestDamage:
    """A strict job publishes nothing, and the message names the file. Any other job reads the rest."""

    def _fails(self, snapshot: Path, tmp_path: Path, kind: type[StateExtractError]) -> StateExtractError:
        with pytest.raises(kind) as caught:
            _run(snapshot, tmp_path / "out", strict=True)
        assert not (tmp_path / "out").exists()
        return caught.value

    def _partial(self, outcome: JobResult, tmp_path: Path, status: str, *rows: int) -> CoverageEntry:
        """Of operator ``one`` there are some rows; ``two`` is whole."""
        assert outcome.exit_code == 3
        entry = _entry(outcome, "count", "one")
        assert (entry.status, entry.read.rows) == (status, len(rows))
        assert [r[0] for r in _rows(tmp_path / "out", "one/count")] == list(rows)
        assert (_entry(outcome, "count", "two").status, len(_rows(tmp_path / "out", "two/count"))) == ("decoded", 3)
        return entry

    def test_missing_file(self, snapshot: Path, tmp_path: Path) -> None:
        (snapshot / "one-1").unlink()
        error = self._fails(snapshot, tmp_path, MissingFileError)
        assert str(error.file).endswith("one-1")
        assert error.operator == "one"
        entry = self._partial(_run(snapshot, tmp_path / "out"), tmp_path, "partial", *(i for i in range(100) if i % 8 < 4))
        assert "one-1" in str(entry.reason)

    def test_all_files_missing(self, snapshot: Path, tmp_path: Path) -> None:
        for number in range(2):
            (snapshot / f"one-{number}").unlink()
        outcome = _run(snapshot, tmp_path / "out")
        assert {e.status for e in outcome.coverage.entries if e.uid == "one"} <= {"missing", "unsupported"}
        assert len(_rows(tmp_path / "out", "two/count")) == 3
        assert (outcome.exit_code, (tmp_path / "out" / "one").exists()) == (3, False)

    def test_truncated_file(self, snapshot: Path, tmp_path: Path) -> None:
        file = snapshot / "one-1"
        file.write_bytes(file.read_bytes()[:-1])
        assert str(self._fails(snapshot, tmp_path, FormatError).file).endswith("one-1")
        # A file of another size than the snapshot says is not read.
        self._partial(_run(snapshot, tmp_path / "out"), tmp_path, "partial", *(i for i in range(100) if i % 8 < 4))

    def test_damage_in_a_body(self, snapshot: Path, tmp_path: Path) -> None:
        file = snapshot / "one-1"
        data = bytearray(file.read_bytes())
        data[-4] = 0x7F  # the count of the last state
        file.write_bytes(data)
        error = self._fails(snapshot, tmp_path, FormatError)
        assert (str(error.file), error.operator, error.key_group) == (str(file), "one", 7)
        outcome = _run(snapshot, tmp_path / "out")
        # The state before it in the same key group is whole.
        self._partial(outcome, tmp_path, "decoded", *range(100))
        entry = _entry(outcome, "limit")
        assert (entry.status, entry.read.rows, entry.read.lost_key_groups) == ("partial", 7, 1)
        assert f"{file}" in str(entry.reason)

    def test_damage_in_an_operator_that_is_not_wanted(self, snapshot: Path, tmp_path: Path) -> None:
        (snapshot / "one-1").unlink()
        outcome = _run(snapshot, tmp_path / "out", operator=("two",))
        assert len(_rows(tmp_path / "out", "two/count")) == 3
        assert outcome.exit_code == 0

    def test_a_file_that_vanishes_after_planning(self, snapshot: Path, tmp_path: Path) -> None:
        def execute(tasks: Tasks, on_report: OnReport) -> None:
            (snapshot / "one-0").unlink()
            in_this_process(tasks, on_report)

        outcome = run_job(_options(snapshot, tmp_path / "out"), execute)
        self._partial(outcome, tmp_path, "partial", *(i for i in range(100) if i % 8 >= 4))

    def test_a_file_that_vanishes_after_the_planning_of_a_strict_job(self, snapshot: Path, tmp_path: Path) -> None:
        def execute(tasks: Tasks, on_report: OnReport) -> None:
            (snapshot / "one-0").unlink()
            in_this_process(tasks, on_report)

        with pytest.raises(MissingFileError):
            run_job(_options(snapshot, tmp_path / "out", strict=True), execute)
        assert not (tmp_path / "out").exists()


def test_a_full_disk_publishes_nothing(snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Named:
        hex = "0" * 32

    def execute(tasks: Tasks, on_report: OnReport) -> None:
        context = TaskRunner(*json.loads(tasks.shared))._context
        full = Path(context.folder) / "one" / "count" / f"part-00000-{context.job}-{Named.hex[:8]}-0.parquet"
        full.parent.mkdir(parents=True)
        full.symlink_to("/dev/full")
        in_this_process(tasks, on_report)

    monkeypatch.setattr("stateextract.job.task.uuid.uuid4", Named)
    with pytest.raises(OutputError, match="the disk is full") as caught:
        run_job(_options(snapshot, tmp_path / "out"), execute)
    assert str(caught.value.file).endswith("one/count")
    assert not (tmp_path / "out").exists()


class TestAttempts:
    """Attempts that are lost, doubled or reported twice."""

    def test_a_split_run_twice_counts_once(self, snapshot: Path, tmp_path: Path) -> None:
        def execute(tasks: Tasks, on_report: OnReport) -> None:
            in_this_process(tasks, on_report)
            in_this_process(tasks, on_report)

        for publish in ("rename", "direct"):
            out = tmp_path / publish
            run_job(_options(snapshot, out, publish=publish, split_bytes=1), execute)
            assert _rows(out, "one/count") == [(i, 10 * i, i % 8, i % 8 // 4) for i in range(100)]
            on_disk = [r for p in (out / "one" / "count").iterdir() for r in pq.read_table(p)["key"].to_pylist()]
            assert sorted(on_disk) == list(range(100))

    def test_a_split_without_a_report_publishes_nothing(self, snapshot: Path, tmp_path: Path) -> None:
        def execute(tasks: Tasks, on_report: OnReport) -> None:
            run = tasks.open(tasks.shared)
            on_report(0, run(0, b""))

        with pytest.raises(OutputError, match="1 of 2 tasks gave no report, the first is 1"):
            run_job(_options(snapshot, tmp_path / "out", split_bytes=600 * 1000), execute)
        assert not (tmp_path / "out").exists()

    def test_rows_that_were_read_and_not_written_are_noticed(
        self, snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = SplitReport.from_bytes

        def losing(data: bytes) -> SplitReport:
            report = real(data)
            return SplitReport(report.files[1:], report.parts)

        monkeypatch.setattr(run.SplitReport, "from_bytes", losing)
        with pytest.raises(OutputError, match="100 rows read, but 0 written"):
            _run(snapshot, tmp_path / "out")
        assert not (tmp_path / "out").exists()

    def test_a_failing_attempt_deletes_its_files(
        self, snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[int] = []

        def execute(tasks: Tasks, on_report: OnReport) -> None:
            data = bytearray((snapshot / "two-1").read_bytes())
            data[-1:] = b""
            (snapshot / "two-1").write_bytes(data)
            try:
                in_this_process(tasks, on_report)
            finally:
                seen.append(len(list((tmp_path / "out").rglob("*.parquet"))))

        with pytest.raises(FormatError):
            run_job(_options(snapshot, tmp_path / "out", row_group_bytes=1, strict=True), execute)
        assert seen == [0]


def test_overwrite_keeps_what_it_does_not_write(snapshot: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    _run(snapshot, out)
    with pytest.raises(OutputError, match="not empty"):
        _run(snapshot, out)
    later = write_snapshot(tmp_path / "later", {"one": {"count": numbered(5, factor=7)}}, checkpoint=8)
    manifest = _run(later, out, mode="overwrite").manifest
    assert [r[:2] for r in _rows(out, "one/count")] == [(i, 7 * i) for i in range(5)]
    assert len(_rows(out, "one/limit")) == 7
    assert sorted(job.checkpoint_id for job in manifest.jobs.values()) == [7, 8]
