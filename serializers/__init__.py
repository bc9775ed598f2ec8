"""Serializers: what Flink's serializer snapshots say about the bytes of values.

A snapshot is read (``snapshots.py``) and described (``registry.py``): describing turns it into a layout, from which the
engine derives the Arrow schema and the decoders. Nothing here decodes a value. One module per family, each a list of
``register(snapshot class, layout)``; those of ``FAMILIES`` are imported when a snapshot names a class of theirs:

=============  =========================================================================================
scalars        primitives, String, BigInteger, BigDecimal, Void and other types of one value
datetime       Date, java.sql, java.time
arrays         arrays of primitives, strings, objects
containers     List, Map, Set, data views
tuples         Tuple, Row, Either, Nullable, Enum
pojo           POJOs and records, with subclasses
values         Flink's Value types, Variant, Bitmap
writables      classes that write themselves: Value, CopyableValue, Hadoop's Writable
windows        windows, timers, stream elements, join buffers, two-phase commits
ttl            values with a time of last access
avro           Avro (schemas: avroschema; types inside themselves: avrojson)
beam           Apache Beam's coders
cep            the state of pattern matching
scala          case classes, Option, Either, Try, collections, enumerations
flinkx         the same of flink-scala-api
statefun       messages and values of Stateful Functions
kryo           Kryo 2 and 5, by the classes that the user gives
sql            SQL's rows, arrays, maps and collections (types: logical_types)
pyflink        PyFlink's exchange with Python processes
javaobjects    objects that Java's own serialization wrote
legacy         the config snapshots of Flink up to 1.7
=============  =========================================================================================

``docs/serializers.md`` describes how to add one.
"""

from __future__ import annotations

from serializers import (
    arrays,
    containers,
    datetime,
    legacy,
    pojo,
    scala,
    scalars,
    sql,
    ttl,
    tuples,
    values,
    windows,
    writables,
)
from serializers.context import DescribeContext
from serializers.registry import SerializerSnapshot, describe, is_fixed_length, load_plugins, register
from serializers.snapshots import read_snapshot, read_snapshot_proxy

_ALWAYS = (
    arrays, containers, datetime, legacy, pojo, scala, scalars, sql, ttl, tuples, values, windows, writables,
)  # fmt: skip

__all__ = [
    "DescribeContext",
    "SerializerSnapshot",
    "describe",
    "is_fixed_length",
    "load_plugins",
    "read_snapshot",
    "read_snapshot_proxy",
    "register",
]
