"""Damages what serializers read, family by family: ``python -m tests.serializers.mutations FAMILY SEED COUNT``.

Runs in a process of its own, under a limit of memory, like ``tests/state/mutations.py``, whose damage it takes. Values of SQL
and Avro are read by both engines, which must refuse them alike or give the same rows. Prints a JSON summary. A mutation is made
from the family, the seed and its number.
"""

from __future__ import annotations

import json
import random
import sys
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from serializers import DescribeContext, describe, read_snapshot, read_snapshot_proxy
from serializers.avro import schema_layout
from serializers.avroschema import parse_schema
from serializers.classfile import read_class
from serializers.connectors import coordinator_type, decode_coordinator, decode_payload, payload_type
from serializers.logical_types import row_fields
from stateextract.columnar.convert.elements import Conversion, Element, parse_element, split
from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.decode.decoder import make_decoder
from stateextract.columnar.interpreter import interpret
from stateextract.columnar.layout import Layout
from stateextract.errors import StateExtractError, TruncatedError
from stateextract.files.block import Block
from stateextract.files.javastream import parse_java_stream
from stateextract.files.pickles import pickle_json
from stateextract.files.reader import Reader
from tests.conformance.notation import comparable
from tests.kryo.test_protobuf import CASES as MESSAGES
from tests.kryo.test_protobuf import CHILL, GOOGLES, JAVA, ORDERS, kryo, types
from tests.kryo.test_protobuf import snapshot as kryo_snapshot
from tests.kryo.zoo import BY_HAND, JAR, SCALA_JAR, models, vectors
from tests.mutation_runs import limited
from tests.serializers import test_avro, test_connectors, test_coordinators, test_javaobjects, test_sql
from tests.serializers.avro_writer import encode
from tests.serializers.test_vectors import VECTORS
from tests.state.mutations import mutated

Reading = Callable[[bytes, random.Random], Any]
"""Reads damaged bytes, and fails where two ways to read them differ."""

MULTIPLE = 3


# ---- ways to read


def by_both(layout: Layout) -> Reading:
    """Values of a layout, one behind the other, by both engines."""

    def read(data: bytes, random_: random.Random) -> Any:
        policy = random_.choice((
            Policy(), Policy(strings="binary", maps="list"), Policy(out_of_range="null"), Policy(timestamps="nanoseconds"),
            Policy(strings="fail", timestamps="fail"),
        ))  # fmt: skip
        found = [
            outcome(lambda engine=engine: rows(layout, data, policy, engine)) for engine in ("interpreter", "kernel")
        ]
        assert found[0][1] == found[1][1], f"{str(found[0])[:500]} but {str(found[1])[:500]}"
        return again(found[1])

    return read


def rows(layout: Layout, data: bytes, policy: Policy, engine: str) -> str:
    decoder = make_decoder(layout, policy, engine=engine)
    progress = decoder.decode(Block.of(data), 0, len(data), MULTIPLE)
    array = decoder.flush()
    array.validate(full=True)
    policy.check(decoder.counts)
    if progress.entries < MULTIPLE:
        # One engine may wait for more where the other sees that nothing could mend it.
        raise TruncatedError("the data end inside of a value")
    return repr(([comparable(value, array.type) for value in array], progress.pos, decoder.counts.as_dict()))


def by_interpreter(layout: Layout) -> Reading:
    def read(data: bytes, random_: random.Random) -> Any:
        value, end = interpret(layout, data, 0, len(data))
        assert end <= len(data)
        pa.array([value], layout.wire_type).validate(full=True)

    return read


def outcome(read: Callable[[], Any]) -> tuple[str, Any]:
    try:
        return "read", read()
    except StateExtractError as error:
        return type(error).__name__, None


def again(found: tuple[str, Any]) -> Any:
    """What one engine did: its rows, or its error's name as an error of ours."""
    if found[0] != "read":
        raise StateExtractError(found[0])
    return found[1]


def one_snapshot(proxy: bool) -> Reading:
    """A snapshot, and the layout of its values with their column."""

    def read(data: bytes, random_: random.Random) -> Any:
        found = (read_snapshot_proxy if proxy else read_snapshot)(Reader(data))
        layout = describe(found, DescribeContext(random_.choice((2, 5))))
        return layout.arrow_type

    return read


