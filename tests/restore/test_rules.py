"""The rules by themselves, where the measured restores have no case, and the inputs that are no snapshot."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from serializers.avro import AVRO_SNAPSHOTS
from serializers.avroschema import parse_schema
from serializers.containers import LIST_SNAPSHOT, MAP_SNAPSHOT
from serializers.pojo import POJO_SNAPSHOT
from serializers.registry import KRYO_SNAPSHOT, SerializerSnapshot
from serializers.scalars import BASE
from serializers.sql import ROW_DATA_SNAPSHOT
from serializers.ttl import TTL_AWARE_SNAPSHOT, TTL_SNAPSHOTS
from serializers.tuples import ENUM_SNAPSHOT, RUNTIME
from stateextract import open_snapshot
from stateextract.errors import FormatError, UsageError
from stateextract.files.filesystem import Store
from stateextract.metadata.model import OperatorState
from stateextract.outcome import Verdict
from stateextract.restore.answers import Answer, Backend, Phase, Release
from stateextract.restore.avro_rules import Resolution
from stateextract.restore.compare_serializers import Comparer
from stateextract.restore.derive import upgraded
from stateextract.restore.job_classes import JobClasses
from stateextract.restore.removed import STATES
from stateextract.restore.two_jobs import JobOperator, Jobs, NewJob, StateCheck, default_max_parallelism, release_of
from stateextract.restore.whole_job import check_jobs
from stateextract.snapshot.headers import StateScope
from stateextract.state.header import NAMESPACE, VALUE, StateMeta

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "golden" / "data"
ORDERS = str(ROOT / "examples" / "orders-checkpoint")
FLINK_23 = Release(2, 3)


def snapshot(path: Path) -> str:
    return str(next(path.rglob("_metadata")).parent)


def simple(name: str) -> SerializerSnapshot:
    return SerializerSnapshot(f"{BASE}{name}Serializer${name}SerializerSnapshot", 3)


INT, LONG, STRING = simple("Int"), simple("Long"), simple("String")


def pojo(fields: dict[str, SerializerSnapshot], declared: dict[str, str] | None = None) -> SerializerSnapshot:
    name = "x.P"
    details = {
        "class": name, "fields": tuple(fields), "registered": (), "other": (),
        "declared": tuple((declared or {}).get(field, name) for field in fields),
    }  # fmt: skip
    return SerializerSnapshot(POJO_SNAPSHOT, 2, details=details, nested=tuple(fields.values()))


def compared(
    old: SerializerSnapshot, new: SerializerSnapshot, release: Release | None = FLINK_23, backend: Backend = "rocksdb"
) -> tuple[Answer, Verdict]:
    comparer = Comparer(backend, release)
    return comparer.compare(new, old, "value"), comparer.findings.verdict


def enum(*constants: str) -> SerializerSnapshot:
    return SerializerSnapshot(ENUM_SNAPSHOT, 3, details={"class": "x.E", "constants": constants})


def row(*parts: SerializerSnapshot) -> SerializerSnapshot:
    return SerializerSnapshot(RUNTIME + "RowSerializer$RowSerializerSnapshot", 3, 4, {"row_kind": True}, parts)


def test_scalars_are_not_widened() -> None:
    assert compared(INT, INT) == (Answer.AS_IS, Verdict.AS_IS)
    assert compared(INT, LONG) == (Answer.INCOMPATIBLE, Verdict.REFUSED)


def test_fields_are_found_in_the_class_that_declares_them_and_above() -> None:
    old = pojo({"a": INT}, {"a": "x.P"})
    assert compared(old, pojo({"a": INT}, {"a": "x.Above"}))[0] is Answer.AS_IS, "it moved up"
    moved_down = compared(pojo({"a": INT}, {"a": "x.Above"}), old)
    assert moved_down == (Answer.MIGRATION, Verdict.LOSES)
    between = compared(pojo({"a": INT}, {"a": "x.A"}), pojo({"a": INT}, {"a": "x.B"}))
    assert between == (Answer.UNKNOWN, Verdict.UNKNOWN), "whether A extends B, only class files tell"


def test_the_worst_part_decides() -> None:
    old, added = pojo({"a": INT}), pojo({"a": INT, "b": LONG})
    assert compared(old, added) == (Answer.MIGRATION, Verdict.MIGRATED)
    for wrap in (LIST_SNAPSHOT, RUNTIME + "TupleSerializerSnapshot"):
        before, after = (SerializerSnapshot(wrap, 3, 1, nested=(part,)) for part in (old, added))
        assert compared(before, after)[0] is Answer.MIGRATION
    maps = [SerializerSnapshot(MAP_SNAPSHOT, 3, 1, nested=(key, part)) for key, part in ((INT, old), (LONG, added))]
    assert compared(*maps) == (Answer.INCOMPATIBLE, Verdict.REFUSED)


def test_enums_may_get_constants_and_never_lose_one() -> None:
    assert compared(enum("A", "B"), enum("A", "B"))[0] is Answer.AS_IS
    assert compared(enum("A", "B"), enum("B", "C", "A"))[0] is Answer.RECONFIGURED
    assert compared(enum("A", "B"), enum("A")) == (Answer.INCOMPATIBLE, Verdict.REFUSED)


def test_the_key_of_a_query_without_a_key_is_a_row_without_types() -> None:
    """As of ``SELECT COUNT(*)``, ``LIMIT`` and cross joins."""
    none = SerializerSnapshot(ROW_DATA_SNAPSHOT, 3, details={"types": ()})
    assert compared(none, none) == (Answer.AS_IS, Verdict.AS_IS)
    null_type = b"\xac\xed\x00\x05\x70"
    one = SerializerSnapshot(ROW_DATA_SNAPSHOT, 3, details={"types": (null_type,)}, nested=(INT,))
    assert compared(none, one)[1] is not Verdict.AS_IS


def test_rows_do_not_record_names() -> None:
    assert compared(row(INT, STRING), row(INT, STRING))[1] is Verdict.AS_IS
    assert compared(row(INT, INT), row(INT, INT))[1] is Verdict.UNKNOWN
    assert compared(row(INT), row(INT, STRING))[1] is Verdict.REFUSED


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        (Release(1, 20), Verdict.REFUSED),
        (Release(2, 1), Verdict.UNKNOWN),
        (Release(2), Verdict.UNKNOWN),
        (None, Verdict.UNKNOWN),
        (FLINK_23, Verdict.AS_IS),
    ],
)
def test_time_to_live_by_release(release: Release | None, expected: Verdict) -> None:
    lasting = SerializerSnapshot(TTL_SNAPSHOTS[0], 3, 2, nested=(LONG, INT))
    aware = SerializerSnapshot(TTL_AWARE_SNAPSHOT, 1, details={"ttl": False}, nested=(INT,))
    for old, new in ((INT, lasting), (lasting, INT), (lasting, aware)):
        answer, verdict = compared(old, new, release)
        assert verdict is expected
        assert expected is not Verdict.AS_IS or answer is Answer.MIGRATION
    assert compared(INT, aware, release)[0] is Answer.AS_IS


def test_snapshots_of_strangers_are_not_judged() -> None:
    own = SerializerSnapshot("com.acme.MoneySnapshot", 1)
    assert compared(own, own) == (Answer.UNKNOWN, Verdict.UNKNOWN)
    assert compared(own, INT)[1] is Verdict.REFUSED


def record(*fields: object, name: str = "R") -> str:
    return json.dumps({"type": "record", "name": name, "fields": fields})


X, Y = {"name": "x", "type": "int"}, {"name": "y", "type": "string"}
Z = {"name": "z", "type": "int", "default": 7}


@pytest.mark.parametrize(
    ("old", "new", "readable"),
    [
        (record(X, Y), record(Y, X), True),
        (record(X, Y), record(X), True),
        (record(X), record(X, Z), True),
        (record(X), record(X, Y), False),
        (record(X), record({"name": "x", "type": "long"}), True),
        (record({"name": "x", "type": "long"}), record(X), False),
        (record(X), record({"name": "x", "type": ["null", "int"]}), True),
        (record({"name": "x", "type": ["null", "int"]}), record(X), False),
        (record(Y), record({"name": "yy", "type": "string", "aliases": ["y"]}), True),
        (record(X), record(X, name="S"), False),
        (record(X), json.dumps({**json.loads(record(X, name="S")), "aliases": ["R"]}), True),
        (
            '{"type": "enum", "name": "E", "symbols": ["A", "B"]}',
            '{"type": "enum", "name": "E", "symbols": ["A"]}',
            False,
        ),
        (
            '{"type": "enum", "name": "E", "symbols": ["A", "B"]}',
            '{"type": "enum", "name": "E", "symbols": ["A"], "default": "A"}',
            True,
        ),
        ('{"type": "fixed", "name": "F", "size": 4}', '{"type": "fixed", "name": "F", "size": 5}', False),
        ('{"type": "array", "items": "int"}', '{"type": "array", "items": "string"}', False),
    ],
)
def test_avro_resolves_schemas(old: str, new: str, readable: bool) -> None:
    assert (Resolution().problem(parse_schema(new), parse_schema(old), "") is None) is readable


def avro(schema: str, name: str = "x.R") -> SerializerSnapshot:
    return SerializerSnapshot(AVRO_SNAPSHOTS[0], 3, details={"class": name, "schema": schema})


def test_generic_records_are_written_by_position() -> None:
    generic = "org.apache.avro.generic.GenericRecord"
    for old, new, rocksdb, hashmap in (
        (record(X), record(X, Z), Verdict.REFUSED, Verdict.LOSES),
        (record(X, Y), record(Y, X), Verdict.REFUSED, Verdict.LOSES),
        (record(X, Y), record(X), Verdict.AS_IS, Verdict.AS_IS),
        (record(X, Z), record(Z, X), Verdict.LOSES, Verdict.LOSES),
    ):
        pair = avro(old, generic), avro(new, generic)
        assert compared(*pair, backend="rocksdb") == (Answer.MIGRATION, rocksdb)
        assert compared(*pair, backend="hashmap") == (Answer.MIGRATION, hashmap)
        assert compared(avro(old), avro(new)) == (Answer.MIGRATION, Verdict.AS_IS), "specific records are not"
    for outer in ("array", "map"):  # and wherever records are inside of others
        pair = tuple(
            avro(json.dumps({
                "type": "record", "name": "Outer",
                "fields": [{"name": "l", "type": {"type": outer, "items": inner, "values": inner}}],
            }), generic)
            for inner in map(json.loads, (record(X, Y), record(Y, X)))
        )  # fmt: skip
        assert compared(*pair, backend="rocksdb") == (Answer.MIGRATION, Verdict.REFUSED)
    documented = avro(json.dumps({**json.loads(record(X)), "doc": "!"}), generic)
    assert compared(avro(record(X), generic), documented)[0] is Answer.AS_IS


def test_lists_of_pojos_have_a_serializer_of_their_own_in_flink_2() -> None:
    old = pojo({"a": INT, "l": SerializerSnapshot(KRYO_SNAPSHOT, 2, details={"class": "java.util.List"})})
    assert compared(old, upgraded(old)) == (Answer.INCOMPATIBLE, Verdict.REFUSED)
    assert upgraded(pojo({"a": INT})) == pojo({"a": INT})


@pytest.mark.parametrize(
    ("parallelism", "most"), [(1, 128), (85, 128), (86, 256), (6, 128), (200, 512), (30_000, 32_768)]
)
def test_the_default_of_the_maximum_parallelism(parallelism: int, most: int) -> None:
    assert default_max_parallelism(parallelism) == most


def test_releases() -> None:
    assert (release_of("2.3"), release_of("1.20.5"), release_of("2")) == (FLINK_23, Release(1, 20), Release(2))
    assert [release_of(text) for text in ("", "v2", "2.x", "1.2.3.4", "2.")] == [None] * 5


def test_a_jar_that_is_none(tmp_path: Path) -> None:
    bad = tmp_path / "bad.jar"
    bad.write_bytes(b"PK\x05\x06")
    with pytest.raises(FormatError, match="the jar cannot be read"):
        JobClasses([str(bad)], Store())


# ---- what Flink 2 does not have


def blocked(scope: StateScope, name: str, value: SerializerSnapshot, release: Release) -> StateCheck:
    """The check of a state of Flink 1 in the same job on another release."""
    kind = "UNION" if scope == "operator" else "VALUE"
    meta = StateMeta(name, "OPERATOR" if scope == "operator" else "KEY_VALUE", kind, {}, {VALUE: value, NAMESPACE: STRING})
    side = JobOperator(OperatorState("0" * 32, None, None, 1, 128), [LONG], {(scope, meta.backend_type, name): [meta]})
    (found,) = check_jobs(Jobs([side], NewJob(release=release, same_job=True), from_flink_1=True)).states
    return found


def generic(name: str) -> SerializerSnapshot:
    return SerializerSnapshot(KRYO_SNAPSHOT, 2, details={"class": name})


FLINK = "org.apache.flink."


@pytest.mark.parametrize(
    ("snapshot", "reason"),
    [
        (generic(FLINK + "streaming.connectors.kafka.internals.KafkaTopicPartition"), "FlinkKafkaConsumer"),
        (generic(FLINK + "streaming.connectors.kinesis.model.StreamShardMetadata"), "FlinkKinesisConsumer"),
        (generic(FLINK + "streaming.connectors.fs.bucketing.BucketingSink$State"), "BucketingSink"),
        (SerializerSnapshot(FLINK + "connector.jdbc.xa.XaSinkStateSimpleTypeSerializerSnapshot", 1), "JdbcSink"),
        (SerializerSnapshot(FLINK + "api.scala.typeutils.UnitSerializer$UnitSerializerSnapshot", 3), "the Scala API"),
        (
            SerializerSnapshot(FLINK + "api.common.typeutils.base.GenericArraySerializerConfigSnapshot", 1),
            "a release before Flink 1.8",
        ),
    ],
)
def test_classes_that_flink_2_does_not_have(snapshot: SerializerSnapshot, reason: str) -> None:
    tuple_ = SerializerSnapshot(RUNTIME + "TupleSerializerSnapshot", 3, 1, {"class": "t"}, (snapshot, LONG))
    for value in (snapshot, tuple_):
        found = blocked("operator", "offsets", value, FLINK_23)
        assert (found.verdict, found.phase) == (Verdict.REFUSED, Phase.RESTORE)
        assert reason in found.reason
        assert "extract" in found.advice
        assert all("Flink 2" not in remark.reason for remark in blocked("operator", "o", value, Release(1, 20)).remarks)


def test_the_table_connector_of_kafka_stays() -> None:
    kept = generic(FLINK + "streaming.connectors.kafka.table.Anything")
    assert "Flink 2 does not have" not in blocked("operator", "o", kept, FLINK_23).reason


@pytest.mark.parametrize("name", STATES)
def test_states_of_functions_that_flink_2_does_not_have(name: str) -> None:
    """Plain types show nothing but the name: what replaces the function ignores the state."""
    found = blocked("operator", name, LONG, FLINK_23)
    assert (found.verdict, STATES[name].what in found.reason) == (Verdict.UNKNOWN, True)
    assert f"use {STATES[name].instead}" in found.advice
    assert blocked("operator", name, LONG, Release(1, 20)).verdict is Verdict.AS_IS
    assert blocked("keyed", name, LONG, FLINK_23).verdict is Verdict.AS_IS, "a state of the job itself"


# ---- plans and uids

SQL = DATA / "f23-sqlcore-canonical"


@pytest.fixture
def plan(tmp_path: Path) -> Callable[[str, str], str]:
    """The golden job's plan with a text replaced."""

    def write(old: str, new: str) -> str:
        text = gzip.decompress((SQL / "plan.json.gz").read_bytes()).decode()
        assert old in text
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.json"
        path.write_text(text.replace(old, new))
        return str(path)

    return write


