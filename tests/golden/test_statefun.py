"""State of Stateful Functions (``frameworks/make_frameworks.py``): every state has the values of its job.

The job (``frameworks/statefun``) sends the numbers 0 to 39 to functions, the number n to the key ``user-{n % 5}``.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import stateextract
from serializers import SerializerSnapshot, describe, read_snapshot
from serializers.statefun import MESSAGE_SNAPSHOT, PROTOBUF_SNAPSHOT, REMOTE_SNAPSHOT
from stateextract.columnar.convert.policy import ChangeCounts
from stateextract.columnar.interpreter import interpret
from stateextract.columnar.layout import Bytes, Layout, Python, Undecodable
from stateextract.errors import StateExtractError
from stateextract.files.reader import Reader

pytest.importorskip("google.protobuf")

DATA = Path(__file__).parent / "frameworks" / "data"
CASES = ("statefun-3.3.0-protobuf", "statefun-3.3.0-kryo-savepoint")
REMOTE = CASES[:1]
TYPED_VALUE = "org.apache.flink.statefun.sdk.reqreply.generated.TypedValue"
USERS = {f"user-{u}": list(range(u, 40, 5)) for u in range(5)}
START = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


@cache
def functions(case: str) -> stateextract.Operator:
    """The operator of the functions."""
    (snapshot,) = (DATA / case).iterdir()
    return stateextract.open_snapshot(str(snapshot)).operator("functions_uid1")


def values(case: str, state: str) -> dict[str, Any]:
    rows = functions(case).state(state).to_table().to_pylist()
    found = {row["key"]: row["value"] for row in rows}
    assert len(found) == len(rows)
    return found


def by_user(value: Callable[[str, list[int]], Any]) -> dict[str, Any]:
    return {user: value(user, numbers) for user, numbers in USERS.items()}


def invocation(user: str, n: int) -> dict[str, Any]:
    argument = {"typename": "golden/text", "has_value": True, "value": f"n{n}".encode()}
    return {"caller": {"namespace": "golden", "type": "c", "id": user}, "argument": argument, "unknown_fields": None}


def message(case: str, function: tuple[str, str], user: str, text: str, token: str | None = None) -> dict[str, Any]:
    """A message of a function to itself."""
    address = {"namespace": function[0], "type": function[1], "id": user}
    if case in REMOTE:
        payload = {"class": TYPED_VALUE, "typename": "golden/text", "bytes": text.encode()}
    else:
        payload = {"class": "java.lang.String", "typename": None, "bytes": kryo_text(text)}
    return {"source": address, "target": address, "cancellation_token": token, "checkpoint_id": None, "payload": payload}


def kryo_text(text: str) -> bytes:
    """A string of ASCII as Kryo 2 writes it: class 3, a new object, and the text with the highest bit of its last byte set."""
    raw = text.encode()
    return b"\3\1" + raw[:-1] + bytes([raw[-1] | 0x80])


EXPECTED: dict[str, dict[str, Any]] = {
    "count": by_user(lambda user, ns: sum(ns)),
    "names": by_user(lambda user, ns: [f"n{n}ü" for n in ns]),
    "last": by_user(lambda user, ns: f"last {ns[-1]}"),
    "place": by_user(
        lambda user, ns: {"city": user, "zip": ns[-1] if ns[-1] % 2 else None, "at": [ns[-1] / 2, -ns[-1]]}
    ),
    "call": by_user(lambda user, ns: invocation(user, ns[-1])),
    "times": by_user(lambda user, ns: [START + timedelta(seconds=n, microseconds=n) for n in ns]),
}


@pytest.mark.parametrize("case", CASES)
def test_values_of_an_embedded_function(case: str) -> None:
    for name, expected in EXPECTED.items():
        assert values(case, f"golden.counter.{name}") == expected, name
    tables = {user: dict(table) for user, table in values(case, "golden.counter.table").items()}
    assert tables == by_user(lambda user, ns: {f"b{n % 3}": n for n in ns})


@pytest.mark.parametrize("case", CASES)
def test_messages_that_wait(case: str) -> None:
    rows = functions(case).state("delayed-messages-buffer").to_table().to_pylist()
    counter = ("golden", "counter")
    found = sorted((row["value"][0]["cancellation_token"] or "", row["key"], row["value"]) for row in rows)
    later = [(f"token-{n}", f"user-{n}", [message(case, counter, f"user-{n}", f"later {n}", f"token-{n}")]) for n in range(5)]
    other = [("", f"user-{n}", [message(case, counter, f"user-{n}", f"no token {n + 35}")]) for n in range(5)]
    assert found == other + later
    times = {row["key"]: row["namespace"] for row in rows if row["value"][0]["cancellation_token"]}
    assert values(case, "delayed-message-index") == {f"user-{n}": [(f"token-{n}", times[f"user-{n}"])] for n in range(5)}
    timers = functions(case).state("_timer_state/processing_delayed-messages-timer-service").to_table().to_pylist()
    assert sorted((row["key"], row["timestamp_ms"]) for row in timers) == sorted((row["key"], row["namespace"]) for row in rows)


@pytest.mark.parametrize("case", CASES)
def test_asynchronous_operations(case: str) -> None:
    found = {user: [operation for _, operation in sorted(pairs)] for user, pairs in values(case, "asyncOperations").items()}
    waiting = sorted((message(case, ("golden", "counter"), "user-2", f"waits {n}") for n in (7, 17, 27, 37)), key=repr)
    assert sorted(found.pop("user-2"), key=repr) == waiting
    if case in REMOTE:
        # The request that the remote function never answers.
        ((request,),) = found.values()
        assert request["target"] == {"namespace": "golden.remote", "type": "counter", "id": "user-4"}
        assert request["payload"]["class"] == "org.apache.flink.statefun.sdk.reqreply.generated.ToFunction"
    else:
        assert not found


def test_values_of_a_remote_function() -> None:
    answered = {user: ns for user, ns in USERS.items() if user != "user-4"}
    text = {user: "" if ns[-1] % 3 == 0 else f"t{ns[-1]}ü" for user, ns in answered.items()}
    expected = {
        "int": {user: sum(ns) for user, ns in answered.items()},
        "long": {user: 0 if ns[-1] % 2 else -ns[-1] << 33 for user, ns in answered.items()},
        "float": {user: ns[-1] / 4 for user, ns in answered.items()},
        "double": {user: -ns[-1] / 8 for user, ns in answered.items()},
        "bool": {user: ns[-1] % 2 == 1 for user, ns in answered.items()},
        "text": text,
        "own": {user: f"own {ns[-1]}".encode() for user, ns in answered.items()},
    }
    for name, rows in expected.items():
        assert values(REMOTE[0], f"golden.remote.counter.{name}") == rows, name
    ((user, batch),) = values(REMOTE[0], "golden.remote.counter.batch").items()
    waiting = sorted(int(call["argument"]["value"]) for call in batch)
    ((_, request),) = values(REMOTE[0], "golden.remote.counter.request-state").items()
    # Of eight numbers, one or more are in the request that has no answer.
    assert (user, request) == ("user-4", len(waiting))
    assert set(waiting) < set(USERS["user-4"])
    assert {call["caller"] for call in batch} == {None}


@pytest.mark.parametrize("case", CASES)
def test_every_state_is_decoded(case: str) -> None:
    assert {state.coverage.status for state in functions(case).states} == {"decoded"}


# ---- damage, and what is not there


def remote(type_name: str) -> Layout:
    return describe(SerializerSnapshot(REMOTE_SNAPSHOT, 1, details={"type": type_name}))


def read(layout: Layout, raw: bytes) -> Any:
    value, pos = interpret(layout, memoryview(raw), 0, len(raw), ChangeCounts())
    assert pos == len(raw)
    return value


def framed(raw: bytes) -> bytes:
    return struct.pack(">i", len(raw)) + raw


def test_values_of_the_sdks_types() -> None:
    assert isinstance(remote("golden/own"), Bytes)
    assert read(remote("io.statefun.types/int"), framed(b"\x0d\xff\xff\xff\xff")) == -1
    assert read(remote("io.statefun.types/bool"), framed(b"")) is False
    for damaged in (b"\x0d\xff\xff\xff", b"\x08\1", b"\x15\0\0\0\0", b"\x0d\0\0\0\0\x20\1"):
        with pytest.raises(StateExtractError):
            read(remote("io.statefun.types/int"), framed(damaged))


def descriptor_bytes(java: bytes) -> bytes:
    """The snapshot of the serializer of a message, from its class on: length, Java class, name, descriptors."""
    (snapshot,) = (DATA / CASES[0]).iterdir()
    data = (snapshot / "_metadata").read_bytes()
    start = data.index(PROTOBUF_SNAPSHOT.encode() + b"\0\0\0\1", data.index(java) - 200) - 2
    (size,) = struct.unpack_from(">i", data, start + 2 + len(PROTOBUF_SNAPSHOT) + 4)
    return data[start : start + 2 + len(PROTOBUF_SNAPSHOT) + 8 + size]


def test_damaged_descriptors_give_an_error_or_no_column() -> None:
    raw = descriptor_bytes(b"generated.ToFunction$Invocation")
    layout = describe(read_snapshot(Reader(raw)))
    assert read(layout, framed(b"")) == {"caller": None, "argument": None, "unknown_fields": None}
    with pytest.raises(StateExtractError, match=r"are not a message of the type io\.statefun\.sdk\.reqreply"):
        read(layout, framed(b"\x0a\x05"))
    rng, ends = random.Random(5), set()
    for _ in range(300):
        damaged = bytearray(raw)
        for _ in range(rng.randint(1, 3)):
            damaged[rng.randrange(len(PROTOBUF_SNAPSHOT) + 10, len(raw))] = rng.randrange(256)
        try:
            ends.add(type(describe(read_snapshot(Reader(bytes(damaged))))))
        except StateExtractError:
            ends.add(StateExtractError)
    assert ends == {Python, Undecodable, StateExtractError}


def test_without_the_library_the_reason_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    layout = describe(read_snapshot(Reader(descriptor_bytes(b"com.google.protobuf.Timestamp"))))
    assert isinstance(layout, Undecodable)
    assert "the library protobuf is not installed" in str(layout.reason)


def test_damaged_messages() -> None:
    layout = describe(SerializerSnapshot(MESSAGE_SNAPSHOT, 2))
    whole = b"\x0a\x03\x0a\1n\x12\x03\x1a\1i\x1a\x05\x12\1c\x1a\0\x52\1t"
    empty = dict.fromkeys(("namespace", "type", "id"), "")
    assert read(layout, framed(whole)) == {
        "source": empty | {"namespace": "n"}, "target": empty | {"id": "i"}, "cancellation_token": "t", "checkpoint_id": None,
        "payload": {"class": "c", "typename": None, "bytes": b""},
    }  # fmt: skip
    assert read(layout, framed(b"\x22\x02\x08\x07"))["checkpoint_id"] == 7
    for end in range(1, len(whole)):
        if whole[:end] not in (whole[:5], whole[:10], whole[:17]):
            with pytest.raises(StateExtractError):
                read(layout, framed(whole[:end]))
    with pytest.raises(StateExtractError, match="unknown field 9"):
        read(layout, framed(b"\x4a\0"))
