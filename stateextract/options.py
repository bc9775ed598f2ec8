"""Every option once. The command line, the job file, Spark's sources, Python's keywords and the documentation are made of it.

An option is a field of :class:`JobOptions`; its metadata hold the section of the TOML job file, what kind of value it
takes, one line of documentation, and where else it applies (:class:`UsedBy`). ``--dash-names`` on the command line and
``dash-names`` in the job file are the field's name, Spark's is in camelCase, Python's the field's own. The command line wins
over the job file, the job file over the defaults; a repeatable option given on the command line replaces the job file's list.
To add an option, add a field. One of ``PYTHON`` is in :class:`SnapshotKeywords` too, for type checkers.

Imports the standard library and ``errors`` only, so that a mistyped option is reported before anything heavy loads.
Must not know of Spark, Arrow or Flink's formats.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Flag, auto
from functools import cache
from pathlib import Path
from typing import Any, Literal, NoReturn, TypedDict

from stateextract.doors import OPTIONS
from stateextract.errors import UsageError
from stateextract.printable import nearest

_UNITS = {
    "": 1, "b": 1,
    "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")

FILE_ONLY = ("tables", "mapping")
"""Kinds of options that only the job file can have."""

POLICIES = ("strings", "timestamps", "out_of_range", "maps", "on_undecodable")
"""Options that can be set for a single operator or state, too."""

AUDIT: Mapping[str, type] = {"audit": dict, "rules": list}
"""Tables of the job file that are not options: ``[[rules]]`` for states, and the settings of these rules in ``[audit]``.
``audit/rules.py`` reads them; here only their kind of table is looked at."""


class UsedBy(Flag):
    """Where an option applies in addition to the extract job, which has all of them."""

    LISTING = auto()
    """``checkpoints`` and :func:`stateextract.list_snapshots`."""
    OTHERS = auto()
    """Commands that show neither rows nor statistics: inspect, states, files, kafka-offsets, validate, check and types."""
    ROWS = auto()
    """``first``, ``get`` and ``schema``."""
    COUNT = auto()
    STATISTICS = auto()
    """``stats``, ``history``, ``report`` and ``audit``."""
    SELECTION = auto()
    """The same without ``audit``, whose rules select states."""
    DIFF = auto()
    SPARK_ROWS = auto()
    """The source ``flink-state``."""
    SPARK_TABLES = auto()
    """The source ``flink-state-metadata``."""
    SPARK_STATISTICS = auto()
    """Its tables ``coverage`` and ``statistics``."""
    SPARK_DIFF = auto()
    """The source ``flink-state-diff``."""
    PYTHON = auto()
    """:func:`stateextract.open_snapshot`."""

    @property
    def is_spark(self) -> bool:
        """Whether one of Spark's sources has it."""
        return bool(self & (UsedBy.SPARK_ROWS | UsedBy.SPARK_TABLES | UsedBy.SPARK_STATISTICS | UsedBy.SPARK_DIFF))


_ALL = ~UsedBy.LISTING & ~UsedBy.SPARK_STATISTICS & ~UsedBy.SELECTION
"""Whatever opens a snapshot."""
_STORES = ~UsedBy.SPARK_STATISTICS & ~UsedBy.SELECTION
"""Whatever opens or lists snapshots."""
_UNDECODABLE = UsedBy.ROWS | UsedBy.STATISTICS | UsedBy.DIFF | UsedBy.SPARK_ROWS | UsedBy.PYTHON
_VALUES = _UNDECODABLE | UsedBy.SPARK_STATISTICS | UsedBy.SPARK_DIFF
"""Whatever shows values."""
_SHAPE = UsedBy.ROWS | UsedBy.COUNT | UsedBy.DIFF | UsedBy.SPARK_ROWS | UsedBy.SPARK_DIFF | UsedBy.PYTHON
"""Whatever has rows whose number an option changes."""
_NOWHERE = UsedBy(0)