def verdicts(old: str, new: str) -> dict[str, set[Verdict]]:
    """The verdicts of each operator, by its name in Flink, under a new plan."""
    report = open_snapshot(snapshot(SQL), plan=old).check(plan=new, flink="2.3", backend="rocksdb")
    found: dict[str, set[Verdict]] = {}
    for state in report.states:
        found.setdefault(state.operator_label, set()).add(state.verdict)
    return found


def test_equal_plans_say_that_columns_mean_the_same(plan: Callable[[str, str], str]) -> None:
    same = plan("$SUM$1", "$SUM$1")
    every = verdicts(same, same)
    assert len(every) > 5
    assert set().union(*every.values()) == {Verdict.AS_IS}
    changed = verdicts(same, plan("$SUM$1", "$MAX$1"))
    doubtful = {label for label, found in changed.items() if found != {Verdict.AS_IS}}
    assert doubtful, "an aggregate of the same type is not the same"
    assert doubtful < set(every), "what is before it is the same"
    assert set().union(*(changed[label] for label in doubtful)) <= {Verdict.UNKNOWN, Verdict.AS_IS}


def test_operators_that_no_uid_leads_to() -> None:
    orders = open_snapshot(ORDERS)
    kept = {"uids": ["orders-by-customer"], "flink": "2.3"}
    for allowed, expected in ((False, Verdict.REFUSED), (True, Verdict.LOSES)):
        report = orders.check(**kept, allow_non_restored=allowed)  # type: ignore[arg-type]
        found = {s.verdict for s in report.states if s.operator_label == "sales-per-hour"}
        assert found == {expected}
        assert {s.phase for s in report.states if s.operator_label == "sales-per-hour"} == {Phase.SUBMIT}
    kinds = open_snapshot(snapshot(DATA / "f120-kinds-checkpoint"))
    assert {s.verdict for s in kinds.check(uids=["none"]).states} == {Verdict.UNKNOWN}, "Flink 1 stores no uids"


