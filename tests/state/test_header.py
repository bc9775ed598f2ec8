"""Heads of state files, built byte by byte, with and without snapshot classes that nobody knows."""

from __future__ import annotations

import struct
from random import Random

import pytest

from serializers import SerializerSnapshot
from serializers.containers import LIST_SNAPSHOT, MAP_SNAPSHOT
from serializers.scalars import BASE
from serializers.windows import TIMER_SNAPSHOT
from stateextract.errors import FormatError, StateExtractError, UndecodableError, UnsupportedVersionError
from stateextract.state.header import parse_header, parse_operator_header
from stateextract.state.row_layout import row_layout
from tests.state import keyed_writer
from tests.state.unknown_classes import unknown_classes


def i32(*values: int) -> bytes:
    return struct.pack(f">{len(values)}i", *values)


def utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


def simple(name: str) -> bytes:
    return utf(f"{BASE}{name}Serializer${name}SerializerSnapshot") + i32(3)


def composite(name: str, *nested: bytes, outer: bytes = b"", outer_version: int = 1) -> bytes:
    return utf(name) + i32(3, 911108, outer_version) + outer + i32(1333245, 1, len(nested)) + b"".join(nested)


VOID = utf("org.apache.flink.runtime.state.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot") + i32(3)


def proxy(snapshot: bytes) -> bytes:
    return i32(2) + snapshot


def state(
    name: str, kind: str, value: bytes, namespace: bytes = VOID, backend: int = 0, user_key: bytes | None = None
) -> bytes:
    serializers = {"NAMESPACE_SERIALIZER": namespace, "VALUE_SERIALIZER": value}
    if user_key is not None:
        serializers["USER_KEY_SERIALIZER"] = user_key
    data = utf(name) + i32(backend, 1) + utf("KEYED_STATE_TYPE") + utf(kind) + i32(len(serializers))
    return data + b"".join(utf(k) + proxy(v) for k, v in serializers.items())


def queue(name: str, element: bytes) -> bytes:
    return utf(name) + i32(3, 0, 1) + utf("VALUE_SERIALIZER") + proxy(element)


def head(*states: bytes, key: bytes | None = None, version: int = 6, compressed: bool = False) -> bytes:
    key = simple("String") if key is None else key
    return i32(version) + bytes([compressed]) + proxy(key) + struct.pack(">h", len(states)) + b"".join(states)


TIMER = composite(TIMER_SNAPSHOT, simple("String"), VOID, outer_version=2)


def test_plain() -> None:
    data = head(
        state("v", "VALUE", simple("Long")),
        state("l", "LIST", composite(LIST_SNAPSHOT, simple("Int"))),
        queue("_timer_state/event_user-timers", TIMER),
        compressed=True,
    )
    parsed = parse_header(data + b"body")
    assert (parsed.version, parsed.compressed, parsed.end) == (6, True, len(data))
    assert parsed.key_serializer.class_name == f"{BASE}StringSerializer$StringSerializerSnapshot"
    assert [(s.name, s.backend_type, s.kind, dict(s.options)) for s in parsed.states] == [
        ("v", "KEY_VALUE", "VALUE", {"KEYED_STATE_TYPE": "VALUE"}),
        ("l", "KEY_VALUE", "LIST", {"KEYED_STATE_TYPE": "LIST"}),
        ("_timer_state/event_user-timers", "PRIORITY_QUEUE", "TIMER", {}),
    ]
    assert list(parsed.states[0].serializers) == ["NAMESPACE_SERIALIZER", "VALUE_SERIALIZER"]
    assert parse_header(data, 0, len(data)) == parsed


def test_position() -> None:
    data = head(state("v", "VALUE", simple("Long")))
    assert parse_header(b"junk" + data, 4).end == 4 + len(data)


def test_a_queue_of_something_else() -> None:
    assert parse_header(head(queue("q", simple("Long")))).states[0].kind == "PRIORITY_QUEUE"


def test_asynchronous_state_is_nested_like_the_other() -> None:
    new = parse_header(
        head(
            state("l", "LIST", simple("Int"), backend=4),
            state("m", "MAP", simple("Long"), backend=4, user_key=simple("String")),
            state("v", "VALUE", simple("Long"), backend=4),
        )
    )
    old = parse_header(
        head(
            state("l", "LIST", composite(LIST_SNAPSHOT, simple("Int"))),
            state("m", "MAP", composite(MAP_SNAPSHOT, simple("String"), simple("Long"))),
            state("v", "VALUE", simple("Long")),
        )
    )
    assert [s.backend_type for s in new.states] == ["KEY_VALUE_V2"] * 3
    for mine, other in zip(new.states, old.states, strict=True):
        assert mine.kind == other.kind
        assert mine.serializers["VALUE_SERIALIZER"] == other.serializers["VALUE_SERIALIZER"]