@dataclass(frozen=True)
class SparkOption:
    """What Spark's sources have differently.

    :param name: ``""``: the field's name in camelCase.
    :param doc: ``""``: the option's.
    :param choices: empty: the option's.
    """

    name: str = ""
    doc: str = ""
    choices: tuple[str, ...] = ()


def _option(
    default: Any, section: str, kind: str, doc: str, used_by: UsedBy = _NOWHERE, *, choices: tuple[str, ...] = (),
    least: int = 0, name: str = "", python: str = "", spark: SparkOption = SparkOption(),
) -> Any:  # fmt: skip
    meta = {
        "section": section, "kind": kind, "doc": doc, "used_by": used_by, "choices": choices, "least": least, "name": name,
        "python": python, "spark": spark,
    }  # fmt: skip
    return field(default=default, metadata=meta)


class ListingKeywords(TypedDict, total=False):
    """The keyword arguments of :func:`stateextract.list_snapshots` for type checkers: the options of ``UsedBy.LISTING``."""

    checkpoint: int
    job: str
    allow_stores: str | Sequence[str]
    store_timeout: int


class SnapshotKeywords(ListingKeywords, total=False):
    """The keyword arguments of :func:`stateextract.open_snapshot` for type checkers: the options of ``UsedBy.PYTHON``."""

    codec: Literal["snappy", "lz4"]
    plan: str
    names: str
    uids: str
    verify_checksums: bool
    key_group_column: bool
    subtask_column: bool
    flatten: bool
    all_copies: bool
    on_undecodable: Literal["fail", "skip", "raw"]
    strings: Literal["replace", "fail", "binary"]
    timestamps: Literal["floor", "fail", "nanoseconds"]
    out_of_range: Literal["fail", "null"]
    maps: Literal["map", "list"]
    max_value_bytes: int
    plugins: str | Sequence[str]
    keep_empty_maps: bool
    python_wrapping: bool
    kryo: Literal["auto", "2", "2-without-scala", "5"]
    classpath: str | Sequence[str]
    protobuf: str | Sequence[str]
    kryo_classes: Sequence[Mapping[str, Any]]
    types: Mapping[str, str] | None
    policies: Mapping[str, str] | None
    header_threads: int


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """All options.

    Kinds: ``text``, ``choice``, ``flag``, ``bytes``, ``count``, ``list``; ``tables`` are only in the job file and are
    kept as JSON; a ``mapping`` is a section of the job file, kept as ``KEY=VALUE``.
    """

    snapshot: str = _option("", "input", "text",
        "Snapshot to read: a _metadata file, its directory, a job's checkpoint directory (then its newest complete "
        "checkpoint), or high-availability data (then what Flink would restore from).")
    checkpoint: int = _option(0, "input", "count",
        "ID of the checkpoint or savepoint to read, if the snapshot's path contains several. 0: the newest complete one, or "
        "the one that Flink would restore from.", _STORES & ~UsedBy.DIFF & ~UsedBy.SPARK_DIFF)
    job: str = _option("", "input", "text",
        "ID of the job whose snapshot is read, or the beginning of it, if the snapshot's path contains several jobs.",
        _STORES & ~UsedBy.SPARK_DIFF)
    operator: tuple[str, ...] = _option((), "input", "list",
        "Operators to extract, by UID, operator ID or name; repeat for several. None: all.", UsedBy.SELECTION)
    state: tuple[str, ...] = _option((), "input", "list",
        "States to extract, by name; repeat for several. timers: all timers of an operator; "
        "coordinator: what its coordinator keeps. None: all.", UsedBy.SELECTION)
    path_map: tuple[str | tuple[str, str], ...] = _option((), "input", "list",
        "OLD=NEW: paths in the snapshot that begin with OLD are looked for under NEW", _STORES)
    allow_store: tuple[str, ...] = _option((), "input", "list",
        "Other stores whose files the snapshot may refer to, for example s3://bucket, and for a snapshot that is not local "
        "also local directories", _STORES, name="allow-stores", python="allow_stores", spark=SparkOption("allowStores"))
    store_timeout: int = _option(60, "input", "count",
        "Seconds that a store has for one answer; if it takes longer, reading fails.", _STORES, least=1)
    codec: str = _option("snappy", "input", "choice",
        "Codec of compressed state. Flink writes Snappy; lz4 is for builds whose stream decorator was changed.", _ALL,
        choices=("snappy", "lz4"))
    plan: str = _option("", "input", "text",
        "Compiled plan of a SQL job (COMPILE PLAN): names the fields of its rows, which snapshots do not.", _ALL)
    names: str = _option("", "input", "text",
        "TOML or JSON file with names of fields. Wins over the plan.", _ALL)
    uids: str = _option("", "input", "text",
        "File with the uids of the job's operators, one a line or as a JSON array: names the operators of Flink 1, whose "
        "snapshots contain only hashes of them.", _ALL)
    verify_checksums: bool = _option(True, "input", "flag",
        "Verify the CRC-32C of every chunk of compressed state (Flink itself does not).", _ALL)

    output: str = _option("", "output", "text", "Directory for the datasets: a local path or the URI of a store.")
    mode: str = _option("error", "output", "choice",
        "error: refuse an output that is not empty. overwrite: replace the datasets that this job writes, keep all "
        "others.", UsedBy.DIFF, choices=("error", "overwrite"))
    compression: str = _option("zstd", "output", "choice", "Parquet compression.", UsedBy.DIFF,
        choices=("zstd", "snappy", "gzip", "lz4", "none"))
    target_file_bytes: int = _option(512 * 10**6, "output", "bytes",
        "A Parquet file that has reached this size is finished and the next one begun.", least=1)
    row_group_bytes: int = _option(64 * 10**6, "output", "bytes",
        "Uncompressed size at which the rows gathered for one dataset become a row group.", least=1)
    publish: str = _option("auto", "output", "choice",
        "rename: write into a staging folder and move the files at the end. direct: write at the final place under "
        "unique names, the manifest last. auto: rename on local disks and HDFS, direct on object stores.",
        choices=("auto", "rename", "direct"))
    key_group_column: bool = _option(True, "output", "flag", "Add the column key_group.", UsedBy.PYTHON)
    subtask_column: bool = _option(True, "output", "flag", "Add the column subtask.", UsedBy.PYTHON)
    flatten: bool = _option(False, "output", "flag", "Lists and maps become one row per element or entry.", _SHAPE,
        spark=SparkOption("flattenCollectionTypes"))

    all_copies: bool = _option(False, "output", "flag",
        "Give every subtask's copy of broadcast state, with the column subtask, and not only one.",
        _SHAPE & ~UsedBy.DIFF & ~UsedBy.SPARK_DIFF)

    on_undecodable: str = _option("fail", "decoding", "choice",
        "A value whose serializer is not known: fail leaves out its state, skip leaves out the value, raw keeps its raw bytes "
        "where their length is known. With strict, or if --state selects the state, fail stops the job.", _UNDECODABLE,
        choices=("fail", "skip", "raw"),
        spark=SparkOption(choices=("fail", "skip"),
            doc="A value whose serializer is not known: fail the query, or skip: leave out its row, or if its length is not "
            "known, the state's rows in its key group. (What is kept raw only the extract job writes.)"))
    strings: str = _option("replace", "decoding", "choice",
        "Java strings with a lone surrogate, which UTF-8 cannot represent: replace by U+FFFD and count, fail, "
        "or write all strings as binary columns (WTF-8).", _VALUES,
        choices=("replace", "fail", "binary"))
    timestamps: str = _option("floor", "decoding", "choice",
        "Digits below the microsecond: floor and count, fail, or use nanosecond columns (which Spark "
        "cannot read).", _VALUES, choices=("floor", "fail", "nanoseconds"),
        spark=SparkOption(choices=("floor", "fail"), doc="Digits below the microsecond: floor, or fail."))
    out_of_range: str = _option("fail", "decoding", "choice",
        "Times that the column type cannot represent: fail, or write null and count. Timers always have null there, and "
        "their exact milliseconds in another column.", _VALUES, choices=("fail", "null"))
    maps: str = _option("map", "decoding", "choice",
        "Maps as Arrow maps, or as lists of struct<key, value>.", _VALUES, choices=("map", "list"))
    max_value_bytes: int = _option(256 * 10**6, "decoding", "bytes",
        "Largest row, in bytes of the file: a larger one is an error and does not take the memory. With flatten the elements "
        "of large lists and the entries of large maps are rows of their own.", _ALL, least=1)
    plugins: tuple[str, ...] = _option((), "decoding", "list",
        "Python modules that register your own serializers, in addition to those installed as entry points", _ALL)
    keep_empty_maps: bool = _option(False, "decoding", "flag",
        "Keep keys whose map is empty, which only native snapshots of the HashMap backend contain.", _SHAPE)
    python_wrapping: bool = _option(False, "decoding", "flag",
        "Keep state of PyFlink as it is stored: keys in a Row of one field, values in lists of bytes, pickles as bytes. "
        "Without this option keys and values have no wrapping, and pickles become JSON text.",
        UsedBy.ROWS | UsedBy.DIFF | UsedBy.SPARK_ROWS | UsedBy.PYTHON)
    kryo: str = _option("auto", "decoding", "choice",
        "Version of Kryo that wrote values. auto: 2 for snapshots of Flink 1, 5 for those of Flink 2. 2-without-scala: 2 on "
        "a cluster whose lib folder has no flink-scala.", _ALL,
        choices=("auto", "2", "2-without-scala", "5"))
    classpath: tuple[str, ...] = _option((), "decoding", "list",
        "Jars or folders with the job's classes, whose fields are read from them for values that Kryo wrote; nothing of "
        "them is executed", _ALL)

    protobuf: tuple[str, ...] = _option((), "decoding", "list",
        "Descriptor sets of Protobuf (protoc --include_imports --descriptor_set_out), by which messages that Kryo wrote "
        "become columns", _ALL)

    strict: bool = _option(False, "decoding", "flag",
        "Fail if any selected state cannot be read whole. Without it, the job extracts all other states and ends with exit "
        "code 3. A state that --state selects always has to be whole.", UsedBy.STATISTICS | UsedBy.DIFF)

    kryo_class: tuple[str, ...] = _option((), "kryo", "tables",
        "Classes that Kryo wrote, described by hand as [[kryo.class]] tables.", _ALL, name="class", python="kryo_classes",
        spark=SparkOption("kryoClasses", "Classes that Kryo wrote, described by hand: a JSON array of objects with the keys of "
            "[[kryo.class]] (page Kryo of the documentation)."))

    types: tuple[str, ...] = _option((), "types", "mapping",
        "Types of columns, by operator (UID, name, operator ID or *), state and path; a state with a value that does not fit "
        "exactly is refused.", UsedBy.SPARK_ROWS | UsedBy.PYTHON,
        spark=SparkOption(doc="Types of columns, as PATH=TYPE, separated by semicolons; a value that does not fit exactly "
            "stops the query."))

    policies: tuple[str, ...] = _option((), "policies", "mapping",
        "Values of strings, timestamps, out-of-range, maps and on-undecodable for single states, by operator (uid, name, hex "
        "ID or *), state (a name or *) and option; the other states keep the values of [decoding].",
        UsedBy.SPARK_ROWS | UsedBy.SPARK_STATISTICS | UsedBy.SPARK_DIFF | UsedBy.PYTHON,
        spark=SparkOption(doc="Values of strings, timestamps, outOfRange and maps (of flink-state also onUndecodable) for "
            "single states, as STATE/OPTION=VALUE, separated by semicolons; the state is a name or *."))

    split_bytes: int = _option(128 * 10**6, "job", "bytes",
        "State that one task reads. A key group is never split.", UsedBy.STATISTICS | UsedBy.SPARK_ROWS | UsedBy.SPARK_DIFF,
        least=1)
    memory_bytes: int = _option(128 * 10**6, "job", "bytes",
        "Rows that one task holds in memory. The extract job writes the largest dataset then, a comparison uses a temporary "
        "directory.", UsedBy.DIFF | UsedBy.SPARK_DIFF, least=1)
    header_threads: int = _option(32, "job", "count",
        "Threads that read the headers of the state files.", _ALL, least=1)
    ship_code: str = _option("auto", "job", "choice",
        "Send stateextract and serializers to the workers. auto: where the workers are not on this machine.",
        choices=("auto", "always", "never"))

    def lines(self) -> dict[str, Any]:
        """What a manifest records: every option with its value, under its outside name."""
        return {outside(f.name): _plain(getattr(self, f.name)) for f in dataclasses.fields(self)}

    @property
    def lenient(self) -> bool:
        """Whether a state that cannot be read is only reported, while the others are read."""
        return not self.strict and not self.state

    def __post_init__(self) -> None:
        for f in fields():
            value = getattr(self, f.name)
            # A text is a sequence of letters, too.
            if f.metadata["kind"] == "list" and isinstance(value, str):
                object.__setattr__(self, f.name, (value,))

    def path_pairs(self) -> tuple[tuple[str, str], ...]:
        """``path_map`` taken apart."""
        pairs = []
        for given in self.path_map:
            old, sign, new = given.partition("=") if isinstance(given, str) else (given[0], "=", given[1])
            if not sign or not old or not new:
                raise UsageError(f"--path-map {given!r} is not of the form OLD=NEW")
            pairs.append((old, new))
        return tuple(pairs)


