"""Options of the data sources ``flink-state``, ``flink-state-metadata`` and ``flink-state-diff``.

Names are Spark's (camelCase, in any case), values are text. Of an option of the job ``job`` is the field of
:class:`JobOptions`. ``markdown`` makes the tables of ``docs/spark-sql.md``.

Imports the standard library, errors and the job's options only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stateextract.doors import OPTIONS, Door
from stateextract.errors import UsageError
from stateextract.options import JobOptions, UsedBy, described, fields, one_of, parse_size, spark_name
from stateextract.printable import nearest

STATE, METADATA, DIFF = "flink-state", "flink-state-metadata", "flink-state-diff"
MOST_GROUPS = 1 << 15
"""Flink allows no more key groups."""


@dataclass(frozen=True)
class Option:
    """An option of a source.

    :param kind: ``text``, ``choice``, ``flag``, ``bytes``, ``count``; ``list``: comma-separated text or a JSON array;
        ``json``: a JSON array; ``groups``: numbers and ranges;
        ``tables``: a JSON array of objects; ``mapping``: ``KEY=VALUE`` separated by semicolons or a JSON object.
    :param job: the option of the job that it sets.
    """

    name: str
    kind: str
    default: Any
    doc: str
    choices: tuple[str, ...] = ()
    job: str = ""


def _shared(used_by: UsedBy) -> tuple[Option, ...]:
    """The options of the job that apply in a source."""
    return tuple(
        Option(
            spark_name(f), f.metadata["kind"], f.default,
            f.metadata["spark"].doc or described(f, "comma-separated"), f.metadata["spark"].choices or f.metadata["choices"],
            f.name,
        )
        for f in fields()
        if f.metadata["used_by"] & used_by
    )  # fmt: skip


_PATH = Option("path", "text", "",
    "The snapshot: a _metadata file, its folder, a job's checkpoint folder (then its newest complete checkpoint), or "
    "high-availability data (then what Flink would restore from); the argument of load().")
_WHICH = (
    Option("operatorUid", "text", "", "The operator, by the uid that the job set."),
    Option("operatorId", "text", "", "The operator, by the ID that Flink prints (32 hexadecimal digits)."),
    Option("operatorName", "text", "", "Name of the operator. Snapshots of Flink 1 contain no names."),
)

_POLICIES = Option("policies", "mapping", (),
    "Values of strings, timestamps, outOfRange, maps and onUndecodable for single states, as STATE/OPTION=VALUE, "
    "separated by semicolons; the state is a name or *.")  # fmt: skip

STATE_OPTIONS: tuple[Option, ...] = (
    _PATH,
    *_WHICH,
    Option("stateName", "text", "",
        "The state; needed where the operator has several. With wide: those that become columns, comma-separated; all "
        "keyed ones if it is left out."),
    Option("stateScope", "choice", "",
        "Tells apart a keyed state and an operator state of one name.", ("", "keyed", "operator")),
    Option("readTimers", "flag", False,
        "Read the operator's timers, of all its timer services; stateName chooses one of their queues."),
    Option("wide", "flag", False, "One row per key and namespace, with a column for each keyed state of the operator."),
    Option("strict", "flag", False, "With wide: fail if any keyed state of the operator cannot be read. Without it such a "
        "state becomes no column, and the table coverage contains the reason."),
    Option("includeMetadata", "flag", True, "The columns key_group and subtask."),
    Option("keys", "json", None,
        "Read the rows of these keys only, and of the files only their key groups: a JSON array, structs in it as objects or "
        'arrays, times and dates as ISO 8601; for example ["elif"] or [[7, "a"]].'),
    Option("keyGroups", "groups", (), "Read these key groups only: numbers and ranges, comma-separated, such as 3,16-31."),
    Option("pushFilters", "flag", False,
        "Omit the rows that the filters of the query exclude. Only for DataFrames and views that one query uses, see below."),
    Option("columns", "list", (),
        "The columns to read, comma-separated; others are not decoded. None: all. A schema given to the reader does "
        "the same, for fields of structs too."),
    *_shared(UsedBy.SPARK_ROWS),
)  # fmt: skip
"""The options of ``flink-state``."""

SNAPSHOTS, COVERAGE, STATISTICS, OWNERS = "snapshots", "coverage", "statistics", "owners"
KAFKA_OFFSETS = "kafka_offsets"
TABLES = (SNAPSHOTS, "operators", "states", "files", "key_groups", "serializers", KAFKA_OFFSETS, COVERAGE, STATISTICS, OWNERS)
READ_TABLES = (COVERAGE, STATISTICS, OWNERS)
"""Tables for which the states are read."""

STATISTICS_OPTIONS: tuple[Option, ...] = (
    *_WHICH,
    Option("stateName", "text", "", "The state; all if it is left out."),
    Option("asOf", "text", "",
        "The time that ages are counted to, in ISO 8601 or milliseconds since 1970. Default: the time of the file _metadata."),
    Option("ttl", "list", (),
        "TTLs such as 30d or 12h, comma-separated: count the rows that would be expired. Of all states, or of one as "
        "STATE=DURATION or OPERATOR/STATE=DURATION."),
    *_shared(UsedBy.SPARK_STATISTICS),
)  # fmt: skip
"""Options of the tables :data:`READ_TABLES` only; ``asOf`` and ``ttl`` of the table ``statistics``."""


def tables_of(option: Option) -> str:
    """The tables that have one of :data:`STATISTICS_OPTIONS`, in words."""
    return f"table {STATISTICS}" if option.name in ("asOf", "ttl") else f"tables {COVERAGE}, {STATISTICS} and {OWNERS}"


METADATA_OPTIONS: tuple[Option, ...] = (
    _PATH,
    Option("table", "choice", "operators", "Which table.", TABLES),
    *_shared(UsedBy.SPARK_TABLES),
    *(
        replace(option, doc=f"Of the {tables_of(option)}. {option.doc}")
        for option in STATISTICS_OPTIONS
    ),
)
"""The options of ``flink-state-metadata``."""

_COMPARED: tuple[Option, ...] = (
    *_WHICH,
    Option("stateName", "text", "", "The state; needed where the operator has several. A queue of timers is a state."),
    Option("stateScope", "choice", "",
        "Tells apart a keyed state and an operator state of one name.", ("", "keyed", "operator")),
    Option("lastAccess", "flag", False, "Of a state with a time to live, count a mere change of the last access."),
    Option("commonFields", "flag", False,
        "Fields that only one of the snapshots has do not count. Without it they are null in the other one."),
    Option("full", "flag", False,
        "Compare all rows. Without it, of RocksDB and ForSt only those in files that the snapshots do not share; the changes "
        "are the same."),
    *_shared(UsedBy.SPARK_DIFF),
)  # fmt: skip

DIFF_OPTIONS: tuple[Option, ...] = (
    Option("before", "text", "", "The earlier snapshot, as the path of flink-state."),
    Option("after", "text", "", "The later snapshot."),
    Option("beforeCheckpoint", "count", 0,
        "ID of the earlier snapshot, if the path before contains several. 0: the newest complete one, or the one that Flink "
        "would restore from."),
    Option("afterCheckpoint", "count", 0, "ID of the later snapshot, likewise."),
    Option("job", "text", "", "ID of the job of both snapshots, or the beginning of it, if the paths contain several jobs."),
    *_COMPARED,
)
"""The options of ``flink-state-diff``."""

STREAM_OPTIONS: tuple[Option, ...] = (
    Option("path", "text", "",
        "The checkpoint directory of a job, or the directory above those of a job's runs; the argument of load()."),
    Option("startingCheckpoint", "count", 0,
        "ID of the checkpoint whose rows are the first batch. 0: the newest complete one."),
    Option("retainIn", "text", "",
        "A directory of this query, in which the source keeps links to the files of the checkpoints that it still needs, or "
        "copies of them where links cannot be made. Flink may then delete the checkpoints."),
    Option("onMissingBase", "choice", "fail",
        "If Flink has deleted a checkpoint that a batch needs: fail the query, or full: return all rows of the newest "
        "checkpoint as added, after a row whose change is reset.", ("fail", "full")),
    *_COMPARED,
)  # fmt: skip
"""The options of ``flink-state-diff`` as a stream."""

_KNOWN = {STATE: STATE_OPTIONS, METADATA: METADATA_OPTIONS, DIFF: DIFF_OPTIONS}
DOORS = {
    source: Door.SPARK.having(flag for flag, (name, _) in OPTIONS.items() if name in {option.name for option in known})
    for source, known in _KNOWN.items()
}
"""Where the errors of each source are read."""


def parse_options(options: Mapping[str, str], known: Sequence[Option], source: str) -> dict[str, Any]:
    """The values of all options, by name, defaults included.

    :param options: as Spark hands them over, in any case.
    :param source: the source's name, for messages.
    :raises UsageError: for an option that is unknown, or a value that cannot be right.
    """
    by_name = {option.name.lower(): option for option in known}
    values = {option.name: option.default for option in known}
    for name, text in options.items():
        option = by_name.get(name.lower())
        if option is None:
            raise _unknown(name, known, source)
        values[option.name] = _value(option, text, f"{source}: the option {option.name}")
    if "path" in values and not values["path"]:
        raise UsageError(f"{source}: there is no path", advice='give it to load(), or as OPTIONS (path "…")')
    return values


def _unknown(name: str, known: Sequence[Option], source: str) -> UsageError:
    names = {option.name.lower(): option.name for option in known}
    other = next((s for s, options in _KNOWN.items() if name.lower() in {o.name.lower() for o in options}), None)
    if other is not None:
        return UsageError(f"{source} has no option {name!r}", advice=f"the source {other} has it")
    near = nearest(name.lower(), names, least=0.5)
    advice = f"the nearest is {names[near[0]]}" if near else f"there are {', '.join(names.values())}"
    return UsageError(f"{source} has no option {name!r}", advice=advice)


def _value(option: Option, text: str, where: str) -> Any:
    match option.kind:
        case "flag":
            known = {"true": True, "false": False}.get(text.strip().lower())
            if known is None:
                raise UsageError(f"{where} is {text!r}", expected="true or false")
            return known
        case "choice":
            return one_of(option.choices, text.strip().lower(), where, text)
        case "list":
            return _list(text, where)
        case "json":
            return tuple(_json(text, where, list, 'a JSON array such as ["a", "b"]'))
        case "groups":
            return _groups(text, where)
        case "tables":
            tables = _json(text, where, list, "a JSON array of objects")
            return tuple(json.dumps(table) for table in tables)
        case "mapping":
            return _mapping(text, where)
        case "bytes" | "count":
            number = parse_size(text) if option.kind == "bytes" else int(text) if text.strip().isdecimal() else None
            if not number:
                expected = (
                    "a size such as '128 MB' or a number of bytes" if option.kind == "bytes" else "a whole number"
                )
                raise UsageError(f"{where} is {text!r}", expected=f"{expected}, at least 1")
            return number
    return text


def _list(text: str, where: str) -> tuple[str, ...]:
    if text.lstrip().startswith("["):
        values = _json(text, where, list, "a JSON array of strings")
        if not all(isinstance(value, str) for value in values):
            raise UsageError(f"{where} is {text!r}", expected="a JSON array of strings")
        return tuple(values)
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _groups(text: str, where: str) -> tuple[int, ...]:
    """Numbers out of ``3,16-31``, in order."""
    found: set[int] = set()
    for part in _list(text, where):
        first, _, last = part.partition("-")
        if (
            not first.isdecimal()
            or not (last or first).isdecimal()
            or not int(first) <= int(last or first) < MOST_GROUPS
        ):
            raise UsageError(
                f"{where} is {text!r}", expected=f"numbers and ranges such as 3,16-31, below {MOST_GROUPS}"
            )
        found.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(found))


def _mapping(text: str, where: str) -> tuple[str, ...]:
    if text.lstrip().startswith("{"):
        values = _json(text, where, dict, "a JSON object of strings")
        return tuple(f"{key}={value}" for key, value in values.items())
    parts = tuple(part.strip() for part in text.split(";") if part.strip())
    for part in parts:
        if "=" not in part:
            raise UsageError(f"{where} has {part!r}", expected="PATH=TYPE, separated by semicolons")
    return parts


def _json(text: str, where: str, type_: type, expected: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where} is not JSON: {error}", expected=expected) from None
    if not isinstance(value, type_):
        raise UsageError(f"{where} is {text!r}", expected=expected)
    return value


def job_options(values: Mapping[str, Any], known: Sequence[Option], **more: Any) -> JobOptions:
    """The job's options that a source's options mean."""
    set_ = {option.job: values[option.name] for option in known if option.job}
    if "policies" in values:
        set_["policies"] = tuple(f"*/{line}" for line in values["policies"])
    job = JobOptions(snapshot=values["path"], **(set_ | more))
    job.path_pairs()
    return job


def operator_asked(values: Mapping[str, Any], source: str) -> tuple[str, ...]:
    """The operator that the options name, if they name one.

    :raises UsageError: where more than one way to name it is used.
    """
    operators = tuple(values[name] for name in ("operatorUid", "operatorName", "operatorId") if values[name])
    if len(operators) > 1:
        names = "operatorUid, operatorId and operatorName"
        raise UsageError(f"{source}: {names} exclude each other", advice="set only one of them")
    return operators
