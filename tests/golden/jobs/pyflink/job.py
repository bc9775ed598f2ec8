"""A PyFlink job with state of typed and of pickled coders, in a process of Python's own and in the JVM's thread.

Arguments: the case's name, kind, mode (``process`` or ``thread``), the folder where Flink writes, the folder that gets the
case. Runs in a Python with apache-flink (see ``pyflink_cases.py``), one worker, no network but to itself.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from datetime import time as clock
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from pyflink.common import Configuration, Row, Types
from pyflink.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.functions import AggregateFunction
from pyflink.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from pyflink.java_gateway import get_gateway
from pyflink.version import __version__
from shapes import Color, Level, Pair, Point, Slots

EVENTS = range(24)
KEYS = ("plain", "", "äöü", "東京", "x" * 40)
FAR = 4_102_444_800_000  # 2100-01-01
PICKLED = Types.PICKLED_BYTE_ARRAY
PATIENCE = 120  # seconds
NOT_JAVAS = ("pickle", "decimal(10,2)")  # types that Java's serializers do not tell


def row_fields(row: Row) -> dict[str, Any]:
    """A row by the columns' names."""
    return {"f0": row[0], "f1": row[1], "row_kind": "+I"}


def same(value: Any) -> Any:
    return value


class State:
    """One state: what an event does to it, and what it must be in the end.

    :param wish: the type of the elements, for the reader; ``None``: it has none for them, and shows their bytes.
    :param shown: a value in the notation of ``expected.json``.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        type_: Any,
        value: Callable[[int], Any],
        wish: str | None,
        shown: Callable[[Any], Any] = same,
    ) -> None:
        self.name, self.kind, self.type, self.value, self.wish, self.shown = name, kind, type_, value, wish, shown

    def open(self, context: Any) -> Callable[[int], None]:
        if self.kind == "VALUE":
            value = context.get_state(ValueStateDescriptor(self.name, self.type))
            return lambda n: value.update(self.value(n))
        if self.kind == "LIST":
            items = context.get_list_state(ListStateDescriptor(self.name, self.type))
            return lambda n: items.add(self.value(n))
        if self.kind == "MAP":
            entries = context.get_map_state(MapStateDescriptor(self.name, *self.type))
            return lambda n: entries.put(*self.value(n))
        if self.kind == "REDUCING":
            sum_ = context.get_reducing_state(ReducingStateDescriptor(self.name, lambda a, b: a + b, self.type))
        else:
            sum_ = context.get_aggregating_state(AggregatingStateDescriptor(self.name, Sum(), self.type))
        return lambda n: sum_.add(self.value(n))

    def model(self, numbers: list[int]) -> list[Any]:
        """The elements that the numbers of one key leave behind; pairs of a map."""
        values = [self.value(n) for n in numbers]
        if self.kind == "LIST":
            return [self.shown(value) for value in values]
        if self.kind == "MAP":
            return [[self.shown(key), self.shown(value)] for key, value in dict(values).items()]
        return [self.shown(values[-1] if self.kind == "VALUE" else sum(values))]


class Sum(AggregateFunction):  # type: ignore[misc]
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


def plain(n: int) -> dict[str, Any]:
    return {"n": n, "items": [n / 4, None, "é", True], "pair": (n, str(n))}


def typed(mode: str) -> list[State]:
    states = [
        State("long", "VALUE", Types.LONG(), lambda n: -n * 10_000_000_000, "int64"),
        State("int", "VALUE", Types.INT(), lambda n: 1 - n, "int32"),
        State("double", "VALUE", Types.DOUBLE(), lambda n: n / 3, "float64"),
        State("boolean", "VALUE", Types.BOOLEAN(), lambda n: n % 2 == 0, "bool"),
        State("string", "VALUE", Types.STRING(), lambda n: KEYS[n % 3] * 2, "string"),
        State("decimal", "VALUE", Types.BIG_DEC(), lambda n: Decimal(n).scaleb(-2), "decimal(10,2)", decimal),
        State("strings", "LIST", Types.STRING(), lambda n: f"{n} {KEYS[n % 4]}", "string"),
        State("longs", "LIST", Types.LONG(), lambda n: n, "int64"),
        State("map", "MAP", (Types.STRING(), Types.STRING()), lambda n: (KEYS[n % 3], str(n)), "string"),
        State("sum", "REDUCING", Types.LONG(), lambda n: n, "int64"),
        State("total", "AGGREGATING", Types.LONG(), lambda n: 2 * n, "int64"),
    ]
    if mode == "process":
        states += [
            State("date", "VALUE", Types.SQL_DATE(), lambda n: date(2024, 2, 1 + n % 28), "date", lambda d: d.isoformat()),
            State("time", "VALUE", Types.SQL_TIME(), lambda n: clock(1, 2, n), "time", lambda t: t.isoformat("milliseconds")),
        ]
        row = Types.ROW([Types.INT(), Types.STRING()])
        states.append(State("row", "VALUE", row, lambda n: Row(n, None if n % 2 else "text"), "row<int32, string>", row_fields))
        states.append(State("list", "VALUE", Types.LIST(Types.LONG()), lambda n: list(range(n % 4)), "list<int64>"))
    return states


def decimal(value: Decimal) -> dict[str, str]:
    return {"$decimal": str(value)}


def pickled(mode: str) -> list[State]:
    states = [
        State("value", "VALUE", PICKLED(), plain, "pickle"),
        State("list", "LIST", PICKLED(), lambda n: (n, None), "pickle"),
        State("row", "VALUE", PICKLED(), lambda n: Row(n, "x"), "pickle", lambda row: list(row)),
        State("named_row", "VALUE", PICKLED(), lambda n: Row(id=n, name="ä"), "pickle", lambda row: row.as_dict()),
        State("dataclass", "VALUE", PICKLED(), lambda n: Point(n, n / 2, ["a"]), "pickle", dataclass),
        State("namedtuple", "VALUE", PICKLED(), lambda n: Pair(n, str(n)), "pickle", lambda p: made("Pair", [p.left, p.right])),
        State("slots", "VALUE", PICKLED(), lambda n: Slots(n, "b"), "pickle", lambda s: fields("Slots", {"a": s.a, "b": s.b})),
        State("enum", "VALUE", PICKLED(), lambda n: [Color.GREEN, Level.HIGH, n], "pickle",
              lambda v: [made("Color", ["green"]), made("Level", [2]), v[2]]),
        State("numpy", "VALUE", PICKLED(), lambda n: [np.float64(n / 3), np.arange(n % 3, dtype="i4")], "pickle",
              lambda v: [float(v[0]), v[1].tolist()]),
        State("aware", "VALUE", PICKLED(), aware, "pickle", lambda v: [t.isoformat() for t in v]),
    ]
    if mode == "process":
        # In thread mode the keys are Java's arrays: no two are equal, so none is ever found again.
        states.append(State("map", "MAP", (PICKLED(), PICKLED()), lambda n: (n % 4, plain(n)), "pickle"))
    return states


def aware(n: int) -> list[Any]:
    """The same moment in two zones, and a day."""
    moment = datetime(2024, 2, 29, 12, 0, n, 5, UTC)
    return [moment, moment.astimezone(timezone(timedelta(hours=5, minutes=30))), date(2024, 2, 29)]


def made(name: str, arguments: list[Any]) -> dict[str, Any]:
    """An object that is made of arguments, as the reader shows it."""
    return {"$python": f"shapes.{name}", "args": arguments}


def fields(name: str, values: dict[str, Any]) -> dict[str, Any]:
    return {"$python": f"shapes.{name}", "fields": values}


def dataclass(point: Point) -> dict[str, Any]:
    return fields("Point", {"x": point.x, "y": point.y, "tags": point.tags})


class Process(KeyedProcessFunction):  # type: ignore[misc]
    """Feeds all states with an event's number, and notes that it did."""

    def __init__(self, uid: str, mode: str, seen: str) -> None:
        self.uid, self.mode, self.seen = uid, mode, seen

    def open(self, runtime_context: Any) -> None:
        self.updates = [state.open(runtime_context) for state in operators(self.mode)[self.uid][2]]

    def process_element(self, value: Any, ctx: Any) -> Iterator[int]:
        number = value[1]
        for update in self.updates:
            update(number)
        ctx.timer_service().register_event_time_timer(FAR + number)
        with open(self.seen, "a") as file:
            file.write(".")
        yield number