def fields() -> tuple[dataclasses.Field[Any], ...]:
    """All options in the order of their documentation."""
    return dataclasses.fields(JobOptions)


def parse_arguments(arguments: Sequence[str]) -> JobOptions:
    """Options from a command line (without the program's name); reads the job file that ``--config`` names."""
    parser = _parser()
    given, rest = parser.parse_known_args(list(arguments))
    if rest:
        known = [f"--{outside(f.name)}" for f in fields() if f.metadata["kind"] not in FILE_ONLY]
        _refuse_unknown(rest[0].split("=", 1)[0], [*known, "--config", "--help"])
    options = make_options(vars(given), given.config)
    for name in ("snapshot", "output"):
        if not getattr(options, name):
            raise UsageError(f"--{name} is missing", advice=f"give --{name} PATH or set it in the job file")
    return options


def make_options(given: Mapping[str, Any], config: str | None = None) -> JobOptions:
    """Options from what a command line gives and a job file sets.

    :param given: by the fields' names, as text, truth or list of texts; ``None``, or nothing, where it is not given.
    :param config: path of the job file.
    :raises UsageError: for a value that cannot be right.
    """
    values: dict[str, Any] = {} if config is None else _read_file(Path(config))
    for f in fields():
        value = given.get(f.name)
        if value is not None:
            values[f.name] = _converted(f, value, f"--{outside(f.name)}", strict=False)
    options = JobOptions(**values)
    options.path_pairs()
    for line in options.policies:
        policy_line(line)
    return options


