"""``stateextract audit``: rules that hold, rules that do not, and files that cannot be right."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from stateextract.audit.document import Statistics
from stateextract.audit.history import table_of
from stateextract.audit.rules import parse_rules
from stateextract.cli import run
from stateextract.errors import UsageError
from stateextract.report.page_data import page_model
from tests.job.snapshots import UNKNOWN, numbered, write_snapshot

ROOT = Path(__file__).resolve().parents[2]
ORDERS = str(ROOT / "examples" / "orders-checkpoint")


def audit(capsys: pytest.CaptureFixture[str], folder: Path, text: str, snapshot: str = ORDERS) -> tuple[int, Any]:
    (folder / "rules.toml").write_text(text)
    code = run(["audit", snapshot, "--rules", str(folder / "rules.toml"), "--format", "json"])
    out = capsys.readouterr()
    return code, json.loads(out.out) if out.out else out.err


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ('state = "order-ids"\nmax-value-bytes = 323', 324),
        ('state = "order-ids"\nmax-value-bytes = 324', None),
        ("max-rows = 49", 50),
        ("max-rows = 50", None),
        ('state = "vouch*"\nmax-expired-share = 0.5', 0.6),
        ('state = "vouch*"\nmax-expired-share = 0.6', None),
        ('operator = "sales-*"\nstate = "window-contents"\nmax-past = 35', 36),
        ("decoded = true", None),
    ],
)
def test_limits(capsys: pytest.CaptureFixture[str], tmp_path: Path, rule: str, value: Any) -> None:
    settings = '[audit]\nas-of = "2026-11-28T13:43:25.030Z"\nttl = ["voucher=12h"]\n'
    code, document = audit(capsys, tmp_path, f"{settings}[[rules]]\n{rule}\n")
    found = [v["value"] for r in document["rules"] for v in r["violations"]]
    assert (code, found, document["holds"]) == ((0, [], True) if value is None else (5, [value], False))


def test_skew_has_one_meaning_for_each_word(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Of 8 rows, 7 are in key group 0, and one in key group 4, the other subtask's: in all commands the same two figures."""
    rows = {0: [(key, key) for key in range(7)], 4: [(7, 7)]}
    folder = str(write_snapshot(tmp_path / "s", {"op": {"a": rows}}))
    assert run(["stats", folder, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (state,) = document["operators"][0]["states"]
    found = {of: state["skew"][of]["max_over_mean"] for of in ("key_groups", "subtasks")}
    assert found == {"key_groups": 7.0, "subtasks": 1.75}
    assert run(["stats", folder]) == 0
    shown = capsys.readouterr().out.splitlines()
    head = next(n for n, line in enumerate(shown) if line.startswith("operator"))
    columns = dict(zip(re.split(r"  +", shown[head]), re.split(r"  +", shown[head + 1]), strict=True))
    assert (columns["key group skew"], columns["subtask skew"]) == ("7.0", "1.8")
    again = Statistics.from_dict(document)
    (kept,) = table_of([again]).to_pylist()
    assert (kept["key_group_skew"], kept["subtask_skew"]) == (7.0, 1.75)
    drawn = page_model([again])["states"][0]
    assert (drawn["key_group_skew"]["max_over_mean"], drawn["subtask_skew"]["max_over_mean"]) == (7.0, 1.75)
    for rule, value in (
        ("max-key-group-skew", 7.0), ("max-subtask-skew", 1.75), ("max-key-group-top-percent-share", 0.875),
    ):  # fmt: skip
        assert audit(capsys, tmp_path, f"[[rules]]\n{rule} = {value}\n", folder)[0] == 0
        code, document = audit(capsys, tmp_path, f"[[rules]]\n{rule} = {value - 0.01}\n", folder)
        assert (code, [v["value"] for r in document["rules"] for v in r["violations"]]) == (5, [value])


def test_a_query_gives_rows_where_it_does_not_hold(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rule = "[[rules]]\nstate = 'voucher'\nsql = \"SELECT key FROM state WHERE value = '{}'\"\n"
    assert audit(capsys, tmp_path, rule.format("none"))[0] == 0
    code, document = audit(capsys, tmp_path, rule.format("WELCOME-179"))
    assert code == 5
    assert document["rules"][0]["violations"][0]["rows"] == [{"key": "elif"}]


def test_how_many_rows_were_checked_and_how_many_broke(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = write_snapshot(tmp_path / "s", {"op": {"a": numbered(30), "b": numbered(4)}})
    text = '[[rules]]\nname = "few"\nstate = "a"\nsql = "SELECT key FROM state WHERE value >= {}"\n'
    code, document = audit(capsys, tmp_path, text.format(120), str(folder))
    (rule,) = document["rules"]
    (violation,) = rule["violations"]
    assert (code, rule["states"], rule["rows"]) == (5, 1, 30)
    assert (violation["what"], violation["row_count"], len(violation["rows"])) == ("the query returns 18 rows", 18, 5)
    assert run(["audit", str(folder), "--rules", str(tmp_path / "rules.toml")]) == 5
    shown = capsys.readouterr().out.splitlines()
    assert shown[:2] == ["rule  status  states  rows  rows that break it", "few   broken       1    30                  18"]
    assert "few: op / a: the query returns 18 rows" in shown
    assert shown[-1].startswith("0 of 1 rule holds: ")
    code, document = audit(capsys, tmp_path, text.format(290), str(folder))
    assert document["rules"][0]["violations"][0]["what"] == "the query returns 1 row"


def test_committed_schemas(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["schema", ORDERS, "--format", "json"]) == 0
    schemas = json.loads(capsys.readouterr().out)
    (tmp_path / "schemas.json").write_text(json.dumps(schemas))
    rule = '[[rules]]\nschema = "schemas.json"\n'
    assert audit(capsys, tmp_path, rule)[0] == 0
    voucher = next(s for s in schemas if s["state_name"] == "voucher")
    next(c for c in voucher["columns"] if c["name"] == "value")["arrow"] = "int64"
    (tmp_path / "schemas.json").write_text(json.dumps(schemas))
    code, document = audit(capsys, tmp_path, rule)
    (violation,) = document["rules"][0]["violations"]
    assert (code, violation["state_name"], violation["what"]) == (5, "voucher", "column value was int64, and is string")


def test_what_is_not_known_does_not_hold(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A state that cannot be decoded has no rows that one could count: that they are few is not said."""
    folder = write_snapshot(tmp_path / "s", {"op": {"a": numbered(8), "b": numbered(8)}}, values={"b": UNKNOWN})
    for rule in ("max-rows = 100", "sql = 'SELECT 1 FROM state WHERE false'"):
        code, document = audit(capsys, tmp_path, f"[[rules]]\n{rule}\n", str(folder))
        (violation,) = document["rules"][0]["violations"]
        assert (code, violation["state_name"]) == (5, "b")
        assert violation["what"].startswith("it cannot be judged: it is skipped: ")
    code, document = audit(capsys, tmp_path, '[[rules]]\nstate = "voucher"\nmax-expired-share = 0.1\n')
    (violation,) = document["rules"][0]["violations"]
    assert (code, violation["what"]) == (5, "it cannot be judged: no time to live is given for it")
    assert "the operators of the job are not known" in audit(capsys, tmp_path, "[[rules]]\nowned = true\n")[1]
    for sql in ("CREATE TABLE t (a INT)", "SELECT 1 WHERE false; SELECT 2", ""):
        said = audit(capsys, tmp_path, f"[[rules]]\ndecoded = true\nstate = 'voucher'\nsql = '{sql}'\n")
        assert (said[0], "the sql of a rule is not a query" in said[1]) == (2, True)


def test_a_committed_state_that_is_gone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["schema", ORDERS, "--format", "json"]) == 0
    schemas = json.loads(capsys.readouterr().out)
    more = {**next(s for s in schemas if s["state_name"] == "voucher"), "state_name": "vouchers"}
    (tmp_path / "schemas.json").write_text(json.dumps([*schemas, more]))
    code, document = audit(capsys, tmp_path, '[[rules]]\nschema = "schemas.json"\n')
    (violation,) = document["rules"][0]["violations"]
    assert (code, violation["operator_label"], violation["state_name"]) == (5, "orders-by-customer", "vouchers")
    assert violation["what"] == "the snapshot does not have this state"
    assert audit(capsys, tmp_path, '[[rules]]\nstate = "last-*"\nschema = "schemas.json"\n')[0] == 0


def test_owned_and_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "uids").write_text("orders-by-customer\n")
    code, document = audit(capsys, tmp_path, '[audit]\nuids = "uids"\n[[rules]]\nowned = true\n')
    assert (code, [v["operator_label"] for v in document["rules"][0]["violations"]]) == (5, ["sales-per-hour"])
    code, document = audit(capsys, tmp_path, '[[rules]]\nstate = "gone"\nmax-rows = 1\n')
    assert (code, document["rules"][0]["states"]) == (5, 0)


def test_owned_by_a_compiled_plan(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Operators whose node is not in the plan any more."""
    sql = ROOT / "tests" / "golden" / "data" / "f23-sqlcore-canonical"
    text = gzip.decompress((sql / "plan.json.gz").read_bytes()).decode()
    (savepoint,) = sql.glob("savepoint-*")
    (tmp_path / "rules.toml").write_text("[[rules]]\nowned = true\n")
    other = re.sub(r'("id"|"source"|"target"):154\b', r"\1:9154", text)
    for plan, code, unowned in ((text, 0, []), (other, 5, ["154_group-aggregate"])):
        (tmp_path / "plan.json").write_text(plan)
        command = ["audit", str(savepoint), "--rules", str(tmp_path / "rules.toml"), "--plan", str(tmp_path / "plan.json")]
        assert run([*command, "--format", "json"]) == code
        (rule,) = json.loads(capsys.readouterr().out)["rules"]
        assert [v["operator_label"] for v in rule["violations"]] == unowned


def test_states_that_are_not_decoded(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = write_snapshot(tmp_path / "s", {"op": {"a": numbered(8), "b": numbered(8)}}, values={"b": UNKNOWN})
    code, document = audit(capsys, tmp_path, "[[rules]]\ndecoded = true\n", str(folder))
    (violation,) = document["rules"][0]["violations"]
    assert (code, violation["state_name"]) == (5, "b")
    assert violation["what"].startswith("value is skipped: values of com.example.")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("no JSON", "is not JSON: Expecting value"),
        *((content, "a file of schemas is none") for content in ('{"a": 1}', '[{"operator_id": "x"}]', "5", '"x"')),
    ],
)
def test_files_that_are_no_schemas(capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "schemas.json").write_text(content)
    code, error = audit(capsys, tmp_path, '[[rules]]\nschema = "schemas.json"\n')
    assert (code, message in error) == (2, True)


def test_a_state_that_was_not_committed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["schema", ORDERS, "--format", "json"]) == 0
    schemas = [s for s in json.loads(capsys.readouterr().out) if s["state_name"] != "voucher"]
    (tmp_path / "schemas.json").write_text(json.dumps(schemas))
    code, document = audit(capsys, tmp_path, '[[rules]]\nschema = "schemas.json"\n')
    found = [(v["state_name"], v["what"]) for v in document["rules"][0]["violations"]]
    assert (code, found) == (5, [("voucher", "the committed schemas do not have this state")])


def _job(folder: Path, text: str) -> str:
    (folder / "job.toml").write_text(text)
    return str(folder / "job.toml")


def test_rules_in_the_job_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """They are about what the job file selects; --rules wins over them; files are looked for beside them."""
    (tmp_path / "uids").write_text("orders-by-customer\n")
    wish = '[types]\n"orders-by-customer/voucher/value" = "string"\n'
    rules = '[audit]\nuids = "uids"\n[[rules]]\nname = "few"\nmax-rows = 49\n[[rules]]\nowned = true\n'
    job = _job(tmp_path, '[input]\nstate = ["window-contents", "voucher"]\n' + wish + rules)
    assert run(["audit", ORDERS, "--config", job, "--format", "json"]) == 5
    few, owned = json.loads(capsys.readouterr().out)["rules"]
    assert (few["name"], few["states"], few["holds"]) == ("few", 2, True), "no timers, of which there are 50"
    assert [v["operator_label"] for v in owned["violations"]] == ["sales-per-hour"]

    (tmp_path / "rules.toml").write_text("[[rules]]\nmax-rows = 35\n")
    assert run(["audit", ORDERS, "--config", job, "--rules", str(tmp_path / "rules.toml"), "--format", "json"]) == 5
    (only,) = json.loads(capsys.readouterr().out)["rules"]
    assert [(v["state_name"], v["value"]) for v in only["violations"]] == [("window-contents", 36)]

    assert run(["states", ORDERS, "--config", job]) == 0, "other commands leave them alone"
    capsys.readouterr()


def test_no_rules(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["audit", ORDERS]) == 2
    assert "there are no rules" in capsys.readouterr().err
    assert run(["audit", ORDERS, "--config", _job(tmp_path, "[input]\n")]) == 2
    assert "job.toml has no rules" in capsys.readouterr().err
    assert run(["audit", ORDERS, "--config", _job(tmp_path, "[[rules]]\nmax-rows = 1\n[inptu]\n")]) == 2
    assert "section 'inptu' is unknown" in capsys.readouterr().err


def test_a_committed_state_that_is_not_selected_is_not_gone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["schema", ORDERS, "--format", "json"]) == 0
    (tmp_path / "schemas.json").write_text(capsys.readouterr().out)
    job = _job(tmp_path, '[input]\nstate = ["voucher"]\n[[rules]]\nschema = "schemas.json"\n')
    assert run(["audit", ORDERS, "--config", job]) == 0
    assert "1 of 1 rule holds" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", "is not TOML"),
        ("", "has no rules"),
        ("[[rules]]\nname = 'a'", "demands nothing"),
        ("[[rules]]\nmax-row = 1", "'max-row' is unknown"),
        ("[[rules]]\nmax-rows = -1", "is not a number"),
        ("[[rules]]\ndecoded = 1", "decoded is 1"),
        ("[audit]\nx = 1\n[[rules]]\nmax-rows = 1", "'x' is unknown"),
        ("[adit]\n[[rules]]\nmax-rows = 1", "'adit' is unknown"),
        ("audit = 1\n[[rules]]\nmax-rows = 1", "'audit' is 1"),
    ],
)
def test_what_cannot_be_right(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_rules(text)