# ---- families


def sql() -> list[tuple[bytes, Reading]]:
    values = [(describe(test_sql.snapshot(name)), data) for name, data, _ in test_sql.VALUES]
    values += [(layout, data) for layout, data, _ in test_sql.ALONE]
    values += [(row_fields(fields, kind=True), data) for fields, data in test_sql.ROWS]
    return [(bytes.fromhex(data) * MULTIPLE, by_both(layout)) for layout, data in values]


def avro() -> list[tuple[bytes, Reading]]:
    found: list[tuple[bytes, Reading]] = []
    fields = []
    whole: dict[str, Any] = {}
    for number, (schema, _, value, _) in enumerate(test_avro.TYPES):
        layout = schema_layout(parse_schema(json.dumps(schema)))
        found.append((encode(schema, value) * MULTIPLE, by_both(layout)))
        if not isinstance(schema, dict) or "name" not in schema:
            fields.append({"name": f"f{number}", "type": schema})
            whole[f"f{number}"] = value
    record = {"type": "record", "name": "Whole", "fields": fields}
    layout = schema_layout(parse_schema(json.dumps(record)))
    found += [(encode(record, whole) * MULTIPLE, by_both(layout))] * 20
    nested = schema_layout(parse_schema(json.dumps(test_avro.NODE)))
    return [*found, *((data, by_interpreter(nested)) for data in map(test_avro._chain, (1, 3, 20)))]


def avro_schemas() -> list[tuple[bytes, Reading]]:
    def read(data: bytes, random_: random.Random) -> Any:
        return schema_layout(parse_schema(data.decode("utf-8", "replace"))).arrow_type

    schemas = [schema for schema, *_ in test_avro.TYPES] + [test_avro.NODE]
    return [(json.dumps(schema).encode(), read) for schema in schemas]


def kryo_values() -> list[tuple[bytes, Reading]]:
    found: list[tuple[bytes, Reading]] = []
    for stem, classes in (("spec", BY_HAND), ("kryo", models()), ("scala", models(SCALA_JAR))):
        for vector in vectors(stem):
            context = DescribeContext(vector.flavour, classes, chill=vector.chill)
            found.append((vector.data, by_interpreter(describe(vector.snapshot, context))))
    return found


def protobuf() -> list[tuple[bytes, Reading]]:
    found: list[tuple[bytes, Reading]] = []
    for vector in vectors("messages"):
        context = DescribeContext(vector.flavour, protobuf=GOOGLES)
        found.append((vector.data, by_interpreter(describe(vector.snapshot, context))))
    layout = describe(kryo_snapshot(JAVA, CHILL), DescribeContext(2, protobuf=types(ORDERS)))
    return found + [(kryo(bytes.fromhex(raw)), by_interpreter(layout)) for _, raw, _ in MESSAGES]


def java() -> list[tuple[bytes, Reading]]:
    def stream(data: bytes, random_: random.Random) -> Any:
        return parse_java_stream(Reader(data))

    value = by_interpreter(test_javaobjects.LAYOUT)
    found = [(data, value) for _, data, *_ in test_javaobjects.CASES]
    for name, data in VECTORS.items():
        at = data.find(b"\xac\xed\0\5")
        if at >= 0 and name[0] in "SPL":
            found.append((data[at:], stream))
    return found


def snapshots() -> list[tuple[bytes, Reading]]:
    return [
        (data, one_snapshot(name[0] == "P" or "proxy" in name)) for name, data in VECTORS.items() if name[0] in "SPL"
    ]


def class_files() -> list[tuple[bytes, Reading]]:
    def read(data: bytes, random_: random.Random) -> Any:
        return read_class(data)

    found = []
    for path in (JAR, SCALA_JAR):
        with zipfile.ZipFile(path) as jar:
            # Of classes of enum constants nothing but the beginning is read.
            found += [
                (jar.read(name), read) for name in jar.namelist() if name.endswith(".class") and "$Op$" not in name
            ]
    return found