def parse_file(text: str, name: str = "the job file") -> dict[str, Any]:
    """Values of the fields that a TOML job file sets; its rules (:data:`AUDIT`) are not among them."""
    import tomllib

    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{name} is not TOML: {error}") from error
    by_section: dict[str, dict[str, dataclasses.Field[Any]]] = {}
    for f in fields():
        by_section.setdefault(f.metadata["section"], {})[f.metadata["name"] or outside(f.name)] = f
    values: dict[str, Any] = {}
    for section, content in document.items():
        if section in AUDIT:
            if not isinstance(content, AUDIT[section]):
                raise UsageError(f"{name}: {section!r} is {content!r}",
                                 expected="[[rules]] tables" if section == "rules" else "an [audit] table")
            continue
        if section not in by_section:
            homes = [s for s, names in by_section.items() if section in names]
            if homes:
                raise UsageError(f"{name}: option {section!r} is outside its section",
                                 advice=f"move it to [{homes[0]}]")
            _refuse_unknown(section, [*by_section, *AUDIT], f"{name}: section ")
        if not isinstance(content, dict):
            raise UsageError(f"{name}: {section!r} is a section, not a value",
                             advice=f"write [{section}] above its options")
        whole = next((f for f in by_section[section].values() if f.metadata["kind"] == "mapping"), None)
        if whole is not None:
            values[whole.name] = _mapping(content, f"{name}: [{section}]")
            continue
        for option, value in content.items():
            if option not in by_section[section]:
                homes = [s for s, names in by_section.items() if option in names]
                if homes:
                    raise UsageError(f"{name}: option {option!r} does not belong to [{section}]",
                                     advice=f"move it to [{homes[0]}]")
                _refuse_unknown(option, list(by_section[section]), f"{name}: [{section}] ")
            f = by_section[section][option]
            values[f.name] = _converted(f, value, f"{name}: [{section}] {option}", strict=True)
    return values


