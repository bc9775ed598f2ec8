"""Arrow's schemas and Spark's, and what a schema that the user gives takes of a state's.

Spark checks a source's first batch against the Arrow schema that it makes of its own, nullability included; ``cast_batch``
brings batches to it. Imports PySpark, which both the driver's planners and the workers have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from stateextract.errors import UsageError
from stateextract.printable import nearest


def spark_schema(schema: pa.Schema) -> Any:
    """The ``StructType`` of an Arrow schema.

    :raises UsageError: where Spark has no such type; only type overrides lead there.
    """
    from pyspark.errors import PySparkTypeError
    from pyspark.sql.pandas.types import from_arrow_schema

    for field in schema:
        try:
            converted = from_arrow_schema(pa.schema([field]), prefer_timestamp_ntz=True)  # not the default before 4.2
            fits = arrow_schema(converted).field(0).type == field.type
        except PySparkTypeError:
            fits = False
        if not fits:
            raise UsageError(
                f"Spark cannot read the column {field.name!r} of type {field.type}",
                advice="timestamps have to be in microseconds there; leave the column out with columns",
            )
    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


def arrow_schema(schema: Any) -> pa.Schema:
    """The Arrow schema that Spark expects of a source with this ``StructType``."""
    from pyspark.sql.pandas.types import to_arrow_schema

    try:
        return to_arrow_schema(schema, timezone="UTC")
    except TypeError:  # before PySpark 4.3 it is UTC always
        return to_arrow_schema(schema)


def only_columns(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    """The columns of these names, in that order.

    :raises UsageError: for one that is not there, or there twice.
    """
    for name in names:
        if name not in schema.names:
            raise _no_such("column", name, schema.names)
    if len(set(names)) != len(names):
        raise UsageError(f"the option columns names {max(names, key=list(names).count)!r} twice")
    return pa.schema([schema.field(name) for name in names])


def given_schema(schema: Any, have: pa.Schema) -> pa.Schema:
    """The Arrow schema of a ``StructType`` that Spark or the user gives.

    :raises UsageError: if it is not a part of the state's.
    """
    given = arrow_schema(schema)
    check_given(given, have)
    return given


def check_given(given: pa.Schema, have: pa.Schema) -> None:
    """Refuse a schema that is not a part of the state's: some columns, with some fields of their structs.

    :param given: made of the user's schema.
    """
    for field in given:
        if field.name not in have.names:
            raise _no_such("column", field.name, have.names)
        _check(field.type, have.field(field.name).type, field.name)


def _check(given: pa.DataType, have: pa.DataType, path: str) -> None:
    if pa.types.is_struct(given) and pa.types.is_struct(have):
        names = [f.name for f in have]
        for field in given:
            if field.name not in names:
                raise _no_such(f"field of {path}", field.name, names)
            _check(field.type, have.field(field.name).type, f"{path}.{field.name}")
    elif pa.types.is_list(given) and pa.types.is_list(have):
        _check(given.value_type, have.value_type, f"{path}.element")
    elif pa.types.is_map(given) and pa.types.is_map(have):
        _check(given.key_type, have.key_type, f"{path}.key")
        _check(given.item_type, have.item_type, f"{path}.value")
    elif given != have:
        raise UsageError(
            f"the schema that was given has {path!r} as {given}",
            expected=f"{have}, as in the snapshot",
            advice="the option types requests other types",
        )


def _no_such(what: str, name: str, known: Sequence[str]) -> UsageError:
    near = nearest(name, known)
    advice = f"the nearest is {near[0]!r}" if near else f"there are {', '.join(known)}"
    return UsageError(f"there is no {what} called {name!r}", advice=advice)
