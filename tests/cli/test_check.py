"""``stateextract check`` by its command: the three ways to describe the new job, its settings, and what blocks Flink 2."""

from __future__ import annotations

import gzip
import json
import shlex
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from stateextract.outcome import Verdict
from stateextract.report.check_page import CheckRow, check_page
from tests.cli.test_cli import DATA, ROOT, Out, out, snapshot
from tests.serializers.kafka_bytes import operator_of, producer_file, snapshot_of

__all__ = ["out"]  # a fixture

ORDERS = str(ROOT / "examples" / "orders-checkpoint")
OLD, NEW = (str(next((DATA / name).rglob("_metadata")).parent) for name in (
    "f23-evolution-checkpoint", "f23-evolution-native-restored",
))  # fmt: skip
LOSES, REFUSED, UNKNOWN, AS_IS = (
    "restores, but loses or changes data", "does not restore", "cannot be known offline", "restores as is",
)  # fmt: skip


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Savepoints and classes of a few of the restores that were run."""
    folder = tmp_path_factory.mktemp("restores")
    cells = ("ttl_on", "enum_removed", "map_key_pojo", "pojo_list_field", "pojo_field_added", "kryo_same")
    with tarfile.open(ROOT / "tests" / "restore" / "golden.tar.xz") as archive:
        members = [m for m in archive.getmembers() if any(f"/{cell}/" in f"{m.name}/" for cell in cells)]
        archive.extractall(folder, members, filter="data")
    return folder


def result(out: Out, code: int, *arguments: str) -> dict[str, Any]:
    document: dict[str, Any] = out.json("check", *arguments, expected=code)
    assert document["exit_code"] == code
    return document


def savepoint(golden: Path, cell: str, name: str) -> str:
    return str(golden / "savepoints" / cell / name)


# ---- three ways to describe the new job


def test_against_a_snapshot(out: Out) -> None:
    document = result(out, 6, OLD, "--against", NEW, "--flink", "2.3", "--backend", "hashmap")
    assert (document["snapshot"], document["against"], document["verdict"]) == (OLD, NEW, LOSES)
    account = next(state for state in document["states"] if state["state_name"] == "account")
    assert {name: account[name] for name in ("state_kind", "verdict", "phase", "row_count", "size_in_bytes", "status")} == {
        "state_kind": "value", "verdict": LOSES, "phase": "first read", "row_count": 17, "size_in_bytes": 8817,
        "status": "decoded",
    }  # fmt: skip
    assert account["reason"].startswith("value: golden.Account: legacy is gone and credit, email are new")
    assert result(out, 0, OLD, "--against", OLD, "--flink", "2.3")["verdict"] == AS_IS


def test_one_of_the_checkpoints_of_a_job(out: Out) -> None:
    """``--checkpoint`` chooses the old snapshot and not the new one."""
    jobs = ROOT / "examples" / "high-availability" / "checkpoints"
    newest = next(jobs.rglob("chk-4"))
    for against in (newest, jobs):
        document = result(out, 3, str(jobs), "--checkpoint", "3", "--against", str(against), "--no-values")
        assert (document["snapshot"].rpartition("/")[2], document["against"].rpartition("/")[2]) == ("chk-3", "chk-4")


def test_the_classes_of_the_new_job(out: Out, golden: Path) -> None:
    """A removed constant of an enum, which only the class file shows."""
    old = savepoint(golden, "enum_removed", "2.3.0-rocksdb")
    classes = str(golden / "classes" / "new" / "enum_removed")
    document = result(out, 6, old, "--classpath", classes, "--flink", "2.3", "--backend", "rocksdb")
    assert document["verdict"] == REFUSED
    (reason,) = {state["reason"] for state in document["states"] if state["verdict"] == REFUSED}
    assert "could not create a restore serializer for enum class" in reason
    same = str(golden / "classes" / "old" / "enum_removed")
    assert result(out, 0, old, "--classpath", same, "--flink", "2.3", "--backend", "rocksdb")["verdict"] == AS_IS


def test_classes_of_data_alone(out: Out, golden: Path, tmp_path: Path) -> None:
    """The output says what they do not show. They do not show whether Kryo still writes a class, unless the user says so."""

    def given(cell: str) -> tuple[str, ...]:
        shutil.copytree(golden / "classes" / "new" / cell, tmp_path / cell)
        (tmp_path / cell / "m" / cell / "Job.class").unlink()
        old = savepoint(golden, cell, "1.20.5-rocksdb")
        return (old, "--classpath", str(tmp_path / cell), "--flink", "1.20", "--backend", "rocksdb")

    document = result(out, 0, *given("pojo_field_added"))
    assert document["verdict"] == "restores after migration"
    assert (
        "The class path has no code of a job: the new job has the same operators, keys and states, with the same types "
        "and time to live. Give its whole jar to check that."
    ) in document["assumptions"]
    by_kryo = given("kryo_same")
    same = ("--old-classpath", by_kryo[2])
    document = result(out, 3, *by_kryo, *same)
    (state,) = (state for state in document["states"] if state["state_name"] == "s")
    assert state["reason"].startswith(
        "state: the class path has no class of the job's code, and its classes do not show this state's type"
    )
    assert result(out, 0, *by_kryo, *same, "--same-declarations")["verdict"] == AS_IS


def test_an_empty_class_path(out: Out, golden: Path, tmp_path: Path) -> None:
    """It does not show that all classes are gone: it shows nothing."""
    old = savepoint(golden, "pojo_field_added", "1.20.5-rocksdb")
    document = result(out, 3, old, "--classpath", str(tmp_path), "--flink", "1.20")
    assert document["verdict"] == UNKNOWN
    assert "Nothing of the new job's classes: the class path has none." in document["assumptions"]


def test_compiled_plans(out: Out, tmp_path: Path) -> None:
    text = gzip.decompress((DATA / "f23-sqlcore-canonical" / "plan.json.gz").read_bytes()).decode()
    plans = []
    for name, plan in (("old", text), ("new", text.replace("$SUM$1", "$MAX$1"))):
        plans.append(str(tmp_path / f"{name}.json"))
        Path(plans[-1]).write_text(plan)
    command = (snapshot("f23-sqlcore-canonical"), "--old-plan", plans[0], "--flink", "2.3", "--backend", "rocksdb")
    assert result(out, 0, *command, "--plan", plans[0])["verdict"] == AS_IS
    assert result(out, 3, *command, "--plan", plans[1])["verdict"] == UNKNOWN


def test_uids(out: Out, tmp_path: Path) -> None:
    """A file of uids, one a line or as JSON: an operator with state that none leads to is refused at submit."""
    lines, array = tmp_path / "uids.txt", tmp_path / "uids.json"
    lines.write_text("orders-by-customer\n")
    array.write_text('["orders-by-customer"]')
    for file in (lines, array):
        for more, verdict in ((), REFUSED), (("--allow-non-restored-state",), LOSES):
            document = result(out, 6, ORDERS, "--uids", str(file), "--flink", "2.3", *more)
            gone = [s for s in document["states"] if s["operator_uid"] == "sales-per-hour"]
            assert {(s["verdict"], s["phase"]) for s in gone} == {(verdict, "submit")}


# ---- settings


def test_the_release_of_the_new_job(out: Out, golden: Path) -> None:
    """TTL switched on: a migration since 2.3, refused before 2, not known between."""
    pair = (savepoint(golden, "ttl_on", "2.3.0-rocksdb"), "--against", savepoint(golden, "ttl_on", "2.3.0-fresh"))
    for release, code, verdict in (
        ("2.3", 0, "restores after migration"), ("2.1", 3, UNKNOWN), ("1.20", 6, REFUSED),
    ):  # fmt: skip
        assert result(out, code, *pair, "--flink", release, "--backend", "rocksdb")["verdict"] == verdict
    code, _, err = out("check", *pair, "--flink", "two")
    assert (code, "the option flink cannot be 'two'" in err or "--flink cannot be 'two'" in err) == (2, True)


def test_the_backend_of_the_new_job(out: Out, golden: Path) -> None:
    """A POJO that is a map's key gets a field: HashMap migrates, RocksDB refuses, and without the backend it is open."""
    pair = (
        savepoint(golden, "map_key_pojo", "2.3.0-rocksdb"), "--against", savepoint(golden, "map_key_pojo", "2.3.0-fresh"),
        "--flink", "2.3", "--classpath", str(golden / "classes" / "new" / "map_key_pojo"),
    )  # fmt: skip
    assert result(out, 0, *pair, "--backend", "hashmap")["verdict"] == "restores after migration"
    assert result(out, 6, *pair, "--backend", "rocksdb")["verdict"] == REFUSED
    document = result(out, 3, *pair)
    reasons = [state["reason"] for state in document["states"] if state["verdict"] == UNKNOWN]
    assert len(reasons) == 1
    assert "the backend of the new job decides" in reasons[0]