def parse_size(text: str) -> int | None:
    """Bytes from ``128 MB``, ``64MiB`` or ``1000``; ``None`` where it is not a size."""
    match = _SIZE.fullmatch(text)
    if match is None or match.group(2).lower() not in _UNITS:
        return None
    return int(Decimal(match.group(1)) * _UNITS[match.group(2).lower()])


class _OptionsParser(argparse.ArgumentParser):
    """An ``ArgumentParser`` whose complaints are :class:`UsageError`."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, advice="--help lists the options")


def _parser() -> argparse.ArgumentParser:
    parser = _OptionsParser(
        prog="extract.py",
        description="Extracts the state in an Apache Flink checkpoint or savepoint as Parquet datasets, with Spark.",
        epilog="You can also set every option in the job file (--config); the page Options of the documentation shows how.",
        allow_abbrev=False,
    )
    parser.add_argument("--config", metavar="FILE", help="TOML job file with options")
    groups: dict[str, Any] = {}
    for f in fields():
        meta = f.metadata
        if meta["kind"] in FILE_ONLY:
            continue
        group = groups.setdefault(meta["section"], parser.add_argument_group(meta["section"]))
        settings: dict[str, Any] = {"dest": f.name, "default": None, "help": option_help(f).replace("%", "%%")}
        if meta["kind"] == "flag":
            settings["action"] = argparse.BooleanOptionalAction
        else:
            settings["metavar"] = metavar(f)
            if meta["kind"] == "list":
                settings["action"] = "append"
        group.add_argument(f"--{outside(f.name)}", **settings)
    return parser


def metavar(f: dataclasses.Field[Any]) -> str:
    """What a help text shows in place of an option's value."""
    meta = f.metadata
    if meta["kind"] == "list":
        return "OLD=NEW" if f.name == "path_map" else f.name.rstrip("s").upper()
    if f.name == "job":
        return "ID"
    return "|".join(meta["choices"]) or {"bytes": "SIZE", "count": "N"}.get(meta["kind"], "PATH")


