"""Options of the sources, what they choose, and what is said where they cannot be right."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import ArrayType, IntegerType, LongType, StringType, StructField, StructType

from stateextract.errors import SnapshotNotFoundError, UndecodableError, UnsupportedError, UsageError, ValueRefusedError
from stateextract.metadata.model import SubtaskState
from stateextract.options import JobOptions
from stateextract.spark.data_sources import FlinkStateMetadataSource, FlinkStateSource
from stateextract.spark.source_options import (
    METADATA,
    METADATA_OPTIONS,
    STATE,
    STATE_OPTIONS,
    job_options,
    parse_options,
)
from tests.golden.test_rows import DATA
from tests.golden.test_rows import load as expected
from tests.job.snapshots import UNKNOWN, numbered, write_snapshot
from tests.spark.sources import load, load_metadata, make
from tests.state.keyed_writer import FORMS, Entry, Keyed, State, i64, write
from tests.writers import flink_writer as flink

ORDERS = Path(__file__).resolve().parents[2] / "examples" / "orders-checkpoint"
CUSTOMERS = {"operatorUid": "orders-by-customer"}


def values(**options: str) -> dict[str, Any]:
    return parse_options({"path": "/p", **options}, STATE_OPTIONS, STATE)


# ---- reading options


def test_defaults_are_those_of_the_job() -> None:
    job = JobOptions(snapshot="/p")
    assert job_options(values(), STATE_OPTIONS) == job
    assert job_options(parse_options({"path": "/p"}, METADATA_OPTIONS, METADATA), METADATA_OPTIONS) == job
    own = {o.name: o.default for o in STATE_OPTIONS if not o.job}
    assert own == {
        "path": "", "operatorUid": "", "operatorId": "", "operatorName": "", "stateName": "", "stateScope": "",
        "readTimers": False, "wide": False, "includeMetadata": True, "keys": None, "keyGroups": (), "pushFilters": False,
        "columns": (), "strict": False,
    }  # fmt: skip


def test_values_of_every_kind() -> None:
    found = values(
        READTIMERS="TRUE", maps="List", splitBytes="2 MiB", headerThreads="4", columns=" key , value ", classpath='["a,b"]',
        pathMap="a=b,c=d", types="value.amount=decimal(38,10); key = int64", kryoClasses='[{"name": "A"}]', names="n.toml",
    )  # fmt: skip
    assert (found["readTimers"], found["maps"], found["splitBytes"], found["headerThreads"]) == (True, "list", 2 << 20, 4)
    assert (found["columns"], found["classpath"]) == (("key", "value"), ("a,b",))
    assert found["types"] == ("value.amount=decimal(38,10)", "key = int64")
    assert values(types='{"value": "json"}')["types"] == ("value=json",)
    assert values(keyGroups=" 7,1-3, 2 ", keys='["a", [1]]')["keyGroups"] == (1, 2, 3, 7)
    assert values(keys='["a", [1]]')["keys"] == ("a", [1])
    assert found["kryoClasses"] == ('{"name": "A"}',)
    job = job_options(found, STATE_OPTIONS)
    assert job.path_pairs() == (("a", "b"), ("c", "d"))
    assert (job.split_bytes, job.maps, job.kryo_class, job.names) == (2 << 20, "list", ('{"name": "A"}',), "n.toml")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"statename": "a", "statNam": "b"}, r"flink-state has no option 'statNam'\. The nearest is stateName\."),
        ({"zzzz": "b"}, "has no option 'zzzz'. There are path, operatorUid, operatorId, operatorName, stateName"),
        ({"wide": "yes"}, "the option wide is 'yes'; expected true or false"),
        (
            {"strings": "replac"},
            "the option strings is 'replac'; expected one of replace, fail, binary. The nearest is",
        ),
        ({"timestamps": "nanoseconds"}, "expected one of floor, fail"),
        ({"onUndecodable": "raw"}, "expected one of fail, skip"),
        ({"splitBytes": "many"}, "expected a size such as '128 MB'"),
        ({"splitBytes": "0"}, "at least 1"),
        ({"headerThreads": "0"}, "expected a whole number, at least 1"),
        ({"classpath": "[1]"}, "expected a JSON array of strings"),
        ({"classpath": "[a"}, "is not JSON"),
        ({"kryoClasses": "{}"}, "expected a JSON array of objects"),
        ({"types": "value"}, "expected PATH=TYPE, separated by semicolons"),
        ({"keys": "elif"}, "the option keys is not JSON"),
        ({"keys": '"elif"'}, "expected a JSON array such as"),
        ({"keyGroups": "7-3"}, "expected numbers and ranges such as 3,16-31, below 32768"),
        ({"keyGroups": "1-40000"}, "expected numbers and ranges"),
        ({"keyGroups": "a"}, "expected numbers and ranges"),
        ({"path": ""}, "there is no path. Give it to load"),
    ],
)
def test_values_that_cannot_be_right(options: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("(", r"\(")) as caught:
        values(**options)
    assert str(caught.value).startswith("flink-state")


def test_a_path_map_without_a_sign() -> None:
    with pytest.raises(UsageError, match="is not of the form OLD=NEW"):
        job_options(values(pathMap="a"), STATE_OPTIONS)


# ---- choosing operators and states


def test_operators_by_uid_id_and_name() -> None:
    by_uid = load(ORDERS, operatorUid="orders-by-customer", stateName="voucher").table()
    assert by_uid.num_rows == 5
    for options in (
        {"operatorId": "fd4133d6389433ee6f56e4e3b4210fb7"},
        {"operatorId": "FD4133D6389433EE6F56E4E3B4210FB7", "operatorUid": "orders-by-customer"},
        {"operatorName": "orders by customer"},
    ):
        assert load(ORDERS, stateName="voucher", **options).table().equals(by_uid)
    # Flink 1 stores the hash only.
    old = DATA / "f117-windows-checkpoint" / expected("f117-windows-checkpoint")["snapshot"]
    assert load(old, operatorUid="tumbling-reduce", stateName="window-contents").table().num_rows > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "2 operators have state. Select one with operatorUid, operatorName or operatorId: 'orders-by-customer'"),
        (
            {"operatorUid": "orders-by-custmer"},
            "no operator has the operatorUid 'orders-by-custmer'. The nearest are 'orders-by",
        ),
        ({"operatorName": "zzz"}, "no operator has the operatorName 'zzz'. The operators are 'orders', 'orders-by-customer'"),
        ({"operatorUid": "orders", "operatorName": "zzz"}, "operatorUid 'orders' and operatorName 'zzz'"),
        ({"operatorUid": "orders"}, "the operator has no keyed state and no operator state"),
        (
            CUSTOMERS,
            "the operator has 4 states. Select one with stateName: cents-by-product, last-order, order-ids, voucher",
        ),
        ({**CUSTOMERS, "stateName": "vouche"}, "no state is called 'vouche'. The nearest are 'voucher'"),
        ({**CUSTOMERS, "stateName": "timers"}, "no state is called 'timers'. ReadTimers reads the timers"),
        ({**CUSTOMERS, "stateName": "voucher", "stateScope": "operator"}, "no state is called 'voucher'"),
        ({**CUSTOMERS, "stateName": "voucher", "readTimers": True}, "'voucher' has no timers. Leave out readTimers"),
        ({**CUSTOMERS, "wide": True, "readTimers": True}, "the options wide and readTimers do not go together"),
        ({**CUSTOMERS, "wide": True, "stateScope": "operator"}, "wide is about keyed state"),
        ({**CUSTOMERS, "types": "value=json"}, "the option types needs stateName too"),
        ({**CUSTOMERS, "stateName": "voucher", "keyGroups": "128"}, "there is no key group 128; expected 0 to 127"),
        ({**CUSTOMERS, "stateName": "voucher", "keys": "[5]"}, "5 is not a key of the type string"),
        ({**CUSTOMERS, "stateName": "voucher", "types": "valu=json"}, "valu"),
        (
            {**CUSTOMERS, "stateName": "voucher", "columns": "key,valu"},
            "no column called 'valu'. The nearest is 'value'",
        ),
        ({**CUSTOMERS, "stateName": "voucher", "columns": "key,key"}, "the option columns names 'key' twice"),
    ],
)
def test_choices_that_mean_nothing(options: dict[str, Any], words: str) -> None:
    with pytest.raises(Exception, match=words.replace("(", r"\(")):
        load(ORDERS, **options)


def test_names_that_flink_1_does_not_store() -> None:
    old = DATA / "f117-windows-checkpoint" / expected("f117-windows-checkpoint")["snapshot"]
    with pytest.raises(UsageError, match="Snapshots of Flink 1 contain no operator names; set operatorUid or operatorId"):
        load(old, operatorName="tumbling")


def test_nothing_at_the_path() -> None:
    with pytest.raises(SnapshotNotFoundError, match="/nowhere/at/all does not exist"):
        load("/nowhere/at/all", stateName="a")
    with pytest.raises(SnapshotNotFoundError):
        list(make(FlinkStateMetadataSource, {"path": "/nowhere"}).reader(make_schema()).read(None))


def make_schema() -> StructType:
    return make(FlinkStateMetadataSource, {"path": "/nowhere"}).schema()


def test_timers_of_all_queues_and_of_one() -> None:
    path = DATA / "f23-kinds-native" / expected("f23-kinds-native")["snapshot"]
    timers = load(path, operatorUid="all-kinds", readTimers=True)
    assert timers.schema.fieldNames() == [
        "key", "timestamp", "timestamp_ms", "kind", "service", "key_group", "subtask"
    ]  # fmt: skip
    queue = load(path, operatorUid="all-kinds", readTimers=True, stateName="_timer_state/event_user-timers").table()
    table = timers.table()
    assert set(table["kind"].to_pylist()) == {"event", "processing"}
    assert queue.num_rows == table["kind"].to_pylist().count("event") > 0


# ---- columns


def test_metadata_columns() -> None:
    options = {**CUSTOMERS, "stateName": "voucher"}
    assert load(ORDERS, **options).schema.fieldNames() == ["key", "value", "last_access", "key_group", "subtask"]
    plain = load(ORDERS, includeMetadata=False, **options)
    assert plain.schema.fieldNames() == ["key", "value", "last_access"]
    assert plain.table().equals(load(ORDERS, **options).table().select(["key", "value", "last_access"]))


def test_columns_in_any_order() -> None:
    whole = load(ORDERS, **CUSTOMERS, stateName="last-order").table()
    for names in (["key"], ["value", "key"], ["subtask"], ["key_group", "value"]):
        loaded = load(ORDERS, **CUSTOMERS, stateName="last-order", columns=",".join(names))
        assert loaded.schema.fieldNames() == names
        assert loaded.table().equals(whole.select(names))


def test_a_schema_that_the_user_gives() -> None:
    options = {**CUSTOMERS, "stateName": "last-order"}
    whole = load(ORDERS, **options).table()
    value = StructType([StructField("status", StringType()), StructField("id", LongType())])
    given = StructType([StructField("key_group", IntegerType()), StructField("value", value)])
    rows = load(ORDERS, given, **options).table().to_pylist()
    assert rows == [
        {"key_group": r["key_group"], "value": {"status": r["value"]["status"], "id": r["value"]["id"]}}
        for r in whole.to_pylist()
    ]
    reader, _ = load(ORDERS, given, **options).planned()
    from stateextract.spark.source_read import _reading

    reading = _reading(reader.plan)
    assert str(reading.targets.states["last-order"].schema.field("value").type) == "struct<id: int64, status: string>"


@pytest.mark.parametrize(
    ("field", "words"),
    [
        (StructField("vale", StringType()), "no column called 'vale'. The nearest is 'value'"),
        (StructField("key", LongType()), "has 'key' as int64; expected string, as in the snapshot"),
        (StructField("value", StructType([StructField("x", LongType())])), "no field of value called 'x'"),
        (
            StructField("value", StructType([StructField("id", StringType())])),
            "has 'value.id' as string; expected int64",
        ),
        (StructField("value", ArrayType(LongType())), "has 'value' as list<element: int64>; expected struct"),
    ],
)
def test_a_schema_that_is_none_of_the_states(field: StructField, words: str) -> None:
    loaded = load(ORDERS, StructType([field]), **CUSTOMERS, stateName="last-order")
    with pytest.raises(UsageError, match=words):
        loaded.planned()


def test_types_that_are_wished_for() -> None:
    loaded = load(ORDERS, **CUSTOMERS, stateName="last-order", types="value.price=decimal(10,2);key_group=int64")
    fields = {f.name: f.dataType.simpleString() for f in loaded.schema}
    assert fields["key_group"] == "bigint"
    assert "price:decimal(10,2)" in fields["value"]
    assert {str(v["price"]) for v in loaded.table()["value"].to_pylist()} == {"4.75", "2.50", "2.80", "3.90"}
    with pytest.raises(UsageError, match=r"Spark cannot read the column 'value' of type .*timestamp\[ms\]"):
        load(ORDERS, **CUSTOMERS, stateName="last-order", types="value.placedAt=timestamp[ms]")


# ---- what cannot be decoded


def test_undecodable_values(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    snap = write_snapshot(tmp_path / "s", {"op": {"a": numbered(9), "b": numbered(5)}}, values={"b": UNKNOWN})
    with pytest.raises(UndecodableError, match="plug-in") as caught:
        load(snap, stateName="b")
    assert (caught.value.operator, caught.value.state) == ("op", "b")
    assert load(snap, stateName="a").table().num_rows == 9
    with pytest.raises(UndecodableError, match="no value of the state can be read") as caught:
        load(snap, stateName="b", onUndecodable="skip")
    assert (caught.value.operator, caught.value.state) == ("op", "b")
    for options in ({}, {"onUndecodable": "skip"}):
        caplog.clear()
        assert load(snap, wide=True, **options).schema.fieldNames() == ["key", "a", "key_group", "subtask"]
        (record,) = caplog.records
        assert record.getMessage().startswith("flink-state: the state becomes no column. 'b': values of com.example.Shape")
        assert load(snap, wide=True, **options).table().num_rows == 9
    for strictly in ({"strict": True}, {"stateName": "a,b"}):
        with pytest.raises(UnsupportedError, match=r"com\.example\.Shape"):
            load(snap, wide=True, **strictly)
    assert load(snap, wide=True, stateName="a").schema.fieldNames() == ["key", "a", "key_group", "subtask"]


@pytest.mark.parametrize("first", [0, 1], ids=["lost after a row", "lost before a row"])
def test_values_that_are_skipped_are_logged_once(first: int, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Of a state that may lack rows; without skip, and of a state whose values are all known, nothing is logged."""
    maps = [[(i64(5), None)], [(i64(5), b"\1" * 9)]]
    entries = [Entry(g, i64(g), maps[(g + first) % 2]) for g in range(4)]
    unclear = State("m", entries, kind="MAP", value=flink.map_of(flink.LONG, UNKNOWN))
    clear = State("v", [Entry(g, i64(g), i64(g)) for g in range(4)])
    snap = write(tmp_path / "s", [SubtaskState(0, managed_keyed=FORMS["canonical"](Keyed([unclear, clear])))])
    loaded = load(snap, stateName="m", onUndecodable="skip")
    assert sorted(loaded.table()["key"].to_pylist()) == [first, first + 2]
    (record,) = caplog.records
    start, _, reason = record.getMessage().partition(". The table coverage counts them. ")
    assert (record.levelname, start) == (
        "WARNING",
        "flink-state: values of the state 'm' that cannot be decoded have no row, because onUndecodable is skip",
    )
    assert "com.example.ShapeSerializerSnapshot cannot be decoded" in reason
    caplog.clear()
    load(snap, stateName="v", onUndecodable="skip")
    load(snap, stateName="m")
    assert caplog.records == []
    # A column of a wide read is null there.
    assert load(snap, wide=True, onUndecodable="skip").table().num_rows == 4
    assert [record.getMessage().partition(". ")[0] for record in caplog.records] == [start]


