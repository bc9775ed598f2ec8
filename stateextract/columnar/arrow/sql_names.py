"""Arrow's types as Spark's SQL names them: ``struct<id:bigint,at:timestamp>``.

What :func:`sql_type` gives is ``DataType.simpleString`` of the type that Spark reads such a column with, without Spark
being there. May import pyarrow only.
"""

from __future__ import annotations

import pyarrow as pa

_NAMES = {
    pa.null(): "void",
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp_ntz",
    pa.timestamp("us", "UTC"): "timestamp",
}


def sql_type(type_: pa.DataType) -> str | None:
    """The name of a type; ``None`` where Spark has no such type (timestamps of another unit, wider decimals)."""
    if pa.types.is_struct(type_):
        fields = [(f.name, sql_type(f.type)) for f in type_]
        if any(name is None for _, name in fields):
            return None
        return f"struct<{','.join(f'{field}:{name}' for field, name in fields)}>"
    if pa.types.is_map(type_):
        key, item = sql_type(type_.key_type), sql_type(type_.item_type)
        return None if key is None or item is None else f"map<{key},{item}>"
    if pa.types.is_list(type_):
        element = sql_type(type_.value_type)
        return None if element is None else f"array<{element}>"
    if pa.types.is_decimal128(type_):
        return f"decimal({type_.precision},{type_.scale})"
    return _NAMES.get(type_)


def sql_schema(schema: pa.Schema) -> str | None:
    """The name of a table's row type; ``None`` where Spark has none for one of the columns."""
    return sql_type(pa.struct(list(schema)))
