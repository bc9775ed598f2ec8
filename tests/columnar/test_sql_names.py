"""Arrow's types by Spark's names: the same as PySpark gives them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from stateextract.columnar.arrow.sql_names import sql_schema, sql_type
from stateextract.errors import UsageError
from stateextract.spark.source_types import spark_schema

LEAVES = [
    pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string(), pa.binary(),
    pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.decimal128(10, 2), pa.decimal128(38, 38), pa.null(),
]  # fmt: skip
ABROAD = [pa.timestamp("ns"), pa.timestamp("ms", "UTC"), pa.uint8(), pa.float16()]


@pytest.mark.parametrize("type_", LEAVES, ids=str)
def test_names_are_those_of_spark(type_: pa.DataType) -> None:
    nested = pa.struct(
        [pa.field("a", pa.list_(type_)), pa.field("b c", pa.map_(pa.string(), pa.struct([("d", type_)])))]
    )
    schema = pa.schema({"leaf": type_, "nested": nested})
    assert sql_schema(schema) == spark_schema(schema).simpleString()


@pytest.mark.parametrize("type_", ABROAD, ids=str)
def test_what_spark_does_not_have(type_: pa.DataType) -> None:
    for outer in (type_, pa.list_(type_), pa.map_(pa.string(), type_), pa.struct([("a", type_)])):
        assert sql_type(outer) is None
        with pytest.raises(UsageError, match="Spark cannot read"):
            spark_schema(pa.schema({"a": outer}))


def test_wider_decimals_have_no_name() -> None:
    assert sql_type(pa.decimal256(50, 2)) is None
