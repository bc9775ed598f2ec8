"""What commands read: the options of those that open a snapshot, and which operator and state are selected.

The options are the extract job's (``stateextract/options.py``) under the same names, with the same meaning and defaults; a job
file given with ``--config`` sets them too, the command line wins. Imports nothing heavy before a snapshot is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from stateextract.cli.completed_names import operator_names, state_names
from stateextract.cli.progress import Meter
from stateextract.errors import UsageError
from stateextract.metadata.operator_lookup import by_name
from stateextract.options import FILE_ONLY, JobOptions, UsedBy, fields, make_options, metavar, option_help, outside
from stateextract.outcome import Status
from stateextract.printable import find_named, named, there_is
from stateextract.state.kinds import COORDINATOR, TIMER

if TYPE_CHECKING:
    import pyarrow as pa

    from stateextract.api import Operator, Snapshot, State

F = TypeVar("F", bound=Callable[..., Any])

_MOST_NAMES = 30
"""Names in a message about an option that is missing."""

TIMERS = "timers"
"""Names all timers of an operator, as in the options of the job."""


def job_options(used_by: UsedBy | Collection[str] | None, without: Collection[str] = ()) -> Callable[[F], F]:
    """Options that apply in any of these places; not given, they are ``None`` or empty.

    :param used_by: or the options' fields; ``None``: all options of the job.
    :param without: fields of options that the command has in another way.
    """

    def decorate(command: F) -> F:
        for f in reversed(fields()):
            applies = f.metadata["used_by"] & used_by if isinstance(used_by, UsedBy) else used_by is None or f.name in used_by
            if applies and f.metadata["kind"] not in FILE_ONLY and f.name not in without:
                name, kind = outside(f.name), f.metadata["kind"]
                settings: dict[str, Any] = {"default": None, "help": option_help(f)}
                if kind == "flag":
                    command = click.option(f"--{name}/--no-{name}", f.name, **settings)(command)
                else:
                    settings |= {"metavar": metavar(f), "multiple": kind == "list"}
                    if f.metadata["choices"]:
                        settings["type"] = click.Choice(f.metadata["choices"])
                    short = ["-o"] if name == "output" else []
                    command = click.option(*short, f"--{name}", f.name, **settings)(command)
        return command

    return decorate


config_option = click.option("--config", metavar="FILE", help="TOML job file with options; the command line wins.")


def snapshot_options(used_by: UsedBy = UsedBy.OTHERS, required: bool = True) -> Callable[[F], F]:
    """``PATH``, ``--config`` and the options of the job that apply in these places.

    :param required: whether there has to be a PATH; else it may be ``None``.
    """

    def decorate(command: F) -> F:
        return click.argument("path", required=required)(config_option(job_options(used_by)(command)))

    return decorate


def read_options(path: str | None, options: Mapping[str, Any]) -> JobOptions:
    """The options of a command, as click gives them.

    :raises UsageError: for one that cannot be right.
    """
    given = {name: list(value) or None if isinstance(value, tuple) else value for name, value in options.items()}
    config: str | None = options.get("config")
    return make_options({**given, "snapshot": path}, config)


def opened(path: str, options: Mapping[str, Any]) -> Snapshot:
    """The snapshot that a command is about.

    :raises StateExtractError: where it cannot be opened.
    """
    from stateextract.api.snapshot import opened_by
    from stateextract.cli.progress import HeadersBar

    return opened_by(read_options(path, options), on_headers=HeadersBar())


# ---- which operator and state


operator_option = click.option(
    "--operator", metavar="UID|NAME|ID", shell_complete=operator_names,
    help="The operator; may be left out where only one has keyed state.",
)  # fmt: skip
_state_option = click.option(
    "--state", "name", metavar="NAME", shell_complete=state_names,
    help="The state; may be left out where the operator has only one. timers: all timers; coordinator: what the "
    "operator's coordinator keeps.",
)  # fmt: skip
_scope_option = click.option(
    "--scope", type=click.Choice(["keyed", "operator"]), help="Which, where both have a state of that name."
)


def state_options(command: F) -> F:
    """``--operator``, ``--state`` and ``--scope``."""
    return operator_option(_state_option(_scope_option(command)))


def the_operator(snapshot: Snapshot, name: str | None) -> Operator:
    """The operator of that name, or the only one with keyed state.

    :raises UsageError: where there is none, or more than one.
    """
    if name is not None:
        return snapshot.operator(name)
    snapshot.read_headers()
    keyed = [o for o in snapshot.operators if any(s.scope == "keyed" for s in o.states)]
    if len(keyed) != 1:
        labels = _abbreviate(named(o.label) for o in keyed)
        raise UsageError("--operator is missing", advice=f"the operators with keyed state are: {labels}")
    return keyed[0]


def _abbreviate(names: Iterable[str]) -> str:
    """Names in a sentence, not all where they are many."""
    found = list(names)
    more = f" and {len(found) - _MOST_NAMES} more" if len(found) > _MOST_NAMES else ""
    return f"{', '.join(found[:_MOST_NAMES]) or 'none'}{more}"


def select_state(operator: Operator, name: str | None, scope: Any) -> State:
    """The operator's state of that name, or its only one.

    :raises UsageError: where there is none, or more than one.
    """
    if name is not None:
        return operator.state(name, scope)
    states = [s for s in operator.states if scope in (None, s.scope)]
    if len(states) != 1:
        names = _abbreviate(repr(s.name) for s in states if s.name)
        raise UsageError("--state is missing", operator=operator.label, advice=f"its states are: {names}")
    return states[0]


def the_states(operator: Operator, name: str | None, scope: Any) -> list[State]:
    """The state that the options name, or all queues of timers, which have the same columns.

    :raises UsageError: where there is none, or more than one.
    """
    timers = [s for s in operator.states if s.kind == TIMER] if name == TIMERS else []
    if any(state.schema != timers[0].schema for state in timers):
        raise UsageError(
            "the timers of the operator have different columns",
            operator=operator.label,
            advice=f"choose one by --state: {', '.join(repr(state.name) for state in timers)}",
        )
    return timers or [select_state(operator, name, scope)]


def the_coordinator(snapshot: Snapshot, operator: str | None, name: str | None) -> tuple[dict[str, Any], pa.Table] | None:
    """The state of a coordinator, if ``--state coordinator`` asks for it: its document, and the table of its one row.

    :raises UsageError: where several operators have one.
    """
    operators = chosen_coordinators(snapshot, operator, name)
    if not operators:
        return None
    if len(operators) > 1:
        labels = [o.label for o in operators]
        raise UsageError("--operator is missing", advice=there_is("", labels, "operators whose coordinators have state"))
    import pyarrow as pa

    from serializers.connectors import coordinator_type

    (one,) = operators
    return coordinator_document(one), pa.table({"value": pa.array([one.coordinator], coordinator_type())})


def chosen_operators(snapshot: Snapshot, operator: str | None) -> list[Operator]:
    """The operator that ``--operator`` selects, without it all, by their names.

    :raises UsageError: if there is none.
    """
    operators = snapshot.operators if operator is None else (snapshot.operator(operator),)
    return sorted(operators, key=by_name)


def chosen_states(snapshot: Snapshot, operator: str | None, name: str | None, scope: Any) -> list[State]:
    """All states that the options leave, by operator; without options all of the snapshot.

    :raises UsageError: where something is named that there is not.
    """
    if operator is None:
        snapshot.read_headers()
    ordered = chosen_operators(snapshot, operator)
    if name is None:
        return [s for o in ordered for s in o.states if scope in (None, s.scope)]
    if name == TIMERS:
        timers = [s for o in ordered for s in o.states if s.kind == TIMER and scope in (None, s.scope)]
        if timers:
            return timers
    if operator is not None:
        return [ordered[0].state(name, scope)]
    every = [s for o in ordered for s in o.states if scope in (None, s.scope)]
    found = find_named(name, every, lambda s: (s.name,))
    if not found:
        known = sorted({s.name for o in ordered for s in o.states if s.name})
        raise UsageError(f"no state is called {name!r}", advice=there_is(name, known, "states"))
    return found


def document_of(states: Sequence[State], name: str | None) -> dict[str, Any]:
    """Which state the rows are of, its status and the reason. Of several queues of timers the first that is not decoded whole
    counts.

    :param name: as the user gave it.
    """
    state = next((state for state in states if state.coverage.status != Status.DECODED), states[0])
    shown = {"state_name": TIMERS} if name == TIMERS and state.kind == TIMER else {}
    return {**identity(state), **shown, "status": state.coverage.status, "reason": state.coverage.reason}


def identity(state: State) -> dict[str, Any]:
    """Which state it is, as every document about states begins."""
    return operator_state_identity(state.operator, state.name or None, state.scope, state.kind)


def coordinator_document(operator: Operator, **more: Any) -> dict[str, Any]:
    """Of the state of an operator's coordinator: which it is, ``more``, the status and the reason."""
    from serializers.connectors import untyped_reason

    corrupt = next((state for state in operator.unnamed if state.kind == COORDINATOR and state.reason), None)
    reason = untyped_reason(operator.coordinator or {}) if corrupt is None else corrupt.reason
    status = corrupt.status if corrupt is not None else Status.RAW if reason else Status.DECODED
    return {**operator_state_identity(operator, COORDINATOR, None, COORDINATOR), **more, "status": status, "reason": reason}


def operator_state_identity(operator: Operator, name: str | None, scope: str | None, kind: str) -> dict[str, Any]:
    """The same of anything that an operator has."""
    return {
        "operator_id": operator.id,
        "operator_uid": operator.uid,
        "operator_name": operator.name,
        "operator_label": operator.label,
        "state_name": name,
        "state_scope": scope,
        "state_kind": kind,
    }


def chosen_coordinators(snapshot: Snapshot, operator: str | None, name: str | None) -> list[Operator]:
    """The operators whose coordinator has state, if ``--state coordinator`` asks for it; without any none."""
    if name != COORDINATOR:
        return []
    operators = chosen_operators(snapshot, operator)
    if any(s.name == COORDINATOR for o in operators for s in o.states):
        return []
    return [o for o in operators if o.coordinator is not None]


@contextmanager
def metered(title: str, state: State, key_groups: frozenset[int] | None = None) -> Iterator[Meter]:
    """A bar for reading a state, if that takes long.

    :param key_groups: those that are read; ``None``: all.
    """
    with Meter(title, state.bytes_of(key_groups)) as meter:
        state.on_progress = lambda size, rows: meter.add(size, rows)
        try:
            yield meter
        finally:
            state.on_progress = None
