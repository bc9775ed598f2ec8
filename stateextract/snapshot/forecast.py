"""The expected status of a state before it is read: decoded, only known when read, or certainly unsupported.

Depends on inventory, rows and layouts. Reads nothing: heads say which serializers wrote the values, and in a heap file which
states come first. A value that cannot be decoded has no length there, so the states after it are unreadable too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from serializers import DescribeContext
from serializers.classes import NOT_DESCRIBED
from stateextract.columnar.arrow.unite_schemas import inexact_column
from stateextract.columnar.layout import Layout, Map, Python, Undecodable
from stateextract.errors import expected_error
from stateextract.outcome import Status
from stateextract.snapshot.coverage import DECODED, UNSUPPORTED
from stateextract.snapshot.headers import StateFile
from stateextract.snapshot.inventory import NamedState
from stateextract.state.bodies.body import BodyKind
from stateextract.state.causes import USER_KEYS_CHANGED
from stateextract.state.header import KeyedHeader
from stateextract.state.row_layout import row_layout
from stateextract.state.state_columns import (
    ReadOptions,
    certainly_undecodable,
    merged_schema,
    state_schema,
    value_layout,
)

_NAMED = 5
"""Classes that a reason names."""


@dataclass(frozen=True)
class Forecast:
    """A status and why it is not ``decoded``."""

    status: Status
    reason: str | None = None


class Forecasts:
    """The forecasts for states of one operator.

    :param context: of the operator.
    """

    def __init__(self, context: DescribeContext) -> None:
        self._context = context
        self._known: dict[tuple[bytes, str, int], Forecast] = {}

    def of(self, state: NamedState) -> Forecast:
        """The forecast for a state, over all its files."""
        entry = state.entry
        assert entry is not None
        if entry.status != DECODED:
            return Forecast(entry.status, entry.reason)
        try:
            inexact = None
            if len({file.header_key for file in state.files}) > 1:
                rows = state.rows(self._context)
                merged_schema(rows, ReadOptions())
                inexact = inexact_column([state_schema(row, ReadOptions()) for row in rows])
            found = self._of_files(state)
            why = inexact or self._changed_user_keys(state)
            return Forecast(Status.UNCERTAIN, why) if why and found.status is DECODED else found
        except Exception as error:
            # A head that says what no reader expects is this state's matter only.
            failure = expected_error(error)
            return Forecast(failure.status, failure.message)

    def _changed_user_keys(self, state: NamedState) -> str | None:
        """Whether a changelog has changes of a map with two serializers of its keys."""
        for header in {file.header_key: file.header for file in state.files if file.header is not None}.values():
            metas = [meta for meta in header.states if meta.name == state.name]
            maps = [value_layout(row_layout(header, meta, self._context)) for meta in metas] if len(metas) > 1 else []
            if any(isinstance(one, Map) and isinstance(maps[0], Map) and one.key != maps[0].key for one in maps):
                return USER_KEYS_CHANGED
        return None

    def _of_files(self, state: NamedState) -> Forecast:
        files = list({file.header_key: file for file in state.files}.values())
        own = [f for file in files for f in self._own(file, state.name)]
        before = [f for file in files for f in self._before(file, state.name)]
        for status in (UNSUPPORTED, Status.UNCERTAIN):
            for found in own:
                if found.status is status:
                    return found
        return before[0] if before else Forecast(DECODED)

    def _own(self, file: StateFile, name: str) -> Iterator[Forecast]:
        for number, meta in enumerate(file.header.states if file.header is not None else ()):
            if meta.name == name:
                yield self._of_meta(file, number)

    def _before(self, file: StateFile, name: str) -> Iterator[Forecast]:
        """Why values before those of a state may end the reading of a file."""
        header = file.header
        heap = file.content is not None and file.content.form in (BodyKind.HEAP, BodyKind.UNDECIDED)
        if not heap or not isinstance(header, KeyedHeader) or header.compressed:
            return  # values, or the states of a key group, have lengths there
        for number, meta in enumerate(header.states):
            if meta.name == name:
                return
            found = self._of_meta(file, number)
            if found.status is not DECODED:
                yield Forecast(Status.UNCERTAIN, f"the files contain it after state {meta.name!r}: {found.reason}")

    def _of_meta(self, file: StateFile, number: int) -> Forecast:
        key = (file.header_key, file.scope, number)
        known = self._known.get(key)
        if known is None:
            assert file.header is not None
            known = forecast(row_layout(file.header, file.header.states[number], self._context).layout)
            self._known[key] = known
        return known


def forecast(layout: Layout) -> Forecast:
    """The forecast for values of a layout."""
    part = certainly_undecodable(layout)
    if part is not None:
        return Forecast(UNSUPPORTED, f"values of {part.class_name} cannot be decoded: {part.reason}")
    classes: dict[str, None] = {}
    others: dict[str, None] = {}
    for leaf in _leaves(layout):
        if isinstance(leaf, Python):
            classes |= dict.fromkeys(leaf.not_described)
            others |= dict.fromkeys(leaf.uncertain)
        elif NOT_DESCRIBED in leaf.reason:
            classes[leaf.class_name] = None
        else:
            others[f"values of {leaf.class_name} cannot be decoded: {leaf.reason}"] = None
    reasons = list(others)
    if classes:
        more = f" and {len(classes) - _NAMED} more" if len(classes) > _NAMED else ""
        reasons.insert(0, f"classes not described: {', '.join([*classes][:_NAMED])}{more}")
    return Forecast(Status.UNCERTAIN, "; ".join(reasons)) if reasons else Forecast(DECODED)


def _leaves(layout: Layout) -> Iterator[Python | Undecodable]:
    if isinstance(layout, Python | Undecodable):
        yield layout
    for child in layout.children:
        yield from _leaves(child)