def test_asynchronous_map_without_a_user_key() -> None:
    """As Flink 2.0 wrote it."""
    [meta] = parse_header(head(state("m", "MAP", simple("Long"), backend=4))).states
    assert unknown_classes(meta) == ("USER_KEY_SERIALIZER",)


@pytest.mark.parametrize("version", range(1, 6))
def test_old_heads_are_refused_with_advice(version: int) -> None:
    with pytest.raises(UnsupportedVersionError, match=r"before 1\.7 .*Flink 1\.16"):
        parse_header(i32(version) + bytes(40))


@pytest.mark.parametrize("version", [0, 7, -1, 0x4960672D])
def test_no_head(version: int) -> None:
    with pytest.raises(FormatError, match="is not the version"):
        parse_header(i32(version) + bytes(40))


def test_a_head_that_ends_elsewhere() -> None:
    data = head(state("v", "VALUE", simple("Long")))
    with pytest.raises(FormatError, match="does not end where its data begins"):
        parse_header(data + b"x", 0, len(data) + 1)


def test_unknown_backend_type() -> None:
    with pytest.raises(FormatError, match="unknown backend type 9"):
        parse_header(head(state("v", "VALUE", simple("Long"), backend=9)))


# ---- unknown snapshot classes

ACME = "com.acme.ThingSerializer$ThingSnapshot"
SHAPES = {
    "nothing": utf(ACME) + i32(3),
    "text": utf(ACME) + i32(2) + utf("com.acme.Thing"),
    "composite": composite(ACME, simple("Int"), simple("String")),
    "composite with an outer payload": composite(ACME, simple("Int"), outer=b"\x01\x00\x07"),
    "nested": utf(ACME) + i32(1, 1333245, 1, 1) + simple("Int"),
    "anything": utf(ACME) + i32(5) + b"\x00\x01\x02 any bytes that only the class knows \xff\xfe",
}
BEFORE, AFTER = (
    state("before", "VALUE", simple("Long")),
    state("after", "MAP", composite(MAP_SNAPSHOT, simple("Int"), simple("Long"))),
)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("place", ["value", "last value", "namespace", "key", "element", "queue"])
def test_unknown_class_is_passed_over(shape: str, place: str) -> None:
    unknown = SHAPES[shape]
    odd = {
        "value": state("odd", "VALUE", unknown),
        "last value": state("odd", "VALUE", unknown),
        "namespace": state("odd", "VALUE", simple("Long"), namespace=unknown),
        "key": state("odd", "VALUE", simple("Long")),
        "element": state("odd", "LIST", composite(LIST_SNAPSHOT, unknown)),
        "queue": queue("odd", unknown),
    }[place]
    states = [BEFORE, AFTER, odd] if place == "last value" else [BEFORE, odd, AFTER, queue("timers", TIMER)]
    data = head(*states, key=unknown if place == "key" else None)

    with pytest.raises(UndecodableError, match=r"com\.acme\.ThingSerializer\$ThingSnapshot is not known"):
        parse_header(data)

    parsed = parse_header(data + b"body", 0, len(data))
    known = parse_header(head(BEFORE, AFTER, queue("timers", TIMER)))
    names = {s.name: s for s in parsed.states}
    assert names["before"] == known.states[0]
    assert names["after"] == known.states[1]
    if place == "key":
        assert parsed.key_serializer.is_unknown
        assert parsed.key_serializer.class_name == ACME
        assert unknown_classes(names["odd"]) == ()
    else:
        assert unknown_classes(names["odd"]) == (ACME,)
        # A list of something unknown is a list all the same.
        whole = names["odd"].serializers["VALUE_SERIALIZER"].class_name
        assert (whole == LIST_SNAPSHOT) == (place == "element")
    if place != "last value":
        assert names["timers"] == known.states[2]


TUPLE = "org.apache.flink.api.java.typeutils.runtime.TupleSerializerSnapshot"
OTHER = utf("com.acme.OtherSnapshot") + i32(2) + b"\x09 what only that class knows"
LOOKS_LIKE_MORE = utf(ACME) + i32(1) + simple("Int") + utf("com.acme.Codec") + i32(1) + b"\xff\xfe"
"""Of which the payload holds what looks like snapshots that are nested in the one around it."""


