"""SQL over the rows of a state: DuckDB reads the batches as they are decoded, so that memory does not grow with the state.

The table is called ``state`` and has the columns of an extract. DuckDB is an optional package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from stateextract.columnar.arrow.json_values import json_value
from stateextract.errors import EnvironmentProblem, UsageError
from stateextract.job.plan import Plan, make_plan
from stateextract.options import JobOptions
from stateextract.snapshot.headers import OnHeaders, ignore_progress
from stateextract.snapshot.part_reader import open_reader
from stateextract.state.counters import Counters

MOST = 5
"""How many rows of an answer are given."""


def query_state(
    options: JobOptions,
    operator_id: str,
    state: str,
    kind: str,
    sql: str,
    on_headers: OnHeaders = ignore_progress,
    on_parts: Callable[[list[int]], Callable[[int], None]] = lambda sizes: lambda number: None,
) -> tuple[list[dict[str, Any]], int]:
    """Some of the rows that a query gives, and how many it gives.

    :param kind: of the state, as in the statistics document.
    :param on_headers: as of :func:`stateextract.job.plan.make_plan`.
    :param on_parts: receives the sizes of the parts that are read, and returns a callback for parts that were read.
    :returns: at most :data:`MOST` rows, as JSON, and the number of all.
    :raises EnvironmentProblem: where DuckDB is not installed.
    :raises UsageError: where the query cannot be right.
    """
    try:
        import duckdb
    except ImportError as error:
        raise EnvironmentProblem(
            "rules with sql need the package duckdb", advice="pip install 'stateextract[sql]'"
        ) from error
    options = replace(options, operator=(operator_id,), state=(state,))
    plan = make_plan(options, on_headers=on_headers)
    planned = next(p for p in plan.states if p.name == state and p.entry.kind == kind)
    schema = planned.target.schema
    reader = pa.RecordBatchReader.from_batches(schema, _batches(plan, options, planned.operator, state, on_parts))
    with duckdb.connect(":memory:", config={"enable_external_access": "false"}) as connection:
        connection.register("state", reader)
        try:
            # What is not a query gives no rows either, and the rule would hold.
            if [s.type for s in connection.extract_statements(sql)] != [duckdb.StatementType.SELECT]:
                raise UsageError("the sql of a rule is not a query", expected="one SELECT", state=state)
            rows: list[dict[str, Any]] = []
            count = 0
            for batch in connection.sql(sql).to_arrow_reader(10_000):
                rows += _rows(batch.slice(0, MOST - len(rows)))
                count += batch.num_rows
        except duckdb.Error as error:
            raise UsageError(f"the query of a rule fails: {error}", state=state) from error
    return rows, count


def _rows(table: pa.RecordBatch) -> list[dict[str, Any]]:
    return [{name: json_value(table[name][i]) for name in table.column_names} for i in range(table.num_rows)]


def _batches(
    plan: Plan, options: JobOptions, operator: int, state: str, on_parts: Callable[[list[int]], Callable[[int], None]]
) -> Iterator[pa.RecordBatch]:
    targets = plan.operators[operator]
    reader = open_reader(options, plan.found.metadata_uri, plan.describe)
    only = replace(targets, states={state: targets.states[state]})
    parts = [part for split in plan.splits for part in split if part.operator == operator]
    on_part = on_parts([part.content.read_size for part in parts])
    for number, part in enumerate(reader.in_order(parts, lambda _: only)):
        yield from (piece.batch for piece in reader.pieces(part, only, Counters()) if not piece.raw)
        on_part(number)
