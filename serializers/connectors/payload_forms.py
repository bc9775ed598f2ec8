"""What payloads of connectors may be: the forms, by the state that they are in, and the evidence that names one.

A connector keeps bytes behind Flink's wrapper (``SimpleVersionedSerialization``): ``i32`` version, ``i32`` length, the payload.
Which class wrote them is recorded nowhere, and connectors share shapes: one text of version 1 is what the writers of Kafka and
of Doris keep. So a payload is taken for a form only by the state's name *and* version *and* if the form takes the bytes to the
last one *and* if there is evidence that no other connector would give. The evidence is either in the payload (a magic number, a
path as Flink writes it, an offset that Kafka's class reserves), or around it: see :class:`Evidence`.

Depends on the byte cursor. Does not know any connector: each is a module of this package that calls :func:`register_form`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from serializers.connectors.payload_parts import must_end
from serializers.context import NO_EVIDENCE, NO_PARTITIONS, Evidence, Partitions
from stateextract.errors import StateExtractError
from stateextract.files.reader import Reader

MAX_WRAPPERS = 8
"""Around one payload. Jobs have one; bytes can have any number of them."""

COMMITTABLE, COORDINATOR = "committable", "coordinator"
"""Places that are not states: an item of a sink's committer, and what a source's coordinator keeps for its enumerator."""


@dataclass(frozen=True)
class PayloadForm:
    """What a payload may be.

    :param name: of its column, such as ``kafka_split``.
    :param versions: of the payload.
    :param read: takes a cursor over the payload and its version, and returns what the column contains. It raises a
        :class:`FormatError` for bytes that the connector would not write, and must take all bytes.
    :param arrow_type: of the column, or a function that makes it when all forms are registered.
    :param certain: whether no other connector would write this value with this evidence around it.
    :param reason: what makes it certain, for ``docs/types.md``.
    :param partitions: the partitions of Kafka that a value lists, even if it is not certain.
    :param wraps: the payload is a wrapper: the value has ``version`` and ``payload`` of the inner one. It is certain if the
        inner one's form is.
    """

    name: str
    versions: tuple[int, ...]
    read: Callable[[Reader, int], Any]
    arrow_type: pa.DataType | Callable[[], pa.DataType]
    certain: Callable[[Any, Evidence], bool] = lambda value, evidence: True
    reason: str = ""
    partitions: Callable[[Any], Partitions] = lambda value: NO_PARTITIONS
    wraps: bool = False

    @property
    def column(self) -> pa.Field:
        """The column of this form."""
        return pa.field(self.name, self.arrow_type() if callable(self.arrow_type) else self.arrow_type)


FORMS: dict[str, dict[str, PayloadForm]] = {}
"""By the place (a state's name, :data:`COMMITTABLE` or :data:`COORDINATOR`), the forms by their name."""


def register_form(places: str | Sequence[str], form: PayloadForm) -> None:
    """Add what a payload may be; the last registration of a name wins.

    :param places: names of operator states of ``byte[]``, :data:`COMMITTABLE` or :data:`COORDINATOR`; one or several.
    """
    for place in (places,) if isinstance(places, str) else places:
        FORMS.setdefault(place, {})[form.name] = form


def forms_of(place: str) -> tuple[PayloadForm, ...]:
    """The forms of a place in the order of their registration."""
    return tuple(FORMS.get(place, {}).values())


def columns_of(place: str) -> list[pa.Field]:
    """A column for each form."""
    return [form.column for form in forms_of(place)]


def fitting(
    place: str, version: int, payload: bytes | memoryview, evidence: Evidence = NO_EVIDENCE, around: int = 0
) -> dict[str, Any]:
    """The columns of the one form that a payload certainly has, and of a wrapper's inner one; none if several are certain.

    :param around: how many wrappers are around it, at most :data:`MAX_WRAPPERS`.
    :returns: values by the forms' names; empty if no form is certain.
    """
    found = []
    for form, value in fits(place, version, payload):
        if form.wraps:
            inner = _unwrapped(place, value, evidence, around + 1)
            if inner:
                del value["payload"]  # which is in the column ``bytes``
                found.append({form.name: value} | inner)
        elif form.certain(value, evidence):
            found.append({form.name: value})
    return found[0] if len(found) == 1 else {}


def _unwrapped(place: str, value: dict[str, Any], evidence: Evidence, around: int) -> dict[str, Any]:
    if around > MAX_WRAPPERS:
        return {}
    evidence = replace(evidence, split_id=value.get("split_id"))
    return fitting(place, value["version"], value["payload"], evidence, around)


def fits(place: str, version: int, payload: bytes | memoryview) -> Iterator[tuple[PayloadForm, Any]]:
    """The forms that take a payload to its last byte, with its value in them; without evidence, so there may be several."""
    for form in forms_of(place):
        value = try_form(form, version, payload)
        if value is not None:
            yield form, value


def try_form(form: PayloadForm, version: int, payload: bytes | memoryview) -> Any:
    """The value that a payload has in this form, without evidence; ``None`` if it does not have the form."""
    if version not in form.versions:
        return None
    reader = Reader(payload)
    try:
        value = form.read(reader, version)
        must_end(reader)
    except StateExtractError:
        return None
    return value