def shown(snapshot: SerializerSnapshot) -> object:
    """Simple names; unknown ones in brackets."""
    name = snapshot.class_name.rpartition(".")[2].rpartition("$")[2].removesuffix("Snapshot").removesuffix("Serializer")
    inner = [shown(nested) for nested in snapshot.nested]
    return [name] if snapshot.is_unknown else (name, *inner) if inner else name


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (composite(MAP_SNAPSHOT, simple("String"), SHAPES["anything"]), ("Map", "String", ["Thing"])),
        (composite(MAP_SNAPSHOT, SHAPES["anything"], simple("Long")), ("Map", ["Thing"], "Long")),
        (composite(MAP_SNAPSHOT, SHAPES["anything"], SHAPES["anything"]), ("Map", ["Thing"], ["Thing"])),
        (composite(MAP_SNAPSHOT, SHAPES["anything"], OTHER), ("Map", ["Thing"], ["Other"])),
        (composite(MAP_SNAPSHOT, LOOKS_LIKE_MORE, simple("Long")), ("Map", ["Thing"], "Long")),
        (composite(MAP_SNAPSHOT, simple("Int"), LOOKS_LIKE_MORE), ("Map", "Int", ["Thing"])),
        (
            composite(
                MAP_SNAPSHOT,
                composite(TUPLE, simple("Int"), SHAPES["anything"], simple("Long"), outer=utf("x.Tuple3")),
                composite(LIST_SNAPSHOT, composite(LIST_SNAPSHOT, OTHER)),
            ),
            ("Map", ("Tuple", "Int", ["Thing"], "Long"), ("List", ("List", ["Other"]))),
        ),
    ],
    ids=["value", "user key", "both", "both of two classes", "user key that looks like more", "value that does", "deep"],
)
@pytest.mark.parametrize("last", [True, False])
def test_what_is_around_an_unknown_class_keeps_its_kind(value: bytes, kept: object, last: bool) -> None:
    odd = state("odd", "MAP", value)
    data = head(BEFORE, odd) if last else head(odd, BEFORE, state("again", "VALUE", SHAPES["anything"]), AFTER)
    parsed = parse_header(data, 0, len(data))
    found = {meta.name: shown(meta.serializers["VALUE_SERIALIZER"]) for meta in parsed.states}
    others = {"again": ["Thing"], "after": ("Map", "Int", "Long")}
    assert found == {"before": "Long", "odd": kept, **({} if last else others)}


def test_a_key_around_an_unknown_class() -> None:
    key = composite(TUPLE, simple("Int"), SHAPES["anything"], outer=utf("x.Tuple2"))
    data = head(BEFORE, AFTER, key=key)
    assert shown(parse_header(data, 0, len(data)).key_serializer) == ("Tuple", "Int", ["Thing"])
    data = head(key=key)
    assert shown(parse_header(data, 0, len(data)).key_serializer) == ("Tuple", "Int", ["Thing"])


def test_a_field_around_an_unknown_class() -> None:
    """A POJO's serializers have lengths, so no search is needed."""
    inner = composite(MAP_SNAPSHOT, simple("String"), SHAPES["anything"])
    linked = struct.pack(">q", 0x4F2C69A3D70)
    fields = b"".join(utf(n) + b"\x00\x01" + i32(len(s)) + s for n, s in (("a", inner), ("b", SHAPES["anything"])))
    name = utf("org.apache.flink.api.java.typeutils.runtime.PojoSerializerSnapshot")
    pojo = name + i32(2) + utf("x.A") + linked + i32(2) + fields + (linked + i32(0)) * 2
    [meta] = parse_header(head(state("p", "VALUE", pojo))).states
    assert shown(meta.serializers["VALUE_SERIALIZER"]) == ("Pojo", ("Map", "String", ["Thing"]), ["Thing"])