def option_help(f: dataclasses.Field[Any]) -> str:
    """A line on what an option does, with its default."""
    default: Any = f.default
    text = described(f, "repeat for several")
    if f.metadata["kind"] == "flag":
        text += f" Default: {'yes' if default else 'no'}."
    elif default not in ("", ()):
        text += f" Default: {show_size(default) if f.metadata['kind'] == 'bytes' else default}."
    return text


def described(f: dataclasses.Field[Any], how_to_repeat: str = "") -> str:
    """What an option does.

    :param how_to_repeat: of a list: how several values are given.
    """
    doc = str(f.metadata["doc"])
    return doc if doc.endswith(".") else f"{doc}; {how_to_repeat}." if how_to_repeat else f"{doc}."


def spark_name(f: dataclasses.Field[Any]) -> str:
    """How Spark's sources call an option."""
    first, *rest = f.name.split("_")
    return f.metadata["spark"].name or first + "".join(part.capitalize() for part in rest)


def python_name(f: dataclasses.Field[Any]) -> str:
    """How Python calls an option."""
    return f.metadata["python"] or f.name


@cache
def _keywords(used_by: UsedBy) -> dict[str, dataclasses.Field[Any]]:
    return {python_name(f): f for f in fields() if f.metadata["used_by"] & used_by}