def configuration(mode: str, work: Path, compression: bool, backend: str = "hashmap") -> Configuration:
    """Options changed their names between the versions: each is set under both."""
    folder = (work / "checkpoints").as_uri()
    options = {
        "execution.checkpointing.dir": folder,
        "state.checkpoints.dir": folder,
        "execution.checkpointing.interval": "1 s",
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "execution.checkpointing.num-retained": "100",
        "state.checkpoints.num-retained": "100",
        "execution.checkpointing.data-inline-threshold": "0 b",
        "state.storage.fs.memory-threshold": "0 b",
        "execution.checkpointing.snapshot-compression": str(compression).lower(),
        "rest.port": "0",
        "state.backend.type": backend,
        "python.execution-mode": mode,
        "python.executable": sys.executable,
        "python.client.executable": sys.executable,
    }
    out = Configuration()
    for name, value in options.items():
        out.set_string(name, value)
    return out


def serve() -> int:
    """All events on a port, and then nothing more."""
    server = socket.create_server(("127.0.0.1", 0))

    def send() -> None:
        connection, _ = server.accept()
        for n in EVENTS:
            connection.sendall(b"%d\n" % n)
        time.sleep(10 * PATIENCE)

    threading.Thread(target=send, daemon=True).start()
    return int(server.getsockname()[1])