def test_many_unknown_classes_between_composites() -> None:
    """As Apache Beam's: none is taken for a composite whose nested snapshots are those of a later state."""
    opaque = utf(ACME) + i32(1, 8) + bytes(range(1, 200)) * 2
    lists = composite(LIST_SNAPSHOT, opaque)
    maps = composite(MAP_SNAPSHOT, opaque, opaque)
    states = [("v", "VALUE", opaque), ("l", "LIST", lists), ("m", "MAP", maps)] * 8
    wanted = [(f"{name}{number}", kind) for number, (name, kind, _) in enumerate(states)]
    written = [state(f"{name}{n}", kind, value) for n, (name, kind, value) in enumerate(states)]
    odd_timers = composite(TIMER_SNAPSHOT, opaque, VOID, outer_version=2)
    data = head(*written, queue("_timer_state/event", TIMER), queue("_timer_state/x", odd_timers), key=opaque)
    parsed = parse_header(data + b"body", 0, len(data))
    assert [(s.name, s.kind) for s in parsed.states[:-2]] == wanted
    assert all(unknown_classes(s) == (ACME,) for s in parsed.states[:-2])
    assert [s.kind for s in parsed.states[-2:]] == ["TIMER", "TIMER"]


def test_several_unknown_classes() -> None:
    def thing(n: int, payload: bytes) -> bytes:
        return utf(f"com.acme.Thing{n}Snapshot") + payload

    data = head(
        state("a", "VALUE", thing(1, i32(3))),
        state("b", "LIST", composite(LIST_SNAPSHOT, thing(2, i32(2) + utf("com.acme.Two")))),
        state("c", "VALUE", thing(1, i32(3))),
        state("d", "VALUE", simple("Long"), namespace=thing(3, i32(9) + bytes(range(40)))),
    )
    parsed = parse_header(data, 0, len(data))
    assert [unknown_classes(s) for s in parsed.states] == [
        ("com.acme.Thing1Snapshot",),
        ("com.acme.Thing2Snapshot",),
        ("com.acme.Thing1Snapshot",),
        ("com.acme.Thing3Snapshot",),
    ]


def test_the_search_is_bounded() -> None:
    states = [state(f"s{n}", "VALUE", utf(f"com.acme.X{n}Snapshot") + i32(7) + bytes(9)) for n in range(30)]
    # One byte is missing in the last state's meta, so that nothing fits.
    data = head(*states, state("end", "VALUE", simple("Long")))[:-1]
    # Without a bound the choices of 30 states would multiply, and this would not come back.
    with pytest.raises(UndecodableError, match="X0Snapshot"):
        parse_header(data, 0, len(data))


def test_cut_heads_are_errors() -> None:
    data = head(state("v", "VALUE", simple("Long")), queue("timers", TIMER))
    for cut in range(len(data)):
        with pytest.raises(StateExtractError):
            parse_header(data[:cut])


# ---- operator state


def operator_state(name: str, mode: str, **serializers: bytes) -> bytes:
    backend = 2 if mode == "BROADCAST" else 1
    data = utf(name) + i32(backend, 1) + utf("OPERATOR_STATE_DISTRIBUTION_MODE") + utf(mode) + i32(len(serializers))
    return data + b"".join(utf(k) + proxy(v) for k, v in serializers.items())


LISTS = [
    operator_state("offsets", "SPLIT_DISTRIBUTE", VALUE_SERIALIZER=simple("Long")),
    operator_state("all", "UNION", VALUE_SERIALIZER=simple("String")),
]
BROADCAST = operator_state("rules", "BROADCAST", KEY_SERIALIZER=simple("String"), VALUE_SERIALIZER=simple("Long"))


@pytest.mark.parametrize(("version", "flag"), [(5, b""), (6, b"\x00"), (6, b"\x01")])
def test_operator_head(version: int, flag: bytes) -> None:
    data = i32(version) + flag + b"\x00\x02" + b"".join(LISTS) + b"\x00\x01" + BROADCAST
    parsed = parse_operator_header(data + b"body", 0, len(data))
    assert (parsed.version, parsed.compressed, parsed.end) == (version, flag == b"\x01", len(data))
    assert [(s.name, s.kind, sorted(s.serializers)) for s in parsed.states] == [
        ("offsets", "SPLIT_DISTRIBUTE", ["VALUE_SERIALIZER"]),
        ("all", "UNION", ["VALUE_SERIALIZER"]),
        ("rules", "BROADCAST", ["KEY_SERIALIZER", "VALUE_SERIALIZER"]),
    ]


def test_operator_head_with_an_unknown_class() -> None:
    odd = operator_state("odd", "SPLIT_DISTRIBUTE", VALUE_SERIALIZER=SHAPES["anything"])
    data = i32(5) + b"\x00\x02" + odd + LISTS[1] + b"\x00\x01" + BROADCAST
    parsed = parse_operator_header(data, 0, len(data))
    assert [(s.name, unknown_classes(s)) for s in parsed.states] == [("odd", (ACME,)), ("all", ()), ("rules", ())]