@pytest.mark.parametrize("form", FORMS)
def test_timers_beside_a_state_of_which_nothing_can_be_read(form: str, tmp_path: Path) -> None:
    """The timers are all there, none of them or two; the other state is not asked for."""
    for count in (0, 2):
        queue = "_timer_state/event_user-timers"
        timers = State(queue, [Entry(g, i64(g), 1000 + g) for g in range(count)], kind="TIMER")
        other = State("b", [Entry(g, i64(g), b"\1" * 9) for g in range(3)], value=UNKNOWN)
        path = write(tmp_path / f"s{count}", [SubtaskState(0, managed_keyed=FORMS[form](Keyed([timers, other])))])
        for options in ({"readTimers": True}, {"stateName": queue}):
            found = load(path, onUndecodable="skip", **options).table()
            assert sorted(found["timestamp_ms"].to_pylist()) == [1000 + g for g in range(count)]
        with pytest.raises(UndecodableError, match="no value of the state can be read"):
            load(path, onUndecodable="skip", stateName="b")


def test_damage_is_told_with_its_place(tmp_path: Path) -> None:
    snap = write_snapshot(tmp_path / "s", {"op": {"a": numbered(40)}})
    file = snap / "op-1"
    data = bytearray(file.read_bytes())
    data[-4 - 6 - 5 * 17] ^= 1  # the number of the last key group
    file.write_bytes(data)
    with pytest.raises(Exception, match="found key group") as caught:
        load(snap).table()
    assert (caught.value.file, caught.value.operator, caught.value.key_group) == (str(file), "op", 7)  # type: ignore[attr-defined]
    assert caught.traceback[-1].path.name == "data_sources.py", "Spark shows the trace: it has no more than needed"


