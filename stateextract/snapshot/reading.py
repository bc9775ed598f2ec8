"""How values are read, by the options of a job. May import options and the engine."""

from __future__ import annotations

from serializers import DescribeContext
from stateextract.columnar.convert.policy import Policy
from stateextract.options import JobOptions
from stateextract.state.state_columns import ReadOptions, StatePolicy


def choice_of(options: JobOptions) -> StatePolicy:
    """What holds for values of all states that have no policy of their own."""
    values = (options.strings, options.timestamps, options.out_of_range, options.maps)
    policy = Policy(*values, options.max_value_bytes)  # type: ignore[arg-type]
    return StatePolicy(policy, options.on_undecodable)  # type: ignore[arg-type]


def read_options(options: JobOptions, context: DescribeContext | None = None) -> ReadOptions:
    """What the engine reads with.

    :param context: what describing serializers needs of the snapshot and the user's classes.
    """
    choice = choice_of(options)
    return ReadOptions(
        policy=choice.policy,
        on_undecodable=choice.on_undecodable,
        verify_checksums=options.verify_checksums,
        flatten=options.flatten,
        keep_empty_maps=options.keep_empty_maps,
        all_copies=options.all_copies,
        key_group_column=options.key_group_column,
        subtask_column=options.subtask_column,
        codec=options.codec,
        context=context or DescribeContext(),
        pass_undecodable=options.lenient,
    )
