"""Policies of single operators and states: what holds for them in place of the job's options.

In the job file ``[policies]`` has lines like ``"orders/total/maps" = "list"``: an operator (uid, name, hex ID, or ``*`` for
any), a state (or ``*``), and one of the options that decide about values. If several lines match, the line that names more
wins, and of equal lines the last. May import options' texts, the model and policies; knows no files.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from stateextract.columnar.convert.policy import Policy
from stateextract.errors import UsageError
from stateextract.metadata.model import OperatorState
from stateextract.options import POLICIES, outside, policy_line
from stateextract.snapshot.job_type_overrides import beginnings, is_called
from stateextract.state.state_columns import StatePolicy

ANY = "*"


class JobPolicies:
    """The policies, by operator and state.

    :param lines: of the job file, as ``OPERATOR/STATE/OPTION=VALUE``.
    :param base: what holds elsewhere.
    :raises UsageError: for an option or a value that is unknown.
    """

    def __init__(self, lines: Sequence[str], base: StatePolicy) -> None:
        self._base = base
        self._lines = [(line, *policy_line(line)) for line in lines]
        self._used: set[str] = set()

    def of(self, operator: OperatorState, state: str) -> StatePolicy | None:
        """What holds for a state; ``None``: what holds elsewhere."""
        found: list[tuple[int, str, str]] = []
        for line, target, option, value in self._lines:
            for name, rest in beginnings(target):
                if rest in (state, ANY) and (name == ANY or is_called(operator, name)):
                    self._used.add(line)
                    found.append(((name != ANY) + (rest != ANY), option, value))
                    break
        if not found:
            return None
        values: dict[str, Any] = {option: value for _, option, value in sorted(found, key=lambda one: one[0])}
        undecodable = values.pop("on_undecodable", self._base.on_undecodable)
        policy: Policy = replace(self._base.policy, **values)
        return StatePolicy(policy, undecodable)

    def refuse_unused(self, unread: Collection[OperatorState] = ()) -> None:
        """A line about nothing is a mistake.

        :param unread: operators whose states are not known yet; a line may be for one of these.
        """
        for line, target, _, _ in self._lines:
            names = [name for name, _ in beginnings(target)]
            waits = unread and (ANY in names or any(is_called(o, name) for o in unread for name in names))
            if line not in self._used and not waits:
                raise UsageError(
                    f"the policy {line!r} is for no selected state", expected="OPERATOR/STATE/OPTION",
                    advice=f"the operator is a uid, a name, a hex ID or *; the state is a name or *; the option is one of "
                    f"{', '.join(outside(name) for name in POLICIES)}",
                )  # fmt: skip