def test_moved_files_are_found_by_the_path_map(tmp_path: Path) -> None:
    snap = write_snapshot(tmp_path / "s", {"op": {"a": numbered(40)}})
    (tmp_path / "elsewhere").mkdir()
    for name in ("op-0", "op-1"):
        (snap / name).rename(tmp_path / "elsewhere" / name)
    with pytest.raises(Exception, match="pathMap OLD=NEW"):
        load(snap)
    assert load(snap, pathMap=f"{snap}={tmp_path / 'elsewhere'}").table().num_rows == 40


def test_names_of_the_sources() -> None:
    assert (FlinkStateSource.name(), FlinkStateMetadataSource.name()) == (STATE, METADATA)


def test_a_policy_of_one_state(tmp_path: Path) -> None:
    def row(key: int) -> bytes:
        name = b"\0" if key == 5 else b"\2k"
        return struct.pack(">bqi", 0, key, 1) + name + b"\0" + struct.pack(">q", key)

    states: Any = {"m": {key: [row(key)] for key in range(8)}, "n": numbered(8)}
    snap = write_snapshot(tmp_path / "s", {"op": states}, values={"m": flink.map_of(flink.STRING, flink.LONG)})
    with pytest.raises(ValueRefusedError, match="a map has a null key"):
        load(snap, stateName="m").table()
    found = load(snap, stateName="m", policies="m/maps=list").table()
    assert [{"key": None, "value": 5}] in found["value"].to_pylist()
    # Without its policy, the state is refused by the whole read: no column is null because a value was refused.
    with pytest.raises(ValueRefusedError, match="a map has a null key"):
        load(snap, wide=True).table()
    assert load(snap, wide=True, policies="m/maps=list").table().num_rows == 8
    for table in ("coverage", "statistics"):
        policy: dict[str, str]
        for policy, became in (
            ({}, ("skipped", "a map has a null key", None)), ({"policies": "m/maps=list"}, ("decoded", None, 8)),
        ):  # fmt: skip
            (found_m,) = (row for row in load_metadata(snap, table, **policy).to_pylist() if row["state_name"] == "m")
            assert (found_m["status"], found_m["reason"], found_m["row_count"]) == became, (table, policy)
    with pytest.raises(UsageError, match=r"the policy .* is for no selected state"):
        load_metadata(snap, "coverage", policies="nothing/maps=list")
    with pytest.raises(UsageError, match="policies is for the tables coverage, statistics and owners"):
        load_metadata(snap, "states", policies="m/maps=list")
    with pytest.raises(UsageError, match="is for no option"):
        load(snap, stateName="m", policies="m/colour=red")