def from_keywords(
    snapshot: str, given: Mapping[str, Any], used_by: UsedBy = UsedBy.PYTHON, function: str = "open_snapshot"
) -> JobOptions:
    """Options from keyword arguments of a function; ``None`` is the default.

    A list may be one text, ``path_map``, ``types`` and ``policies`` are mappings, paths may be of ``pathlib``.

    :raises TypeError: for a name that is unknown; :raises UsageError: for a value that is wrong.
    """
    known = _keywords(used_by)
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            near = nearest(name, known)
            hint = f"; the nearest is {near[0]!r}" if near else ""
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")
        f, kind = known[name], known[name].metadata["kind"]
        if value is None:
            continue
        where = f"the option {name}"
        if f.name == "path_map":
            values[f.name] = tuple(value.items() if isinstance(value, Mapping) else value)
        elif kind == "mapping":
            values[f.name] = _mapping(value, where)
        else:
            if kind in ("list", "tables"):
                value = [value] if isinstance(value, str | os.PathLike | Mapping) else list(value)
            value = [_path_text(item) for item in value] if isinstance(value, list) else _path_text(value)
            values[f.name] = _converted(f, value, where, strict=True)
    options = JobOptions(snapshot=snapshot, **values)
    for line in options.policies:
        policy_line(line)
    return options


def keyword_docs(used_by: UsedBy = UsedBy.PYTHON) -> str:
    """Lines of a docstring on the keyword arguments of a function."""
    known = (f for f in fields() if f.metadata["used_by"] & used_by and f.name != "path_map")
    return "\n".join(f"    :param {python_name(f)}: {described(f)} Default: {f.default!r}." for f in known) + "\n    "


def _path_text(value: Any) -> Any:
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def show_size(size: int) -> str:
    """Bytes as a person writes them: ``128 MB``; the inverse of :func:`parse_size`."""
    for unit in ("TB", "GB", "MB", "kB"):
        factor = _UNITS[unit.lower()]
        if size and size % factor == 0:
            return f"{size // factor} {unit}"
    return str(size)