@pytest.mark.parametrize(
    ("setting", "code", "phase"),
    [
        (("--max-parallelism", "0"), 0, None),
        (("--max-parallelism", "64"), 6, "submit"),
        (("--parallelism", "4096"), 6, "submit"),
    ],
)
def test_parallelism(out: Out, setting: tuple[str, ...], code: int, phase: str | None) -> None:
    document = result(out, code, ORDERS, "--same-job", *setting)
    worst = [s for s in document["states"] if s["verdict"] == REFUSED]
    assert {s["phase"] for s in worst} == ({phase} if phase else set())


def test_wrong_settings(out: Out) -> None:
    for arguments in (
        ("--backend", "forst"), ("--max-parallelism", "-1"), ("--same-job", "--against", OLD), ("--uids", "/no/such/file"),
    ):  # fmt: skip
        assert out("check", OLD, *arguments)[0] == 2, arguments


# ---- from Flink 1 to Flink 2


def test_the_scala_api_and_what_to_extract_instead(out: Out, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command that the text shows writes the rows that it names."""
    monkeypatch.chdir(tmp_path)
    old = snapshot("f120-scala-checkpoint")
    document = result(out, 6, old, "--same-job", "--flink", "2.3")
    blocked = [state for state in document["states"] if state["verdict"] == REFUSED]
    assert {state["phase"] for state in blocked} == {"restore"}
    assert all("Flink 2 does not have the Scala API" in state["reason"] for state in blocked)
    words = shlex.split(document["extract_command"])
    assert words[:3] == ["stateextract", "extract", old]
    code, text, _ = out("check", old, "--same-job", "--flink", "2.3")
    assert (code, f"\n  {document['extract_command']}\n" in text) == (6, True)
    assert out(*words[1:])[0] == 0
    rows = sum(pq.read_metadata(path).num_rows for path in Path("rows").rglob("*.parquet"))
    assert rows >= sum(state["row_count"] for state in blocked) > 100
    assert result(out, 0, old, "--same-job", "--flink", "1.20")["extract_command"] is None


def test_kafka_producers(out: Out, tmp_path: Path) -> None:
    """Their transactions, their ids, and the sink of two-phase commit, which moved to another package."""
    old = snapshot_of(tmp_path, operator_of(1, producer_file("FlinkKafkaProducer")))
    states = {s["state_name"]: s for s in result(out, 6, old, "--same-job", "--flink", "2.3")["states"]}
    assert {name: (s["verdict"], s["row_count"]) for name, s in states.items()} == {
        "state": (REFUSED, 2), "next-transactional-id-hint": (REFUSED, 1), "next-transactional-id-hint-v2": (REFUSED, 1),
    }  # fmt: skip
    assert "does not have TwoPhaseCommitSinkFunction" in states["state"]["reason"]
    assert "use KafkaSource and KafkaSink in the new job" in states["next-transactional-id-hint-v2"]["advice"]
    assert result(out, 0, old, "--same-job", "--flink", "1.20")["verdict"] == AS_IS


def test_lists_in_pojos(out: Out, golden: Path) -> None:
    old = savepoint(golden, "pojo_list_field", "1.20.5-rocksdb")
    document = result(out, 6, old, "--same-job", "--flink", "2.3", "--backend", "rocksdb")
    (state,) = [s for s in document["states"] if s["verdict"] == REFUSED]
    assert "KryoSerializer<java.util.List> became ListSerializer" in state["reason"]
    assert result(out, 0, old, "--same-job", "--flink", "1.20", "--backend", "rocksdb")["verdict"] == AS_IS


# ---- the page


def test_the_page(out: Out, tmp_path: Path) -> None:
    page = tmp_path / "check.html"
    assert out("check", OLD, "--against", NEW, "--flink", "2.3", "--backend", "hashmap", "-o", str(page))[0] == 6
    text = page.read_text()
    assert text.count("<tr>") == 1 + 5
    assert f'<td class="bad">{LOSES}</td><td>first read</td><td class="n">17</td><td class="n">8.8 kB</td>' in text
    assert "What to do: keep the field&#x27;s name" in text
    assert "<script" not in text
    assert "stateextract extract" in text
    assert out("check", OLD, "--against", OLD, "-o", f"{OLD}/page.html")[0] == 2, "not into the snapshot"


def test_names_on_the_page_are_escaped() -> None:
    row = CheckRow("<script>", "a\nb", "value", Verdict.REFUSED, "restore", "1", "1 B", "<b>", "\x1b[2J")
    text = check_page("<i>", "s", [row], ["<u>"], "extract '<x>'")
    assert "<td>&lt;script&gt;</td><td>a\\nb</td>" in text
    assert not any(tag in text for tag in ("<script>", "<b>", "<i>", "<u>", "<x>", "\x1b"))


def test_the_document_is_json(out: Out) -> None:
    code, text, _ = out("check", ORDERS, "--same-job", "--format", "json")
    assert code == 0
    assert set(json.loads(text)) == {
        "snapshot", "against", "verdict", "exit_code", "assumptions", "extract_command", "states",
    }  # fmt: skip
