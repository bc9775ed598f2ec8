"""``stateextract checkpoints``, and the options that choose one of several snapshots in every command."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from stateextract.api import list_snapshots, open_snapshot
from stateextract.snapshot.checkpoint_list import SCHEMA
from tests.cli.test_cli import Out, out
from tests.ha.test_parsing import EXAMPLE, EXPECTED, FOLDERS, NEWEST
from tests.job.snapshots import numbered, write_snapshot

__all__ = ["out"]  # a fixture

JOB, OTHER = "0123456789abcdef0011223344556677", "f" * 32
STORE = str(EXAMPLE / "znodes.json")
EXAMPLE_JOB = EXPECTED[EXAMPLE.name]["job_id"]


def rows_of(document: dict[str, Any], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in document["snapshots"]]


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    """A folder of two jobs, one of them with a checkpoint in progress, and a savepoint of the other."""
    for number in (3, 10):
        write_snapshot(tmp_path / "all" / JOB / f"chk-{number}", {"a": {"total": numbered(8)}}, checkpoint=number)
    (tmp_path / "all" / JOB / "chk-11").mkdir()
    (tmp_path / "all" / JOB / "shared").mkdir()
    write_snapshot(tmp_path / "all" / OTHER / "chk-5", {"a": {"total": numbered(8)}}, checkpoint=5)
    write_snapshot(tmp_path / "all" / "savepoint-ffffff-0123456789ab", {"a": {"total": numbered(8)}}, checkpoint=6)
    for number, path in enumerate(sorted((tmp_path / "all").rglob("_metadata"))):
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return tmp_path / "all"


# ---- folders


def test_a_folder_of_jobs(out: Out, jobs: Path) -> None:
    document = out.json("checkpoints", str(jobs))
    assert (document["source"], document["jobs"]) == ("folder", [])
    assert rows_of(document, "job_id", "checkpoint_id", "status", "file_count", "missing_file_count", "completed_at") == [
        (JOB, 3, "complete", 3, 0, "2023-11-14T22:13:21.000+00:00"),
        (JOB, 10, "complete", 3, 0, "2023-11-14T22:13:20.000+00:00"),
        (JOB, 11, "not complete", None, None, None),
        (OTHER, 5, "complete", 3, 0, "2023-11-14T22:13:22.000+00:00"),
        # Its folder has only the beginning of the job's id.
        (OTHER, 6, "complete", 3, 0, "2023-11-14T22:13:23.000+00:00"),
    ]
    for row in document["snapshots"]:
        if row["status"] == "complete":
            size = sum(path.stat().st_size for path in Path(row["path"]).iterdir())
            assert (row["own_size_in_bytes"], row["shared_size_in_bytes"], row["shares_files_with"]) == (size, 0, [])


def test_links_between_folders(out: Out, jobs: Path) -> None:
    """Each snapshot is listed once, under its own name."""
    before = out.json("checkpoints", str(jobs))
    (jobs / "0").symlink_to(jobs)
    (jobs / JOB / "a-link").symlink_to(jobs / JOB / "chk-3")
    assert out.json("checkpoints", str(jobs)) == before


def test_more_folders_than_are_looked_into(out: Out, jobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stateextract.snapshot.checkpoint_list._FOLDERS", 3)
    code, text, err = out("checkpoints", str(jobs))
    assert (code, text) == (2, "")
    assert err == f"Error: there are more than 3 folders in {jobs}. Give the path of one job, or of one folder of savepoints.\n"
    assert out("checkpoints", str(jobs / OTHER))[0] == 0


def test_one_job_one_snapshot_and_the_savepoints(out: Out, jobs: Path) -> None:
    for path, ids in (
        (jobs / JOB, [3, 10, 11]), (jobs / JOB / "chk-3", [3]), (jobs / JOB / "chk-3" / "_metadata", [3]),
        (jobs / "savepoint-ffffff-0123456789ab", [6]), (jobs.parent, [3, 10, 11, 5, 6]),
    ):  # fmt: skip
        assert [row["checkpoint_id"] for row in out.json("checkpoints", str(path))["snapshots"]] == ids
    (row,) = out.json("checkpoints", str(jobs / "savepoint-ffffff-0123456789ab"))["snapshots"]
    assert row["job_id"] == "ffffff"


def test_damage(out: Out, jobs: Path) -> None:
    """A missing file and a corrupt ``_metadata``: the others are listed all the same."""
    (jobs / JOB / "chk-3" / "a-1").unlink()
    (jobs / JOB / "chk-10" / "_metadata").write_bytes(b"\x49\x60\x67\x2d\x00")
    document = out.json("checkpoints", str(jobs), expected=3)
    found = {row["checkpoint_id"]: row for row in document["snapshots"]}
    assert {id_: row["status"] for id_, row in found.items()} == {
        3: "files missing", 10: "unreadable", 11: "not complete", 5: "complete", 6: "complete",
    }  # fmt: skip
    assert (found[3]["file_count"], found[3]["missing_file_count"]) == (3, 1)
    assert found[3]["reason"].startswith("1 of 3 files is missing or of another size: ")
    assert "chk-10/_metadata" in found[10]["reason"]
    assert out("checkpoints", str(jobs / JOB))[0] == 1  # nothing there can be read


def test_nothing_there(out: Out, tmp_path: Path) -> None:
    code, _, err = out("checkpoints", str(tmp_path))
    assert (code, "no checkpoint or savepoint at" in err) == (1, True)
    code, _, err = out("checkpoints", str(tmp_path / "none"))
    assert (code, "does not exist" in err) == (1, True)


def test_incremental_checkpoints_share_files(out: Out) -> None:
    """Sizes by what is on disk: a file that two of the checkpoints name is shared."""
    document = out.json("checkpoints", str(EXAMPLE / "checkpoints"))
    folder = EXAMPLE / "checkpoints" / EXAMPLE_JOB
    named = {}
    for number in (2, 3, 4):
        content = (folder / f"chk-{number}" / "_metadata").read_bytes().decode("latin-1")
        files = [*(folder / f"chk-{number}").iterdir(), *(folder / "shared").iterdir()]
        named[number] = {path for path in files if path.name in content or path.name == "_metadata"}
    for row in document["snapshots"]:
        own = named[row["checkpoint_id"]]
        others = set().union(*(files for number, files in named.items() if number != row["checkpoint_id"]))
        assert row["is_incremental"] is True
        assert row["file_count"] == len(own)
        assert row["own_size_in_bytes"] == sum(path.stat().st_size for path in own - others)
        assert row["shared_size_in_bytes"] == sum(path.stat().st_size for path in own & others) > 0
        assert row["shares_files_with"] == [n for n in named if n != row["checkpoint_id"] and named[n] & own]


def test_rows(out: Out) -> None:
    code, text, _ = out("checkpoints", STORE, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert (code, list(rows[0]), [row["checkpoint_id"] for row in rows]) == (0, SCHEMA.names, ["2", "3", "4"])
    code, text, _ = out("checkpoints", STORE, "--format", "lines", "--checkpoint", "3")
    assert (code, json.loads(text)["shares_files_with"]) == (0, [2, 4])
    code, text, err = out("checkpoints", STORE, "--checkpoint", "7")
    assert (code, text, err) == (1, "", f"Error: no snapshot at {STORE} is checkpoint 7; found 2, 3, 4.\n")


# ---- high availability


@pytest.mark.parametrize("case", FOLDERS)
@pytest.mark.parametrize("name", ["znodes.json", "configmap.json", "configmap.yaml", "ha", ""])
def test_what_flink_restored(out: Out, case: str, name: str) -> None:
    """The checkpoint that a new cluster on the same data took; from the files alone it is called a guess."""
    if not (FOLDERS[case] / name).exists():
        pytest.skip("Flink's class was not to be had for this version")
    expected, removed = EXPECTED[case], name.startswith("configmap")
    document = out.json("checkpoints", str(FOLDERS[case] / name), expected=3 if removed else 0)
    (job,) = document["jobs"]
    assert (job["job_id"], job["outcome"], job["restores_checkpoint"]) == (
        expected["job_id"], "restores", expected["restored"],
    )  # fmt: skip
    assert job["is_guess"] == (name in ("ha", ""))
    assert ("guess" in job["answer"]) == job["is_guess"]
    ids = [one["id"] for one in expected["checkpoints"]]
    if name:
        order = {row["restore_order"]: row["checkpoint_id"] for row in document["snapshots"] if row["restore_order"]}
        assert order == dict(enumerate(sorted(ids, reverse=True), 1))
        assert open_snapshot(str(FOLDERS[case] / name)).checkpoint_id == expected["restored"]
    times = {row["checkpoint_id"]: row["completed_at"] for row in document["snapshots"] if row["store_entry"]}
    for one in expected["checkpoints"] if name else ():
        assert times[one["id"]].startswith("2026-11-29T")


def given(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize("name", ["configmap.yaml", "configmap.json", "znodes.json"])
def test_standard_input(out: Out, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As ``kubectl get configmap -o yaml | stateextract checkpoints -``: only the places that the user names are opened."""
    data, work = (FOLDERS[NEWEST] / name).read_bytes(), EXPECTED[NEWEST]["work"]
    given(monkeypatch, data)
    code = 0 if name == "znodes.json" else 3  # an entry of the ConfigMap is being removed
    document = out.json("checkpoints", "-", "--path-map", f"{work}={FOLDERS[NEWEST]}", expected=code)
    (job,) = document["jobs"]
    assert (document["path"], job["outcome"], job["is_guess"], job["restores_checkpoint"]) == (
        "standard input", "restores", False, EXPECTED[NEWEST]["restored"],
    )  # fmt: skip
    given(monkeypatch, data)
    (job,) = out.json("checkpoints", "-", expected=1)["jobs"]
    assert job["outcome"] == "fails"
    assert "outside of the places that you named" in job["checkpoints"][0]["problem"]