@pytest.mark.parametrize("maps", [0, 1])
def test_operator_head_with_an_unknown_class_in_the_last_list(maps: int) -> None:
    """The number of broadcast states comes between."""
    odd = operator_state("odd", "SPLIT_DISTRIBUTE", VALUE_SERIALIZER=SHAPES["anything"])
    last = operator_state("last", "UNION", VALUE_SERIALIZER=SHAPES["anything"])
    data = i32(6) + b"\x00\x00\x03" + odd + LISTS[0] + last + struct.pack(">h", maps) + BROADCAST * maps
    parsed = parse_operator_header(data, 0, len(data))
    names = [(s.name, unknown_classes(s)) for s in parsed.states]
    assert names == [("odd", (ACME,)), ("offsets", ()), ("last", (ACME,)), ("rules", ())][: 3 + maps]


@pytest.mark.parametrize("place", ["KEY_SERIALIZER", "VALUE_SERIALIZER"])
def test_operator_head_with_an_unknown_class_in_a_map(place: str) -> None:
    known = {"KEY_SERIALIZER": simple("String"), "VALUE_SERIALIZER": simple("Long")}
    odd = operator_state("odd", "BROADCAST", **{**known, place: SHAPES["anything"]})
    for maps in ([odd], [odd, BROADCAST], [BROADCAST, odd]):
        data = i32(6) + b"\x00\x00\x01" + LISTS[0] + struct.pack(">h", len(maps)) + b"".join(maps)
        unknown = {s.name: unknown_classes(s) for s in parse_operator_header(data, 0, len(data)).states}
        assert unknown == {"offsets": (), "odd": (ACME,), **({"rules": ()} if len(maps) > 1 else {})}


def test_old_operator_head() -> None:
    with pytest.raises(UnsupportedVersionError, match=r"Flink 1\.16"):
        parse_operator_header(i32(4) + bytes(20))


# ---- damage


def rich_head() -> bytes:
    linked = struct.pack(">q", 0x4F2C69A3D70)
    frame = b"\x01" + i32(len(simple("Int"))) + simple("Int")
    pojo = (
        utf("org.apache.flink.api.java.typeutils.runtime.PojoSerializerSnapshot")
        + i32(2)
        + utf("x.A")
        + (linked + i32(2) + utf("a") + b"\x00" + frame + utf("b") + b"\x00" + frame)
        + (linked + i32(1) + utf("x.B") + b"\x00" + frame)
        + (linked + i32(0))
    )
    return head(
        state("p", "VALUE", pojo),
        state("m", "MAP", composite(MAP_SNAPSHOT, simple("String"), composite(LIST_SNAPSHOT, pojo))),
        queue("timers", TIMER),
        state("odd", "VALUE", SHAPES["composite"]),
    )


@pytest.mark.parametrize("seed", range(8))
def test_flipped_bytes_give_documented_errors_or_a_head(seed: int) -> None:
    whole = rich_head()
    random = Random(seed)
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(random.choice((1, 1, 3))):
            data[random.randrange(len(data))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
        try:
            parsed = parse_header(data, 0, len(data))
        except StateExtractError:
            continue
        for meta in parsed.states:
            row_layout(parsed, meta)


def test_fuzzed_head_is_fine_when_whole() -> None:
    data = rich_head()
    assert [s.name for s in parse_header(data, 0, len(data)).states] == ["p", "m", "timers", "odd"]


@pytest.mark.parametrize("backend_type", [1, 2])
def test_operator_state_in_a_head_of_keyed_state(backend_type: int) -> None:
    keyed = keyed_writer.Keyed([keyed_writer.State("timers", kind="TIMER")])
    data = keyed_writer.head(keyed, False).replace(utf("timers") + i32(3), utf("timers") + i32(backend_type))
    parsed = parse_header(data, 0, len(data))
    with pytest.raises(FormatError, match="the state 'timers' has no namespace serializer; expected NAMESPACE_SERIALIZER"):
        row_layout(parsed, parsed.states[0])


def test_two_states_of_one_name() -> None:
    states = [state("v", "VALUE", simple("Long")), state("w", "VALUE", simple("Long")), queue("v", simple("Long"))]
    with pytest.raises(FormatError, match="two states are called 'v'"):
        parse_header(head(*states))
