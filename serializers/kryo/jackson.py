"""Jackson's trees (``JsonNode`` and the classes below it), which Kryo writes field by field, and the JSON that they are.

Jackson's classes: ``com.fasterxml.jackson.databind.node.*``, of all releases 2.x, and the copy that Flink has of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from serializers.classes import ClassModel, FieldModel
from serializers.kryo.kryo_values import Obj

_PACKAGES: Final = ("com.fasterxml.jackson.databind.", "org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.")
_VALUES: Final = {
    "TextNode": "java.lang.String", "IntNode": "int", "LongNode": "long", "ShortNode": "short", "FloatNode": "float",
    "DoubleNode": "double", "BooleanNode": "boolean", "BigIntegerNode": "java.math.BigInteger",
    "DecimalNode": "java.math.BigDecimal", "POJONode": "java.lang.Object",
}  # fmt: skip


def _models(package: str) -> Iterator[ClassModel]:
    tree, node = package + "JsonNode", package + "node."

    def model(name: str, above: str, **fields: str) -> ClassModel:
        parts = tuple(FieldModel(field, type_) for field, type_ in fields.items())
        return ClassModel(node + name, superclass=above, fields=parts)

    yield ClassModel(tree, kind="interface")
    yield model("JsonNodeFactory", "java.lang.Object", _cfgBigDecimalExact="boolean")
    yield model("ContainerNode", tree, _nodeFactory=node + "JsonNodeFactory")
    yield model("ObjectNode", node + "ContainerNode", _children=f"java.util.Map<java.lang.String, {tree}>")
    yield model("ArrayNode", node + "ContainerNode", _children=f"java.util.List<{tree}>")
    yield model("BinaryNode", tree, _data="byte[]")
    yield model("NullNode", tree)
    yield model("MissingNode", tree)
    for name, type_ in _VALUES.items():
        yield model(name, tree, _value=type_)


CLASSES: Final = {model.name: model for package in _PACKAGES for model in _models(package)}
"""The classes of trees, by name."""

_FIELDS: Final = {
    package + "node." + name: key
    for package in _PACKAGES
    for name, key in (
        ("ObjectNode", "_children"), ("ArrayNode", "_children"), ("BinaryNode", "_data"), ("NullNode", ""),
        ("MissingNode", ""), *((name, "_value") for name in _VALUES),
    )
}  # fmt: skip
"""The field with what a node is, by class; empty for nodes that are null."""


def is_class(name: str) -> bool:
    """Whether objects of a class may be nodes of a tree."""
    return name in _FIELDS


def is_node(obj: Obj) -> bool:
    """Whether an object is a node of a tree, read field by field.

    A class of the user's with the name of a node and other fields is none.
    """
    key = _FIELDS.get(obj.class_name) if obj.kind == "fields" else None
    return key is not None and (not key or key in obj.value)


def content(obj: Obj) -> Any:
    """What a node is: a map of nodes, a list of nodes, a value or null."""
    key = _FIELDS[obj.class_name]
    return obj.value.get(key) if key else None
