"""The tables of ``flink-state-metadata`` for which Spark's tasks read states.

``statistics`` has the rows of a history (``audit/history/__init__.py``), ``coverage`` what became of each state, ``owners`` the
keys and windows that own most.
"""

from __future__ import annotations

import json
import pickle
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import pyarrow as pa

from stateextract.audit.by_state import StatesPlan, StatesTask, plan_by_state
from stateextract.audit.collect import StatisticsRunner
from stateextract.audit.document import OperatorDocument, Statistics
from stateextract.audit.durations import moment, times_to_live
from stateextract.audit.history import READ, SCHEMA, table_of
from stateextract.audit.statistics import StatisticsOptions
from stateextract.columnar.arrow.unite_schemas import cast_batch
from stateextract.errors import leaving
from stateextract.snapshot.coverage import CoverageEntry
from stateextract.spark.carried import Carried
from stateextract.spark.source_options import (
    COVERAGE,
    DOORS,
    METADATA,
    METADATA_OPTIONS,
    OWNERS,
    STATISTICS,
    job_options,
    operator_asked,
)
from stateextract.spark.source_types import arrow_schema, given_schema


@dataclass(frozen=True)
class _Planned(Carried):
    """What is read.

    :param table: ``statistics`` or ``coverage``; :param state: the only state that is asked for, if any.
    :param given: the schema that Spark expects of batches.
    """

    table: str
    state: str
    states: StatesPlan
    given: pa.Schema


_TEXT, _I64 = pa.string(), pa.int64()
COVERAGE_SCHEMA = pa.schema({
    "checkpoint_id": _I64, "operator_name": _TEXT, "operator_uid": _TEXT, "operator_id": _TEXT, "state_name": _TEXT,
    "state_kind": _TEXT, "status": _TEXT, "reason": _TEXT, "row_count": _I64, "lost_entries": _I64, "lost_key_groups": _I64,
    "problems": pa.list_(_TEXT),
})  # fmt: skip
"""The columns of the table ``coverage``."""
_OWNED = {"bytes": _I64, "rows": _I64, "entries": _I64, "error": _I64}
OWNERS_SCHEMA = pa.schema({
    "checkpoint_id": _I64, "operator_name": _TEXT, "operator_uid": _TEXT, "operator_id": _TEXT, "kind": _TEXT, "rank": _I64,
    "owner": _TEXT, "key_group": _I64, **_OWNED, "operator_bytes": _I64, "others_at_most": _I64,
    "states": pa.list_(pa.struct({"state_name": _TEXT, **_OWNED})),
})  # fmt: skip
"""The columns of the table ``owners``."""
_TOP = 100
"""Owners of each kind that an operator has in the table ``owners``."""


