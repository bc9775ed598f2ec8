"""The command line: what it prints, as text and as JSON, its exit codes, and that it starts without heavy imports."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stateextract.cli import run
from stateextract.errors import MissingFileError
from stateextract.job.plan import make_plan
from stateextract.metadata.parser import parse_metadata
from stateextract.metadata.uid import operator_id
from stateextract.options import JobOptions
from tests.writers.generate import plan_operators, write_snapshot

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "golden" / "data"


def expected_of(case: str) -> Any:
    return json.loads((DATA / case / "expected.json").read_text())


def snapshot(case: str) -> str:
    return str(DATA / case / expected_of(case)["snapshot"])


KINDS = snapshot("f20-kinds-native")
CUSTOM = snapshot("f20-custom-native-snappy")
OLD = snapshot("f117-kinds-native-snappy")


class Out:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        code = run(arguments)
        captured = self._capsys.readouterr()
        return code, captured.out, captured.err

    def json(self, *arguments: str, expected: int = 0) -> Any:
        code, out, err = self(*arguments, "--format", "json")
        assert (code, err) == (expected, "")
        return json.loads(out)


@pytest.fixture
def out(capsys: pytest.CaptureFixture[str]) -> Out:
    return Out(capsys)


# ---- inspect


def test_inspect_as_json(out: Out) -> None:
    document = out.json("inspect", KINDS)
    assert document["snapshot"] == KINDS
    assert document["metadata"] == f"{KINDS}/_metadata"
    assert (document["snapshot_kind"], document["snapshot_format"]) == ("savepoint", "native")
    operators = {o["operator_uid"]: o for o in document["operators"]}
    operator = operators["all-kinds"]
    assert operator["operator_id"] == operator_id("all-kinds")
    assert operator["operator_name"] == "all kinds by name"
    wanted = next(o for o in expected_of("f20-kinds-native")["operators"] if o["uid"] == "all-kinds")
    assert operator["operator_parallelism"] == wanted["parallelism"]
    assert operator["operator_max_parallelism"] == wanted["max_parallelism"]
    states = {s["state_name"]: s for s in operator["states"]}
    assert states["map-long"] == {
        "state_name": "map-long",
        "state_scope": "keyed",
        "state_kind": "map",
        "state_role": None,
        "form": "heap",
        "handle_count": operator["operator_parallelism"],
        "size_in_bytes": None,
        "schema": [
            {"name": "key", "type": "string"},
            {"name": "value", "type": "map<string, int64>"},
            {"name": "key_group", "type": "int32"},
            {"name": "subtask", "type": "int32"},
        ],
        "serializers": {
            "key": "org.apache.flink.api.common.typeutils.base.StringSerializer$StringSerializerSnapshot",
            "namespace": "org.apache.flink.runtime.state.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot",
            "value": "org.apache.flink.api.common.typeutils.base.MapSerializerSnapshot",
        },
        "status": "decoded",
        "reason": None,
    }
    assert states["union-list"]["state_scope"] == "operator"
    assert states["union-list"]["state_kind"] == "list (union)"
    assert states["union-list"]["status"] == "decoded"
    assert states["union-list"]["reason"] is None
    keyed = [h for h in operator["handles"] if h["handle_role"] == "managed_keyed"]
    assert [(h["handle_kind"], h["handle_count"]) for h in keyed] == [("key groups V2", operator["operator_parallelism"])]
    assert operator["operator_total_size_in_bytes"] == sum(h["size_in_bytes"] for h in operator["handles"])


def test_inspect_says_what_cannot_be_read_and_why(out: Out) -> None:
    states = {s["state_name"]: s for o in out.json("inspect", CUSTOM)["operators"] for s in o["states"]}
    assert states["first"]["status"] == "decoded"
    assert states["balance"]["status"] == "unsupported"
    assert "golden.MoneySerializer$Snapshot" in states["balance"]["reason"]
    code, text, err = out("inspect", CUSTOM)
    assert (code, err) == (0, "")
    lines = text.splitlines()
    assert next(line for line in lines if line.startswith("  balance ")).endswith("  unsupported [1]")
    assert any(line.startswith("  [1] values of golden.MoneySerializer$Snapshot cannot be decoded: ") for line in lines)


def test_in_a_pipe_inspect_is_as_wide_as_what_it_shows(out: Out) -> None:
    code, text, _ = out("inspect", KINDS)
    assert code == 0
    assert 80 < max(map(len, text.splitlines())) < 400


def test_inspect_says_which_files_are_missing_or_elsewhere(out: Out, tmp_path: Path) -> None:
    """Those of databases as well, of which it reads nothing but their heads."""
    source = Path(snapshot("f23-changes-checkpoint-rocksdb-incremental"))
    shutil.copytree(source.parent, tmp_path / "job")
    path = str(tmp_path / "job" / source.name)
    document = out.json("inspect", path)
    assert document["missing_files"] == []
    moved = [Path(r["found"]) for r in document["relocations"] if Path(r["found"]).parent.name == "shared"]
    assert len(moved) > 3
    code, text, _ = out("inspect", path)
    assert code == 0
    assert "are missing" not in text
    for file in moved[:3]:
        file.unlink()
    missing = out.json("inspect", path, expected=3)["missing_files"]
    assert {name.rpartition("/")[2] for name in missing} == {file.name for file in moved[:3]}
    code, text, _ = out("inspect", path)
    assert code == 3
    (note,) = [line for line in text.splitlines() if "are missing" in line]
    assert note.startswith("Note: 3 of ")
    assert note.endswith("(`stateextract files` lists them).")
    with pytest.raises(MissingFileError, match="a file of the snapshot is missing"):
        make_plan(JobOptions(snapshot=path, output=str(tmp_path / "out"), strict=True))


def test_inspect_as_text(out: Out) -> None:
    code, text, err = out("inspect", KINDS)
    assert (code, err) == (0, "")
    first, second, *_ = text.splitlines()
    assert first.startswith("Native savepoint ")
    assert first.endswith(KINDS)
    assert "2 operators" in second
    assert f"all-kinds  name all kinds by name · id {operator_id('all-kinds')} · parallelism " in text
    line = next(line for line in text.splitlines() if line.split()[:1] == ["map-long"])
    assert line.split() == ["map-long", "map", "string", "map<string,", "int64>", "decoded"]


def test_a_name_that_looks_like_markup_is_shown_as_it_is(out: Out) -> None:
    from stateextract.cli.printing import TextTable, console

    console().show(TextTable(["[bold]a"], [["[red]x[/red]"]]))
    assert [line.strip() for line in out("uid-hash", "x")[1].splitlines()[:2]] == ["[bold]a", "[red]x[/red]"]


# ---- head


def test_head_as_json(out: Out) -> None:
    document = out.json("head", KINDS, "--operator", "all-kinds", "--state", "map-long", "-n", "3")
    assert document["operator_id"] == operator_id("all-kinds")
    assert (document["state_kind"], document["status"], document["complete"]) == ("map", "decoded", False)
    assert [c["name"] for c in document["schema"]] == ["key", "value", "key_group", "subtask"]
    assert len(document["rows"]) == 3
    expected = {}
    for operator in json.loads((DATA / "f20-kinds-native" / "expected.json").read_text())["operators"]:
        for state in operator["states"]:
            if state["name"] == "map-long":
                expected = {row["key"]: dict(row["value"]["$map"]) for row in state["rows"]}
    for row in document["rows"]:
        entries = {entry["key"]: entry["value"] for entry in row["value"]}
        plain = {k.encode("utf-16", "surrogatepass").decode("utf-16", "replace"): v for k, v in expected.items()}
        assert row["key"] in plain
        assert sorted(entries.values()) == sorted(plain[row["key"]].values())


def test_head_reads_all_and_says_so(out: Out) -> None:
    document = out.json("head", KINDS, "--operator", "all-kinds", "--state", "reducing-sum", "-n", "100000")
    expected = json.loads((DATA / "f20-kinds-native" / "expected.json").read_text())
    rows = next(s["rows"] for o in expected["operators"] for s in o["states"] if s["name"] == "reducing-sum")
    assert document["complete"] is True
    assert sorted(row["value"] for row in document["rows"]) == sorted(row["value"] for row in rows)
    code, text, _ = out("head", KINDS, "--operator", "all-kinds", "--state", "reducing-sum", "-n", "100000")
    assert code == 0
    assert text.splitlines()[0].split() == ["key", "value", "key_group", "subtask"]
    assert text.splitlines()[-1] == f"All rows of reducing state reducing-sum: {len(rows)}."


def test_head_flattens(out: Out) -> None:
    arguments = ("head", KINDS, "--operator", "all-kinds", "--state", "map-long", "--flatten", "-n", "5")
    document = out.json(*arguments)
    assert [c["name"] for c in document["schema"]] == ["key", "map_key", "value", "key_group", "subtask"]
    assert len(document["rows"]) == 5


def test_head_of_raw_bytes(out: Out) -> None:
    arguments = ["head", CUSTOM, "--operator", "mixed", "--state", "balance"]
    code, text, err = out(*arguments)
    assert (code, text) == (1, "")
    assert err.startswith("Error: values of golden.MoneySerializer$Snapshot cannot be decoded")
    assert "operator mixed, state balance" in err
    document = out.json(*arguments, "--on-undecodable", "raw", "-n", "2", expected=3)
    assert [c["name"] for c in document["schema"]] == [
        "key", "key_bytes", "key_group", "part", "entries", "bytes", "reason", "subtask",
    ]  # fmt: skip
    assert len(document["rows"]) == 2
    for row in document["rows"]:
        assert row["entries"] >= 1
        assert len(bytes.fromhex(row["bytes"])) > 0


# ---- uid-hash


def test_uid_hash(out: Out) -> None:
    assert out("uid-hash", "fill") == (0, "d88e96ab11470c69328945428bb6813d\n", "")
    assert out("uid-hash", "fill", "commands")[1] == (
        "d88e96ab11470c69328945428bb6813d  fill\n6ac6f82aa61d8b91c5fa851cadcd01e8  commands\n"
    )
    assert out.json("uid-hash", "fill") == [{"operator_uid": "fill", "operator_id": "d88e96ab11470c69328945428bb6813d"}]


# ---- errors and exit codes


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["head"], 2, "Missing argument 'PATH'"),
        (["inspect", "--nonsense", "x"], 2, "No such option"),
        (["nonsense"], 2, "No such command 'nonsense'. Try"),
        (["inspct", "x"], 2, "No such command 'inspct'. Did you mean 'inspect'? Try"),
        (["get", KINDS, "--key", "a", "--key", "b"], 2, "--key is given more than once"),
        (["inspect", "x", "--path-map", "a"], 2, "'a' is not of the form OLD=NEW"),
        (["head", KINDS, "-n", "-1"], 2, "-1 is not in the range"),
        (["inspect", "/no/such/place"], 1, "/no/such/place does not exist"),
        (["head", KINDS, "--operator", "all-kind"], 2, "The nearest are 'all-kinds'"),
        (["head", KINDS, "--operator", "all-kinds"], 2, "--state is missing"),
        (["head", CUSTOM], 2, "the operators with keyed state are: mixed, nested"),
        (["head", KINDS, "--operator", "all-kinds", "--state", "map-lang"], 2, "The nearest are 'map-long'"),
    ],
)
def test_errors_are_one_paragraph(out: Out, arguments: list[str], code: int, words: str) -> None:
    got, text, err = out(*arguments)
    assert (got, text) == (code, "")
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert words.lower() in err.lower()


def test_debug_shows_the_trace(out: Out) -> None:
    code, _, err = out("inspect", "/no/such/place", "--debug")
    assert code == 1
    assert err.startswith("Traceback (most recent call last):")
    assert err.splitlines()[-1].startswith("Error: /no/such/place does not exist")


def test_path_map(out: Out, tmp_path: Path) -> None:
    """A checkpoint of files that are nowhere near it, under another name than it says."""
    source = Path(snapshot("f23-kinds-checkpoint-merged"))
    data = (source / "_metadata").read_bytes()
    stored = {s.path.partition(source.parent.name)[0] for s in parse_metadata(data).streams() if hasattr(s, "path")}
    (folder,) = stored
    nowhere = "/" + "n" * (len(folder) - 2) + "/"
    target = tmp_path / "chk-1"
    target.mkdir()
    (target / "_metadata").write_bytes(data.replace(folder.encode(), nowhere.encode()))
    arguments = ["head", str(target), "--operator", "all-kinds", "--state", "value-long"]
    code, _, err = out(*arguments)
    assert code == 1
    assert "--path-map OLD=NEW" in err
    assert nowhere in err
    document = out.json(*arguments, "--path-map", f"{nowhere}{source.parent.name}={source.parent}")
    assert len(document["rows"]) == 10


# ---- starting


HEAVY = (
    "duckdb", "fsspec", "llvmlite", "multiprocessing", "numba", "pandas", "polars", "pyarrow.compute", "pyarrow.parquet",
    "pyspark", "serializers.kryo.describe", "stateextract.columnar.layout.kryo_plan", "stateextract.restore",
    "stateextract.snapshot.high_availability",
)  # fmt: skip
"""What a short command does without. Where multiprocessing was loaded, Python takes everything apart at the end."""


def loaded_by(*arguments: str) -> set[str]:
    """The modules that the command loads in a process of its own; a failed import does not count."""
    code = "import sys; from stateextract.cli import run; run(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert "Error" not in done.stderr
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["uid-hash", "x"]])
def test_no_library_is_loaded_where_none_is_needed(arguments: list[str]) -> None:
    loaded = loaded_by(*arguments)
    assert "click" in loaded
    assert not loaded & {*HEAVY, "numpy", "pyarrow", "rich", "serializers", "stateextract.api"}


def test_a_command_does_not_load_the_others() -> None:
    commands = {name for name in loaded_by("uid-hash", "x") if name.startswith("stateextract.cli.")}
    assert commands == {"stateextract.cli.common_options", "stateextract.cli.uid_hash"}


MAP_LONG = ["head", KINDS, "--operator", "all-kinds", "--state", "map-long"]


@pytest.mark.parametrize(
    ("arguments", "light"),
    [
        (["inspect", KINDS], {"pyarrow", "rich"}),
        (["inspect", KINDS, "--format", "json"], {"pyarrow"}),
        (MAP_LONG, {"pyarrow", "rich"}),
        ([*MAP_LONG, "--format", "json"], {"pyarrow"}),
        (["get", *MAP_LONG[1:], "--key", "key-1", "--format", "json"], {"pyarrow"}),
    ],
)
def test_nothing_heavy_is_loaded(arguments: list[str], light: set[str]) -> None:
    loaded = loaded_by(*arguments)
    assert loaded & {"pyarrow", "rich"} == light
    assert not loaded & set(HEAVY)


def test_the_program_without_arguments_shows_its_help(out: Out) -> None:
    code, text, err = out()
    assert (code, text) == (2, "")
    assert err.startswith("Usage: stateextract [OPTIONS] COMMAND")
    assert "Error" not in err.splitlines()[0]


def in_shell(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("what", [f"inspect {KINDS} --format json", f"states {KINDS}"])
def test_output_that_nobody_reads(what: str) -> None:
    """``stateextract inspect … | head -1`` must end without a word."""
    command = f"{sys.executable} -m stateextract {what}"
    done = in_shell(f"({command}; echo $? >&2) | exec 0<&-")
    assert (done.stdout, done.stderr) == ("", "141\n")


@pytest.mark.parametrize(
    ("target", "codes", "warning"),
    [("> /dev/full", "0 0 1", "Warning: the result is written, but standard output fails: No space left on device.\n"),
     ("| exec 0<&-", "0 0 141", "")],
)  # fmt: skip
def test_output_that_fails_after_the_result_is_written(tmp_path: Path, target: str, codes: str, warning: str) -> None:
    """The rows are there, so the exit code says so, and a scheduler does not run the job again."""
    program = f"{sys.executable} -m stateextract"
    extract = f"{program} extract examples/orders-checkpoint --state voucher --engine local --output {tmp_path}/rows"
    report = f"{program} report {KINDS} -o {tmp_path}/page.html"
    echoes = "".join(f"({one}; echo -n $? '' >&3) {target}; " for one in (extract, report, f"{program} states {KINDS}"))
    done = in_shell(f"exec 3> {tmp_path}/codes; {echoes}")
    assert (tmp_path / "codes").read_text().split() == codes.split()
    refused = "Error: the system refuses to go on: [Errno 28] No space left on device\n" if warning else ""
    assert (done.stdout, done.stderr) == ("", warning * 2 + refused)
    assert {path.name for path in tmp_path.iterdir()} == {"codes", "rows", "page.html"}
    assert (tmp_path / "rows" / "_SUCCESS").exists()


@pytest.mark.parametrize(("encoding", "form"), [("ascii", "text"), ("latin-1", "csv")])
def test_output_is_utf8_whatever_the_locale(encoding: str, form: str) -> None:
    types = snapshot("f23-types-native")
    command = [sys.executable, "-m", "stateextract", "head", types, "--operator", "types-numbers-and-text"]
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": encoding}
    options = ["--state", "string", "--format", form]
    done = subprocess.run([*command, *options], cwd=ROOT, env=environment, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "🚀 and 👩‍💻" in done.stdout.decode()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["states", KINDS, "--uids"], "the list of uids is not JSON"),
        (["states", KINDS, "--config"], "is not TOML"),
        (["audit", KINDS, "--rules"], "is not TOML"),
    ],
)
def test_files_that_are_nested_too_deeply(out: Out, tmp_path: Path, command: list[str], words: str) -> None:
    file = tmp_path / "file"
    file.write_text(("" if command[-1] == "--uids" else "value = ") + "[" * 100_000)
    code, _, err = out(*command, str(file))
    assert code == 2
    assert words in err


def test_a_key_that_is_nested_too_deeply(out: Out) -> None:
    keys = snapshot("f23-keys-native-snappy")
    code, _, err = out("get", keys, "--operator", "by-tuple", "--state", "sum", "--key", "[" * 100_000)
    assert code == 2
    assert "is not a key of the type struct<f0: int32, f1: string>" in err


def test_an_output_whose_name_is_not_utf8(out: Out, tmp_path: Path) -> None:
    output = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    for command in (["extract", KINDS, "--engine", "local"], ["diff", KINDS, KINDS], ["history", KINDS]):
        code, _, err = out(*command, "--output", output)
        assert code == 2
        assert "the path of the output is not text in UTF-8" in err
    assert list(tmp_path.iterdir()) == []


def test_output_that_cannot_be_written() -> None:
    command = f"{sys.executable} -m stateextract states {KINDS}"
    done = in_shell(f"{command} > /dev/full")
    assert done.returncode == 1
    assert done.stderr == "Error: the system refuses to go on: [Errno 28] No space left on device\n"
    done = in_shell(f"{command} >&-")
    assert (done.returncode, done.stderr) == (0, "")
    done = in_shell(f"{command}/nowhere 2>&-")
    assert (done.returncode, done.stdout) == (1, "")
    done = in_shell(f"{command} 2>&-")
    assert (done.returncode, done.stdout) == (0, in_shell(command).stdout)


LATE = (
    "serializers.avro", "serializers.beam", "serializers.cep", "serializers.connectors", "serializers.flinkx",
    "serializers.javaobjects", "serializers.kryo", "serializers.pyflink", "serializers.statefun", "stateextract.changelog",
    "stateextract.rocksdb", "stateextract.snapshot.kryo_pojos",
)  # fmt: skip
"""Modules that only some snapshots need."""


def test_the_rows_of_a_pojo_load_nothing_of_other_snapshots(tmp_path: Path) -> None:
    write_snapshot(tmp_path, plan_operators(["pojo"], entries=20, max_parallelism=1))
    loaded = loaded_by("get", str(tmp_path), "--key", "nobody", "--format", "json")
    assert "stateextract.state.bodies.heap" in loaded
    assert [name for name in sorted(loaded) if name.startswith(LATE)] == []
