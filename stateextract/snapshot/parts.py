"""Parts: what is read of one file, and where the rows of each state go.

Plain values, which a plan makes and a reader carries out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from stateextract.snapshot.content import Content
from stateextract.snapshot.job_type_overrides import OverrideTexts
from stateextract.state.state_columns import StatePolicy


@dataclass(frozen=True)
class StateTarget:
    """Where the rows of a state go, with which schema; what cannot be decoded goes to a separate place, if it is kept.

    :param overrides: paths with their types.
    :param choice: what becomes of values that a column cannot hold, or that cannot be decoded.
    :param merged: the columns before ``overrides``, to which batches of all files are brought first; ``None``: any.
    """

    folder: str
    raw_folder: str
    schema: pa.Schema
    overrides: OverrideTexts = ()
    raw_schema: pa.Schema | None = None
    merged: pa.Schema | None = None
    choice: StatePolicy = field(default_factory=StatePolicy)


@dataclass(frozen=True)
class OperatorTargets:
    """The wanted states of an operator. ``label`` is for messages, ``id`` identifies operators."""

    label: str
    states: Mapping[str, StateTarget]
    id: str = ""


@dataclass(frozen=True)
class Part:
    """A piece of one file.

    :param file: number of the file in the plan.
    :param operator: index into the context's operators.
    :param start: where the handle's bytes begin in ``uri``.
    :param content: what of it is to be read.
    :param skip_broadcast_states: broadcast states whose rows another subtask's file gives.
    """

    file: int
    operator: int
    subtask: int
    uri: str
    start: int
    content: Content
    skip_broadcast_states: tuple[str, ...] = ()