def payloads() -> list[tuple[bytes, Reading]]:
    """These are never refused: what does not fit stays bytes."""

    def coordinator(data: bytes, random_: random.Random) -> Any:
        found = decode_coordinator(data)
        assert found["bytes"] == data
        return pa.array([found], coordinator_type())

    def payload(state: str) -> Reading:
        type_ = payload_type(state)

        def read(data: bytes, random_: random.Random) -> Any:
            found = decode_payload(state, data)
            assert found["bytes"] == data
            return pa.array([found], type_)

        return read

    found = [(raw, payload(state)) for state, raw, _ in test_connectors.CASES]
    return found + [(raw, coordinator) for raw, _ in test_coordinators.CASES if raw]


def pickles() -> list[tuple[bytes, Reading]]:
    """Neither are pickles, and lists of them have an error of Python's own, which a wish names."""
    import pickle
    from datetime import date, datetime
    from decimal import Decimal

    values: list[Any] = [
        {"a": [1, 2.5, None, True], "b": ("x", b"\0")}, {1, 2}, date(2024, 2, 29), datetime(2024, 2, 29, 1, 2, 3, 4),
        Decimal("1.50"), [10**30, -1, "é" * 300], [[[]]], {"deep": {"er": [1] * 50}},
    ]  # fmt: skip

    def alone(data: bytes, random_: random.Random) -> Any:
        return pickle_json(data)

    def listed(text: str) -> Reading:
        element = parse_element(text)
        assert isinstance(element, Element)

        def read(data: bytes, random_: random.Random) -> Any:
            try:
                return pa.array([split(data, element, Conversion())], pa.list_(element.type))
            except (ValueError, pa.ArrowException):
                raise StateExtractError("no elements") from None

        return read

    dumped = [pickle.dumps(value, protocol) for value in values for protocol in (2, 4, 5)]
    nested = [
        ("row<int32, string>", bytes.fromhex("0000000007000000016190000000071000000009")),
        ("list<map<string, date>>", bytes.fromhex("0000000201000000010000000161000000000100")),
        ("tuple<array<float64>, decimal(5,2), instant>", bytes(3) + b"\1" + bytes(11) + b"\4" + b"1.50" + bytes(12)),
    ]
    behind = [b"".join(len(d).to_bytes(4, "big") + d for d in dumped[n : n + 3]) for n in range(0, len(dumped), 3)]
    return [
        *((data, alone) for data in dumped),
        *((data, listed("pickle")) for data in behind),
        *((data, listed(type_)) for type_, data in nested),
    ]


FAMILIES: dict[str, Callable[[], list[tuple[bytes, Reading]]]] = {
    "sql": sql, "avro": avro, "avro schemas": avro_schemas, "kryo": kryo_values, "protobuf": protobuf, "java": java,
    "snapshots": snapshots, "class files": class_files, "payloads": payloads, "pickles": pickles,
}  # fmt: skip


def run(family: str, seed: int, count: int) -> dict[str, Any]:
    subjects = FAMILIES[family]()
    outcomes: Counter[str] = Counter()
    unexpected: list[str] = []
    slowest = 0.0
    for data, read in subjects:
        read(data, random.Random(0))  # which is sound, and loads the kernel
    grown = limited()
    for number in range(count):
        random_ = random.Random(f"{family} {seed} {number}")
        data, read = random_.choice(subjects)
        broken = data
        for _ in range(random_.choice((1, 1, 1, 2, 4))):
            if broken:
                broken, _ = mutated(broken, random_, 0, len(broken))
        began = time.process_time()
        try:
            read(broken, random_)
            outcomes["read"] += 1
        except StateExtractError as error:
            outcomes[error.message if type(error) is StateExtractError else type(error).__name__] += 1
        except BaseException:
            outcomes["unexpected"] += 1
            unexpected.append(f"{family} {seed} {number} {broken.hex()[:2000]}: {traceback.format_exc()[-1500:]}")
        slowest = max(slowest, time.process_time() - began)
    return {"outcomes": dict(outcomes), "unexpected": unexpected[:5], "slowest": slowest, "grown": grown()}


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