def read_table_schema(table: str) -> Any:
    """The ``StructType`` of a table."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(_SCHEMAS[table])


_SCHEMAS = {STATISTICS: SCHEMA, COVERAGE: COVERAGE_SCHEMA, OWNERS: OWNERS_SCHEMA}


@leaving(DOORS[METADATA])
def planned(values: Mapping[str, Any], schema: Any) -> bytes:
    """A plan.

    :param values: of the options; :param schema: the columns that are wanted, as Spark's ``StructType``.
    :raises StateExtractError: where the snapshot cannot be read, or not what was asked for.
    """
    given = given_schema(schema, arrow_schema(read_table_schema(values["table"])))
    operators = operator_asked(values, METADATA)
    # What becomes of a state that is asked for by name is an error elsewhere, and a row here.
    covers, name = values["table"] == COVERAGE, values["stateName"]
    states = (name,) if name and not covers else ()
    where = f"{METADATA}: the option"
    as_of = moment(values["asOf"], f"{where} asOf") if values["asOf"] else None
    top = _TOP if values["table"] == OWNERS else 1
    statistics_options = StatisticsOptions(as_of, times_to_live(values["ttl"], f"{where} ttl"), top=top)
    job = job_options(values, METADATA_OPTIONS, operator=operators, state=states)
    plan = plan_by_state(job, statistics_options, by_operator=values["table"] == OWNERS)
    return _Planned(values["table"], name, plan, given).to_bytes()


def splits(data: bytes) -> list[bytes]:
    """What each task does: read states, or say which are not read."""
    planned = _Planned.from_bytes(data)
    plan = planned.states
    parts: list[StatesTask | Statistics | list[CoverageEntry]] = [*plan.tasks]
    if planned.table == COVERAGE:
        tasks = [task.only(planned.state) if planned.state else task for task in plan.tasks]
        unread = [entry for entry in plan.entries if planned.state in ("", entry.state)]
        parts = [*(task for task in tasks if task.entries), *([unread] if unread else [])]
    elif planned.table == STATISTICS and any(True for _ in plan.unread.states):
        parts.append(plan.unread)
    return [zlib.compress(pickle.dumps(part), 6) for part in parts]


def for_tasks(data: bytes) -> bytes:
    """What all tasks share."""
    plan = _Planned.from_bytes(data)
    return replace(plan, states=replace(plan.states, tasks=(), entries=(), unread=plan.states.empty)).to_bytes()


def read(data: bytes, split: bytes) -> Iterator[pa.RecordBatch]:
    """The rows of some states, as Spark's schema has them.

    :raises StateExtractError: with file, operator, state, key group and offset.
    """
    plan, reader = _running(data)
    part: StatesTask | Statistics | list[CoverageEntry] = pickle.loads(zlib.decompress(split))
    with leaving(DOORS[METADATA]):
        if plan.table == COVERAGE:
            entries = part.cover(reader) if isinstance(part, StatesTask) else part
            found = _covered(entries, plan.states.empty.snapshot.checkpoint_id)  # type: ignore[arg-type]
        elif plan.table == OWNERS:
            operator = part.own(reader, _TOP)  # type: ignore[union-attr]
            found = _owners(operator, plan.states.empty.snapshot.checkpoint_id)
        else:
            document = part.measure(reader, plan.states.empty) if isinstance(part, StatesTask) else part
            found = table_of([document])  # type: ignore[list-item]
    for batch in found.cast(arrow_schema(read_table_schema(plan.table))).to_batches():
        yield cast_batch(batch, plan.given)


def _covered(entries: list[CoverageEntry], checkpoint: int) -> pa.Table:
    """The rows of the table ``coverage``."""
    rows = [
        (checkpoint, e.operator_name, e.uid, e.operator_id, e.state, e.kind, str(e.status), DOORS[METADATA].reason(e.reason),
         e.read.rows if e.status in READ else None, e.read.lost_entries, e.read.lost_key_groups,
         [DOORS[METADATA].reason(problem) for problem in e.read.problems])
        for e in entries
    ]  # fmt: skip
    names = COVERAGE_SCHEMA.names
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], COVERAGE_SCHEMA)


def _owners(operator: OperatorDocument, checkpoint: int) -> pa.Table:
    """The rows of the table ``owners``."""
    rows = [
        {
            "checkpoint_id": checkpoint, "operator_name": operator.operator_name, "operator_uid": operator.operator_uid,
            "operator_id": operator.operator_id, "kind": kind, "rank": rank,
            "owner": owner.owner if isinstance(owner.owner, str) else json.dumps(owner.owner, ensure_ascii=False),
            "key_group": owner.key_group, **{name: getattr(owner, name) for name in _OWNED}, "operator_bytes": owners.bytes,
            "others_at_most": owners.others_at_most, "states": [vars(state) for state in owner.states],
        }
        for kind, owners in (("key", operator.keys), ("window", operator.windows))
        if owners is not None
        for rank, owner in enumerate(owners.largest, 1)
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, OWNERS_SCHEMA)


@lru_cache(maxsize=4)
def _running(data: bytes) -> tuple[_Planned, StatisticsRunner]:
    plan = _Planned.from_bytes(data)
    return plan, StatisticsRunner(plan.states.work)
