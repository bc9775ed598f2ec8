"""Dataclasses from what JSON gives, with every value held against the type of its field.

Objects may have fields that are not known, and lack those that have a default. A large document has a million objects, so what
a type wants is worked out once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from stateextract.errors import UsageError

T = TypeVar("T")


def made_of(kind: type[T], value: Any, what: str) -> T:
    """The dataclass of a JSON object.

    :param kind: its fields are of plain types, of dataclasses, lists of those, unions of one of them and ``None``, or ``Any``.
    :param what: what it is called in errors.
    :raises UsageError: with the path of a value whose type is another than the declared one.
    """
    try:
        made = _maker(kind)(value)  # type: ignore[arg-type]
    except _Wrong as wrong:
        where = wrong.where.lstrip(".")
        if wrong.expected is None:
            raise UsageError(f"{what} lacks something at {where or 'its top'}: {wrong.value}") from None
        raise UsageError(f"{where} of {what} is {str(wrong.value)[:100]!r}", expected=wrong.expected) from None
    assert isinstance(made, kind)
    return made


_Maker = Callable[[Any], Any]
"""Gives the value of a field."""


class _Wrong(Exception):
    """Something else than expected, or (``None``) an object that lacks something; where it is it learns on its way up."""

    def __init__(self, value: Any, expected: str | None) -> None:
        super().__init__()
        self.value, self.expected, self.where = value, expected, ""


@cache
def _maker(kind: Any) -> _Maker:
    if kind is Any:
        return lambda value: value
    if get_origin(kind) in (Union, UnionType):
        of = _maker(next(part for part in get_args(kind) if part is not NoneType))
        return lambda value: None if value is None else of(value)
    if get_origin(kind) is list:
        return _list_maker(_maker(get_args(kind)[0]))
    if is_dataclass(kind):
        return _object_maker(kind)
    return _float if kind is float else _plain_maker(kind)


def _list_maker(of: _Maker) -> _Maker:
    def make(value: Any) -> list[Any]:
        if type(value) is not list:
            raise _Wrong(value, "a list")
        made: list[Any] = []
        try:
            for item in value:
                made.append(of(item))
        except _Wrong as wrong:
            wrong.where = f"[{len(made)}]{wrong.where}"
            raise
        return made

    return make


def _object_maker(kind: Any) -> _Maker:
    hints = get_type_hints(kind)
    parts = [(f.name, _maker(hints[f.name])) for f in fields(kind)]

    def make(value: Any) -> Any:
        if type(value) is not dict:
            raise _Wrong(value, "an object")
        given, name = {}, ""
        try:
            for name, of in parts:
                if name in value:
                    given[name] = of(value[name])
        except _Wrong as wrong:
            wrong.where = f".{name}{wrong.where}"
            raise
        try:
            return kind(**given)
        except TypeError as error:
            raise _Wrong(error, None) from error

    return make


def _plain_maker(kind: type) -> _Maker:
    def make(value: Any) -> Any:
        # A bool is not an int here.
        if type(value) is not kind:
            raise _Wrong(value, f"a value of type {kind.__name__}")
        return value

    return make


def _float(value: Any) -> float:
    if type(value) not in (int, float):
        raise _Wrong(value, "a value of type float")
    try:
        return float(value)
    except OverflowError as error:
        raise _Wrong(value, "a value of type float") from error