def _read_file(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the job file {path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    return parse_file(text, str(path))


def _mapping(content: Mapping[str, Any], where: str) -> tuple[str, ...]:
    for key, value in content.items():
        if not isinstance(value, str):
            raise UsageError(f"{where} {key!r} is {value!r}", expected="a string",
                             advice=f'put quotes around all of the name: "{key}/..."')
    return tuple(f"{key}={value}" for key, value in content.items())


def _converted(f: dataclasses.Field[Any], value: Any, where: str, *, strict: bool) -> Any:
    """The field's value. ``strict``: from TOML, where a value has a type; otherwise text from the command line."""
    kind = f.metadata["kind"]
    if kind == "flag":
        if not isinstance(value, bool):
            raise UsageError(f"{where} is {value!r}", expected="true or false")
        return value
    if kind == "list":
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise UsageError(f"{where} is {value!r}", expected="a list of strings")
        return tuple(value)
    if kind == "tables":
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise UsageError(f"{where} is {value!r}", expected=f"tables: [[{f.metadata['section']}.{f.metadata['name']}]]")
        return tuple(json.dumps(item, default=str) for item in value)
    if kind in ("bytes", "count"):
        return _number(f, value, where, strict=strict)
    if not isinstance(value, str):
        raise UsageError(f"{where} is {value!r}", expected="a string")
    choices = f.metadata["choices"]
    return one_of(choices, value, where, value) if choices else value


def one_of(choices: Sequence[str], value: str, where: str, text: str) -> str:
    """The value.

    :param where: names the option; :param text: is what was given.
    :raises UsageError: where it is none of the choices.
    """
    if value not in choices:
        near = nearest(value, choices)
        raise UsageError(f"{where} is {text!r}", expected="one of " + ", ".join(filter(None, choices)),
                         advice=f"the nearest is {near[0]!r}" if near else None)
    return value


def _number(f: dataclasses.Field[Any], value: Any, where: str, *, strict: bool) -> int:
    sizes = f.metadata["kind"] == "bytes"
    number: int | None = None
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, str) and sizes:
        number = parse_size(value)
    elif isinstance(value, str) and not strict and value.isascii() and value.isdigit():
        number = int(value)
    if number is None or number < f.metadata["least"]:
        expected = "a size such as '128 MB', '64 MiB' or a number of bytes" if sizes else "a whole number"
        raise UsageError(f"{where} is {value!r}", expected=f"{expected}, at least {f.metadata['least']}")
    return number


def _refuse_unknown(name: str, known: list[str], where: str = "") -> NoReturn:
    near = nearest(name, known, least=0.5)
    advice = f"the nearest is {near[0]}" if near else "known are " + ", ".join(known)
    what = f"{where}{name!r} is unknown" if where else f"option {name!r} is unknown"
    if not name.startswith("-") and not where:
        what = f"argument {name!r} is not expected; every option has a name"
    raise UsageError(what, advice=advice)


def outside(name: str) -> str:
    """How an option is called on a command line and in a job file."""
    return name.replace("_", "-")


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def policy_line(line: str) -> tuple[str, str, str]:
    """A line of ``policies`` taken apart: ``OPERATOR/STATE``, the option (as a field is called) and its value.

    :raises UsageError: for an option or a value that is unknown.
    """
    target, _, value = line.rpartition("=")
    target, slash, name = target.rpartition("/")
    # Data sources of Spark call options in camelCase.
    option = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).replace("-", "_").lower()
    if not slash or "/" not in target or option not in POLICIES:
        raise UsageError(f"the policy {line!r} is for no option", expected="OPERATOR/STATE/OPTION = VALUE",
                         advice=f"the options are {', '.join(map(outside, POLICIES))}")
    choices = next(f for f in fields() if f.name == option).metadata["choices"]
    if value not in choices:
        raise UsageError(f"the policy {line!r} has the value {value!r}", expected=f"one of {', '.join(choices)}")
    return target, option, value


def from_lines(lines: Mapping[str, Any]) -> JobOptions:
    """The inverse of :meth:`JobOptions.lines`."""
    values: dict[str, Any] = {n.replace("-", "_"): tuple(v) if isinstance(v, list) else v for n, v in lines.items()}
    return JobOptions(**values)


OPTIONS.update(
    (f"--{outside(f.name)}", (spark_name(f) if used_by.is_spark else None, python_name(f) if used_by & UsedBy.PYTHON else None))
    for f in fields()
    for used_by in (f.metadata["used_by"],)
    if f.metadata["kind"] not in FILE_ONLY
)
# How single operators and states are selected there.
OPTIONS.update({"--operator": ("operatorUid", "operator"), "--state": ("stateName", "state")})
