"""``_manifest.json`` at the top of an output: which dataset lies in which folder, and where its rows came from.

No store swaps several datasets at once, so this file is what a careful reader trusts: exactly the Parquet files named
here are the data. An output that several jobs wrote into (mode ``overwrite``) keeps one entry per job that still has
datasets there.

A plain value with its JSON; opens nothing. Must not know of Spark or of Flink's formats.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pyarrow as pa

from stateextract.errors import OutputError
from stateextract.job.writer import WrittenFile
from stateextract.printable import json_document

FILE_NAME = "_manifest.json"
FORMAT = "stateextract manifest"
FORMAT_VERSION = 1


@dataclass(frozen=True)
class SourceFile:
    """A state file that rows came from.

    :param subtask: ``None`` for a coordinator.
    :param key_groups: ranges ``[first, last]``, both included.
    """

    file: str
    subtask: int | None
    key_groups: list[list[int]]
    rows: int
    raw_rows: int = 0


@dataclass(frozen=True)
class Dataset:
    """One folder of Parquet files: the rows, or the raw tail, of one state of one operator."""

    folder: str
    operator_id: str
    operator_uid: str | None
    operator_name: str | None
    state_name: str
    state_kind: str
    raw: bool
    rows: int
    files: list[WrittenFile]
    schema: list[dict[str, Any]]
    schema_text: str
    sources: list[SourceFile]
    job: str
    state_role: str | None = None

    @property
    def of(self) -> tuple[str, str]:
        """What overwriting replaces together: the state, with its raw tail."""
        return (self.operator_id, self.state_name)


@dataclass(frozen=True)
class Job:
    """A run: the tool, the snapshot, the options."""

    id: str
    tool_version: str
    finished: str
    snapshot: str
    checkpoint_id: int
    metadata_version: int
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Manifest:
    """The whole file. ``job`` is the run that wrote it."""

    job: str
    jobs: Mapping[str, Job]
    datasets: list[Dataset] = field(default_factory=list)

    def to_json(self) -> bytes:
        """The file's bytes; datasets in the order of their folders."""
        document = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "job": self.job,
            "jobs": {name: asdict(job) for name, job in self.jobs.items()},
            "datasets": [asdict(d) for d in sorted(self.datasets, key=lambda d: d.folder)],
        }
        return json_document(document, indent=1, ensure_ascii=True).encode()

    def replacing(self, older: Manifest | None) -> Manifest:
        """This manifest with the older one's datasets that this one does not replace."""
        if older is None:
            return self
        mine = {d.of for d in self.datasets} | {("", d.folder) for d in self.datasets}
        kept = [d for d in older.datasets if d.of not in mine and ("", d.folder) not in mine]
        jobs = {d.job: older.jobs[d.job] for d in kept if d.job in older.jobs}
        return replace(self, datasets=[*self.datasets, *kept], jobs={**jobs, **self.jobs})

    def replaced(self, older: Manifest | None) -> list[Dataset]:
        """The older manifest's datasets that are gone with this one."""
        if older is None:
            return []
        kept = {id(d) for d in self.replacing(older).datasets}
        return [d for d in older.datasets if id(d) not in kept]


def parse_manifest(data: bytes, path: str) -> Manifest:
    """The manifest that an earlier job wrote.

    :raises OutputError: where it is not one of ours, or of a later format.
    """
    try:
        document = json.loads(data)
        if document["format"] != FORMAT:
            raise ValueError("another format")
        if document["format_version"] != FORMAT_VERSION:
            raise OutputError(f"the manifest has format version {document['format_version']!r}",
                              expected=f"version {FORMAT_VERSION}", file=path)
        jobs = {name: Job(**job) for name, job in document["jobs"].items()}
        return Manifest(document["job"], jobs, [_dataset(d) for d in document["datasets"]])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise OutputError("the manifest in the output is not one that this tool wrote", file=path,
                          advice="choose another --output") from error


def _dataset(document: Mapping[str, Any]) -> Dataset:
    values = dict(document)
    values["files"] = [WrittenFile(**f) for f in values["files"]]
    values["sources"] = [SourceFile(**s) for s in values["sources"]]
    dataset = Dataset(**values)
    # What is named here is deleted when it is replaced, so nothing may lead out of the output.
    if not _is_inside(dataset.folder) or not all(_is_inside(file.path) for file in dataset.files):
        raise ValueError("the path is outside of the output")
    if any(file.path.rpartition("/")[0] != dataset.folder for file in dataset.files):
        raise ValueError("a file outside of its dataset's directory")
    return dataset


def _is_inside(path: str) -> bool:
    """Whether a relative path names something below the directory that it is relative to."""
    return all(part not in ("", ".", "..") and "\0" not in part for part in path.split("/"))


def describe_schema(schema: pa.Schema) -> list[dict[str, Any]]:
    """A schema as JSON: one object per column, with its children."""
    return [_describe_field(f) for f in schema]


def _describe_field(f: pa.Field) -> dict[str, Any]:
    document: dict[str, Any] = {"name": f.name, "type": str(f.type), "nullable": f.nullable}
    if f.type.num_fields:
        document["children"] = [_describe_field(f.type.field(i)) for i in range(f.type.num_fields)]
    return document


def joined_ranges(numbers: Iterable[int]) -> list[list[int]]:
    """Numbers as ranges ``[first, last]``."""
    ranges: list[list[int]] = []
    for n in sorted(set(numbers)):
        if ranges and ranges[-1][1] == n - 1:
            ranges[-1][1] = n
        else:
            ranges.append([n, n])
    return ranges
