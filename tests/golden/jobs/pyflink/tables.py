"""A PyFlink job of the Table API: Python aggregates whose accumulators have a ListView and a MapView, and a plain Row.

Arguments: as ``job.py``; the mode is ``process``, as these aggregates have no other.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from job import KEYS, configuration, serve, snapshot, wait
from pyflink.common import Row, Types
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.table import AggregateFunction, DataTypes, ListView, MapView, StreamTableEnvironment
from pyflink.table.udf import udaf
from pyflink.version import __version__

EVENTS = 24


class Views(AggregateFunction):  # type: ignore[misc]
    """Keeps all texts in a list, and how often each remainder came in a map."""

    def create_accumulator(self) -> Row:
        return Row(ListView(), MapView(), 0)

    def accumulate(self, accumulator: Row, text: str, number: int) -> None:
        accumulator[0].add(text)
        found = accumulator[1].get(f"m{number % 3}") if f"m{number % 3}" in accumulator[1] else 0
        accumulator[1][f"m{number % 3}"] = (found or 0) + 1
        accumulator[2] = accumulator[2] + 1
        with open(os.environ["SEEN"], "a") as file:
            file.write(".")

    def get_value(self, accumulator: Row) -> int:
        return int(accumulator[2])

    def retract(self, accumulator: Row, text: str, number: int) -> None:
        raise NotImplementedError

    def get_result_type(self) -> Any:
        return DataTypes.BIGINT()

    def get_accumulator_type(self) -> Any:
        views = [
            DataTypes.FIELD("l", DataTypes.LIST_VIEW(DataTypes.STRING())),
            DataTypes.FIELD("m", DataTypes.MAP_VIEW(DataTypes.STRING(), DataTypes.BIGINT())),
        ]
        return DataTypes.ROW([*views, DataTypes.FIELD("n", DataTypes.BIGINT())])


class Average(AggregateFunction):  # type: ignore[misc]
    """Keeps a plain Row of how many and their sum."""

    def create_accumulator(self) -> Row:
        return Row(0, 0.0)

    def accumulate(self, accumulator: Row, number: int) -> None:
        accumulator[0] += 1
        accumulator[1] += number

    def get_value(self, accumulator: Row) -> float:
        return float(accumulator[1] / accumulator[0]) if accumulator[0] else 0.0

    def get_result_type(self) -> Any:
        return DataTypes.DOUBLE()

    def get_accumulator_type(self) -> Any:
        return DataTypes.ROW([DataTypes.FIELD("n", DataTypes.BIGINT()), DataTypes.FIELD("sum", DataTypes.DOUBLE())])


def key_of(n: int) -> str:
    return KEYS[n % len(KEYS)]


def expected() -> list[dict[str, Any]]:
    """The states of the aggregation with what the input leaves behind, by key. The views are null in the accumulators."""
    found: dict[str, dict[str, Any]] = {}
    for n in range(EVENTS):
        of = found.setdefault(key_of(n), {"list": [], "map": {}, "sum": 0.0})
        of["list"].append(f"s{n}")
        of["map"][f"m{n % 3}"] = of["map"].get(f"m{n % 3}", 0) + 1
        of["sum"] += n
    values = {
        "accumulators": ("LIST", lambda of: [[[None, None, len(of["list"])], [len(of["list"]), of["sum"]]]]),
        "agg0$l": ("LIST", lambda of: of["list"]),
        "agg0$m": ("MAP", lambda of: {"$map": [list(pair) for pair in of["map"].items()]}),
    }
    return [
        {
            "name": f"python-state-{name}", "kind": kind, "ttl": False,
            "rows": [{"key": key, "value": value(of)} for key, of in found.items()],
        }
        for name, (kind, value) in values.items()
    ]  # fmt: skip


def main() -> None:
    case, kind, mode = sys.argv[1:4]
    backend = "rocksdb" if "-rocksdb" in case else "hashmap"
    work, target = Path(sys.argv[4]), Path(sys.argv[5])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    seen = work / "seen"
    seen.touch()
    os.environ["SEEN"] = str(seen)
    env = StreamExecutionEnvironment.get_execution_environment(configuration(mode, work, "-snappy" in case, backend))
    env.set_parallelism(1).set_max_parallelism(8)
    tables = StreamTableEnvironment.create(env)
    lines = DataStream(env._j_stream_execution_environment.socketTextStream("127.0.0.1", serve()))
    types = Types.ROW_NAMED(["k", "n", "s"], [Types.STRING(), Types.LONG(), Types.STRING()])
    rows = lines.map(lambda line: Row(key_of(int(line)), int(line), f"s{line}"), types)
    tables.create_temporary_view("numbers", tables.from_data_stream(rows))
    tables.create_temporary_function("py_views", udaf(Views()))
    tables.create_temporary_function("py_average", udaf(Average()))
    tables.execute_sql("CREATE TABLE results (k STRING, n BIGINT, a DOUBLE) WITH ('connector' = 'blackhole')")
    result = tables.execute_sql("INSERT INTO results SELECT k, py_views(s, n), py_average(n) FROM numbers GROUP BY k")
    job = result.get_job_client()
    wait(lambda: len(seen.read_text()) >= EVENTS, "event")
    folder = snapshot(job, kind, work)
    shutil.rmtree(target, ignore_errors=True)
    path = folder.relative_to(work / ("checkpoints" if kind == "checkpoint" else "savepoints"))
    shutil.copytree(folder, target / path)
    job.cancel().result()
    document = {
        "case": case, "job": "pyflink-tables", "flink_version": __version__, "kind": kind, "mode": mode, "compression": False,
        "parallelism": 1, "max_parallelism": 8, "storage": "file", "backend": backend, "restored_from": None,
        "snapshot": str(path),
        "operators": [{"name": "PythonGroupAggregate", "states": expected(), "operator_states": []}],
    }  # fmt: skip
    (target / "expected.json").write_text(json.dumps(document, indent=1) + "\n", encoding="ascii")
    print(case)
    sys.stdout.flush()
    os._exit(0)  # the server's thread sleeps


if __name__ == "__main__":
    main()