@pytest.mark.parametrize("data", [b"{}", b"", b"kind: Secret", b"\xff\xfe\x00"])
def test_standard_input_of_other_things(out: Out, monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    given(monkeypatch, data)
    code, _, err = out("checkpoints", "-")
    assert (code, "standard input" in err) == (1, True)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A case whose files may be changed."""
    shutil.copytree(FOLDERS[NEWEST], tmp_path / "case")
    return tmp_path / "case"


def newest_file(case: Path) -> Path:
    expected = EXPECTED[NEWEST]["checkpoints"][-1]
    pointer = expected["external_pointer"].encode()
    return next(path for path in (case / "ha").rglob("completedCheckpoint*") if pointer in path.read_bytes())


def test_a_missing_file_ends_the_start(out: Out, copy: Path) -> None:
    """Flink reads the files of all entries; an older checkpoint is read only if it is asked for."""
    newest_file(copy).unlink()
    document = out.json("checkpoints", str(copy / "znodes.json"), expected=1)
    (job,) = document["jobs"]
    assert (job["outcome"], job["restores_checkpoint"]) == ("fails", None)
    assert job["answer"].startswith(f"Flink would not start job {job['job_id']}, since it reads the files of all entries")
    assert [row["restore_order"] for row in document["snapshots"]] == [None, None]
    code, _, err = out("states", str(copy / "znodes.json"))
    assert (code, "--checkpoint N reads one of the others" in err) == (1, True)
    assert out("states", str(copy / "znodes.json"), "--checkpoint", "3")[0] == 0
    # Of the files alone nothing is known to be missing.
    (job,) = out.json("checkpoints", str(copy / "ha"))["jobs"]
    assert (job["restores_checkpoint"], job["is_guess"]) == (3, True)


def test_a_file_that_was_cut(out: Out, copy: Path) -> None:
    file = newest_file(copy)
    file.write_bytes(file.read_bytes()[:-1])
    (job,) = out.json("checkpoints", str(copy / "znodes.json"), expected=1)["jobs"]
    assert job["outcome"] == "fails"
    assert f"file {file}" in job["checkpoints"][-1]["problem"]
    code, _, err = out("checkpoints", str(file))
    assert (code, f"in file {file}" in err) == (1, True)


def test_a_lost_metadata_hinders_only_this_reader(out: Out, copy: Path) -> None:
    (metadata,) = (path for path in copy.rglob("_metadata") if path.parent.name == "chk-4")
    metadata.unlink()
    document = out.json("checkpoints", str(copy / "znodes.json"), expected=3)
    (job,) = document["jobs"]
    assert (job["outcome"], job["restores_checkpoint"], job["restores_metadata_path"]) == ("restores", 4, None)
    assert [row["status"] for row in document["snapshots"]] == ["complete", "files missing"]
    code, _, err = out("inspect", str(copy / "znodes.json"))
    assert (code, "which Flink does not need and stateextract does" in err) == (1, True)
    # A guess prefers what can be read.
    (job,) = out.json("checkpoints", str(copy / "ha"), expected=3)["jobs"]
    assert job["restores_checkpoint"] == 3


def test_a_job_that_has_ended(out: Out, copy: Path) -> None:
    job = EXPECTED[NEWEST]["job_id"]
    for name in (f"{job}.json", f"{job}_DIRTY.json"):
        folder = copy / "ha" / "job-result-store" / "default"
        folder.mkdir(parents=True)
        (folder / name).write_text("{}")
        for place in ("znodes.json", "ha"):
            (found,) = out.json("checkpoints", str(copy / place))["jobs"]
            assert (found["outcome"], found["restores_checkpoint"]) == ("ended", None)
        shutil.rmtree(folder.parent)


def moved(copy: Path, uri: str) -> Path:
    """A dump whose newest entry names another file; Java's strings have their length before them."""
    import base64
    import re
    import struct

    nodes = json.loads((copy / "znodes.json").read_text())
    for node in nodes:
        if re.search(r"/checkpoints/\d+4$", node["path"]):
            data = base64.b64decode(node["data"])
            at = data.index(b"file:")
            (length,) = struct.unpack(">H", data[at - 2 : at])
            new = uri.encode()
            node["data"] = base64.b64encode(
                data[: at - 2] + struct.pack(">H", len(new)) + new + data[at + length :]
            ).decode()
    (copy / "changed.json").write_text(json.dumps(nodes))
    return copy / "changed.json"


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("file://other.example/ha/default/{name}", "names a file of another host, 'other.example', which is not opened"),
        ("http://other.example/ha/default/{name}", "http:// is not the scheme of a supported store"),
        ("file:/x/../../etc/passwd", "names a path that is not opened"),
        ("file:/x/%2e%2e/etc/passwd", "names a path that is not opened"),
        ("file:{elsewhere}", "a file that the data names is missing"),
        ("file:/etc/passwd", "a file that the data names is missing"),
        ("relative/{name}", "is not the URI of a file"),
        ("s3://bucket/none/{name}x", "a file that the data names is missing"),
    ],
)
def test_uris_are_never_opened_as_they_are(
    out: Out, copy: Path, uri: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not below the folder of the data is not looked at, whatever the entry says."""
    elsewhere = copy.parent / "elsewhere"
    elsewhere.write_bytes(newest_file(copy).read_bytes())
    opened: list[str] = []
    original = os.open

    def watched(path: Any, *rest: Any, **more: Any) -> int:
        opened.append(str(path))
        return original(path, *rest, **more)

    monkeypatch.setattr(os, "open", watched)
    monkeypatch.setattr("stateextract.files.filesystem.connect", None)  # nothing is asked over a network
    dump = moved(copy, uri.format(name=newest_file(copy).name, elsewhere=elsewhere))
    (job,) = out.json("checkpoints", str(dump), expected=1)["jobs"]
    assert job["outcome"] == "fails"
    assert message in job["checkpoints"][-1]["problem"]
    assert [path for path in opened if not path.startswith(str(copy)) and "stateextract" not in path] == []


def test_places_that_the_user_names(out: Out, copy: Path) -> None:
    """``--path-map`` and ``--allow-store`` open what is elsewhere."""
    work = EXPECTED[NEWEST]["work"]
    dump = copy.parent / "other" / "znodes.json"
    dump.parent.mkdir()
    shutil.copyfile(copy / "znodes.json", dump)
    assert out.json("checkpoints", str(dump), expected=1)["jobs"][0]["outcome"] == "fails"
    found = out.json("checkpoints", str(dump), "--path-map", f"{work}={copy}")
    assert found["jobs"][0]["restores_checkpoint"] == 4
    changed = moved(copy, f"file:{newest_file(copy)}")
    shutil.move(changed, dump)
    pairs = ("--path-map", f"{work}/ha={copy}/ha", "--path-map", f"{work}/checkpoints={copy}/checkpoints")
    assert out.json("checkpoints", str(dump), *pairs)["jobs"][0]["outcome"] == "restores"
    narrow = ("--path-map", f"{work}/checkpoints={copy}/checkpoints")
    assert out.json("checkpoints", str(dump), *narrow, expected=1)["jobs"][0]["outcome"] == "fails"
    allowed = out.json("checkpoints", str(dump), *narrow, "--allow-store", str(copy / "ha"), expected=1)["jobs"][0]
    assert [one["problem"] is None for one in allowed["checkpoints"]] == [False, True]


def test_blanks_in_paths(out: Out, copy: Path) -> None:
    """``java.net.URI`` writes a blank as ``%20``."""
    file = newest_file(copy)
    target = copy / "ha" / "a b" / file.name
    target.parent.mkdir()
    shutil.move(file, target)
    dump = moved(copy, f"file:/x/a%20b/{file.name}")
    (job,) = out.json("checkpoints", str(dump))["jobs"] if (copy / "a b").exists() else (None,)
    assert job is None
    shutil.move(target.parent, copy / "a b")
    (job,) = out.json("checkpoints", str(dump))["jobs"]
    assert job["checkpoints"][-1]["file"] == str(copy / "a b" / file.name)


@pytest.mark.parametrize("text", ['{"kind": "Secret"}', "[1]", "kind: Secret\nx: y\n", "{"])
def test_other_documents(out: Out, tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    for command in ("checkpoints", "inspect"):
        code, _, err = out(command, str(tmp_path / "x.json"))
        assert (code, "kubectl get configmap" in err) == (1, True), err


# ---- one of several


def test_every_command_takes_a_checkpoint(out: Out, jobs: Path) -> None:
    for path, more in ((jobs / JOB, ()), (jobs, ("--job", JOB[:4])), (jobs, ())):
        code, text, _ = out("inspect", str(path), "--checkpoint", "3", *more, "--format", "json")
        document = json.loads(text)
        assert (code, document["checkpoint_id"], document["note"]) == (0, 3, "chk-3 is checkpoint 3")
    assert out.json("inspect", str(jobs), "--checkpoint", "6")["snapshot"].endswith("savepoint-ffffff-0123456789ab")
    assert out.json("inspect", str(jobs), "--job", JOB)["checkpoint_id"] == 10
    for command in ("states", "schema", "files", "count", "validate", "stats"):
        assert out(command, str(jobs), "--checkpoint", "10", "--format", "json")[0] == 0, command
    assert open_snapshot(str(jobs), checkpoint=5).checkpoint_id == 5


def test_two_checkpoints_of_a_job_are_compared(out: Out) -> None:
    path = str(EXAMPLE / "checkpoints")
    options = ("--state", "mean", "--workers", "1", "--format", "json")
    found = []
    for before, after in ((2, 4), (4, 4)):
        code, text, _ = out(
            "diff", path, path, *options, "--before-checkpoint", str(before), "--after-checkpoint", str(after)
        )
        assert code == 0
        document = json.loads(text)
        assert (document["before"]["checkpoint_id"], document["after"]["checkpoint_id"]) == (before, after)
        (state,) = document["states"]
        found.append(state["changed"] + state["added"] + state["removed"])
    assert found[0] > 0 == found[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--checkpoint", "4"], "no snapshot at {path} is checkpoint 4; found "),
        (["--checkpoint", "11"], "checkpoint 11 is not complete: "),
        (["--job", "0"], None),
        (["--job", "abc"], "no snapshot at {path} is the newest checkpoint of job abc"),
    ],
)
def test_a_choice_that_is_not_there(out: Out, jobs: Path, arguments: list[str], message: str | None) -> None:
    code, _, err = out("inspect", str(jobs), *arguments)
    assert (code, (message or "").format(path=jobs) in err) == (0 if message is None else 1, True)


def test_two_jobs_have_the_checkpoint(out: Out, jobs: Path) -> None:
    write_snapshot(jobs / OTHER / "chk-3", {"a": {"total": numbered(8)}}, checkpoint=3)
    code, _, err = out("inspect", str(jobs), "--checkpoint", "3")
    assert (code, "2 snapshots are checkpoint 3 at" in err, "Choose one with --job, or by its path." in err) == (1, True, True)
    assert out.json("inspect", str(jobs), "--checkpoint", "3", "--job", "f")["snapshot"] == str(jobs / OTHER / "chk-3")


def test_python(jobs: Path) -> None:
    listing = list_snapshots(str(jobs), job=JOB)
    table = listing.to_arrow()
    assert table.schema == SCHEMA
    assert table["checkpoint_id"].to_pylist() == [3, 10, 11]
    assert [str(row.status) for row in list_snapshots(str(jobs), checkpoint=11).snapshots] == ["not complete"]