def test_parallelism() -> None:
    orders = open_snapshot(ORDERS)
    most = orders.operators[0].max_parallelism
    for options, expected in (
        ({"max_parallelism": most}, Verdict.AS_IS),
        ({"max_parallelism": 0}, Verdict.AS_IS),
        ({"max_parallelism": most + 1}, Verdict.REFUSED),
        ({"parallelism": most}, Verdict.AS_IS),
        ({"parallelism": most + 1}, Verdict.REFUSED),
    ):
        report = orders.check(same_job=True, **options)  # type: ignore[arg-type]
        assert report.verdict is expected, options


def test_the_same_job_on_flink_2() -> None:
    scala = open_snapshot(snapshot(DATA / "f120-scala-checkpoint"))
    assert scala.check(same_job=True, flink="1.20").verdict is Verdict.AS_IS
    blocked = scala.check(same_job=True, flink="2.3")
    refused = [state for state in blocked.states if state.verdict is Verdict.REFUSED]
    assert refused
    assert all("the Scala API" in state.reason and state.phase is Phase.RESTORE for state in refused)
    assert all(state.rows is not None and state.size for state in refused), "what is behind it"


def test_contradictions_are_refused() -> None:
    orders = open_snapshot(ORDERS)
    with pytest.raises(UsageError, match="old one and another") as error:
        orders.check(orders, same_job=True)
    assert error.value.advice == "leave same_job out"
    with pytest.raises(UsageError) as error:
        orders.check(same_job=True, same_declarations=True)
    assert error.value.advice == "leave same_job out"
    with pytest.raises(UsageError, match="flink cannot be 'two'"):
        orders.check(flink="two")
    with pytest.raises(UsageError, match="backend cannot be 'forst'"):
        orders.check(backend="forst")  # type: ignore[arg-type]


def test_advice_is_in_the_words_of_python() -> None:
    report = open_snapshot(ORDERS).check()
    assert {state.verdict for state in report.states} == {Verdict.UNKNOWN}
    assert all("--" not in state.reason + state.advice for state in report.states)
    assert "(against)" in report.states[0].advice