def wait(done: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE
    while not done():
        if time.monotonic() > until:
            sys.exit(f"no {what}")
        time.sleep(0.1)


def checkpoints(work: Path) -> list[Path]:
    return sorted((work / "checkpoints").glob("*/chk-*/_metadata"), key=lambda path: int(path.parent.name[4:]))


def snapshot(job: Any, kind: str, work: Path) -> Path:
    if kind == "checkpoint":
        before = len(checkpoints(work))
        wait(lambda: len(checkpoints(work)) >= before + 2, "checkpoint")
        return checkpoints(work)[before + 1].parent
    formats = get_gateway().jvm.org.apache.flink.core.execution.SavepointFormatType
    format_ = formats.NATIVE if kind == "native-savepoint" else formats.CANONICAL
    uri = job._j_job_client.triggerSavepoint((work / "savepoints").as_uri(), format_).get()
    return Path(uri.removeprefix("file://").removeprefix("file:"))


def operators(mode: str) -> dict[str, tuple[Any, Callable[[int], Any], list[State]]]:
    """By uid: the key's type, the key of a number, the states."""
    return {
        "typed": (Types.STRING(), lambda n: KEYS[n % len(KEYS)], typed(mode)),
        "pickled": (PICKLED(), lambda n: (n % 3, "key"), pickled(mode)),
    }


def expected(case: str, kind: str, mode: str, compression: bool, path: str) -> dict[str, Any]:
    process = mode == "process"
    out = []
    for uid, (_, key, states) in operators(mode).items():
        numbers: dict[Any, list[int]] = {}
        for n in EVENTS:
            numbers.setdefault(key(n), []).append(n)
        documents = []
        for state in states:
            # All but lists and maps is a value, and a Python process keeps values as lists, and has names of its own.
            lists = state.kind == "LIST" or (process and state.kind != "MAP")
            rows = []
            for k, ns in numbers.items():
                found = state.model(ns)
                value = {"$map": found} if state.kind == "MAP" else found if lists else found[0]
                rows.append({"key": list(k) if uid == "pickled" else k, "value": value})
            documents.append({
                "name": "python-state-" * process + state.name,
                "kind": "LIST" if lists else "MAP" if state.kind == "MAP" else "VALUE",
                "ttl": False,
                "wish": state.wish if process or state.wish in NOT_JAVAS else None,
                "rows": rows,
            })  # fmt: skip
        timers = [
            {"key": list(k) if uid == "pickled" else k, "value": FAR + n} for k, ns in numbers.items() for n in ns
        ]
        documents += [
            {"name": "_timer_state/event_user-timers", "kind": "TIMERS", "ttl": False, "rows": timers},
            {"name": "_timer_state/processing_user-timers", "kind": "TIMERS", "ttl": False, "rows": []},
        ]
        out.append({
            "uid": uid, "name": uid, "parallelism": 1, "max_parallelism": 8, "states": documents, "operator_states": [],
        })  # fmt: skip
    return {
        "case": case, "job": "pyflink", "flink_version": __version__, "kind": kind, "mode": mode,
        "compression": compression, "parallelism": 1, "max_parallelism": 8, "storage": "file", "restored_from": None,
        "snapshot": path, "operators": out,
    }  # fmt: skip


def main() -> None:
    case, kind, mode = sys.argv[1:4]
    work, target = Path(sys.argv[4]), Path(sys.argv[5])
    compression = "-snappy" in case
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    seen = work / "seen"
    seen.touch()
    env = StreamExecutionEnvironment.get_execution_environment(configuration(mode, work, compression))
    env.set_parallelism(1).set_max_parallelism(8)
    env.add_python_file(str(Path(__file__).with_name("shapes.py")))
    lines = DataStream(env._j_stream_execution_environment.socketTextStream("127.0.0.1", serve()))
    wanted = operators(mode)
    for uid, (type_, key, _) in wanted.items():
        pairs = lines.map(lambda line, key=key: (key(int(line)), int(line)), Types.TUPLE([type_, Types.LONG()]))
        keyed = pairs.key_by(lambda pair: pair[0], type_)
        keyed.process(Process(uid, mode, str(seen)), Types.LONG()).uid(uid).name(uid)
    job = env.execute_async(case)
    wait(lambda: len(seen.read_text()) == len(EVENTS) * len(wanted), "event")
    folder = snapshot(job, kind, work)
    root = work / ("checkpoints" if kind == "checkpoint" else "savepoints")
    shutil.rmtree(target, ignore_errors=True)
    path = folder.relative_to(root)
    shutil.copytree(folder, target / path)
    job.cancel().result()
    document = expected(case, kind, mode, compression, str(path))
    (target / "expected.json").write_text(json.dumps(document, indent=1) + "\n", encoding="ascii")
    print(case)
    sys.stdout.flush()
    os._exit(0)  # the server's thread sleeps


if __name__ == "__main__":
    main()
