"""The data sources as Spark knows them: ``flink-state``, ``flink-state-metadata`` and ``flink-state-diff``.

Spark pickles a source's class into processes of its own, on the driver's machine for planning and on the workers for
reading. They go there by value, so this module needs no import there; it makes the rest importable (``worker.py``) and hands
over to ``source_read.py``, ``source_tables.py`` and ``source_diff.py``. What is kept in between are bytes, so that nothing of
the project has to be imported to carry it along.

Spark keeps the object whose ``schema()`` it called, with what that found out: the plan is made once for each ``load()``.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from stateextract.spark.worker import make_importable

CodeLocation = tuple[str | None, str | None]
"""Where the project is for processes that cannot import it: a folder that they see, or the name of a zip that Spark brings."""


def call_in_worker(code: CodeLocation, function_path: str, *arguments: Any) -> Any:
    """What a function of the project gives, which is made importable first.

    :param function_path: module and function.
    :raises ImportError: where it is not there, or a package that it needs; says what to set.
    """
    make_importable(*code)
    name, _, function = function_path.partition(".")
    try:
        module = importlib.import_module(f"stateextract.spark.{name}")
    except ImportError as error:
        missing = error.name or str(error)
        what = "install stateextract there" if missing.startswith("stateextract") else "install it there"
        raise ImportError(
            f"the Python of Spark's processes ({sys.executable}) cannot import {missing}: {what}, set PYSPARK_PYTHON (or "
            "spark.pyspark.python) to a Python that has it, or register the sources with stateextract.spark.register(spark), "
            "which sends the code along",
            name=error.name,
        ) from None
    try:
        return getattr(module, function)(*arguments)
    except Exception as error:
        raise without_traceback(error) from None


def without_traceback(error: Exception) -> Exception:
    """An error of the project's own without the way to it: its sentence says all, and Spark shows what is around it."""
    return error.with_traceback(None) if hasattr(error, "advice") else error


def batches(code: CodeLocation, function_path: str, *arguments: Any) -> Iterator[Any]:
    """The batches that a function of the project gives."""
    try:
        yield from call_in_worker(code, function_path, *arguments)
    except Exception as error:
        raise without_traceback(error) from None


class FlinkStateSource(DataSource):  # type: ignore[misc]
    """The rows of one state, of an operator's timers, or of all its keyed states side by side."""

    code: ClassVar[CodeLocation] = (None, None)

    @classmethod
    def name(cls) -> str:
        return "flink-state"

    def schema(self) -> Any:
        """The state's columns, from the snapshot."""
        self.plan, schema = call_in_worker(self.code, "source_read.planned", dict(self.options))
        return schema

    def reader(self, schema: Any) -> DataSourceReader:
        plan = getattr(self, "plan", None) or call_in_worker(self.code, "source_read.planned", dict(self.options))[0]
        plan = call_in_worker(self.code, "source_read.with_schema", plan, schema)
        return FlinkStateReader(self.code, "source_read", plan)


class SplitReader(DataSourceReader):  # type: ignore[misc]
    """Plans splits, and reads one of them wherever Spark asks for it.

    :param module: of the project, whose functions do it.
    """

    def __init__(self, code: CodeLocation, module: str, plan: bytes) -> None:
        self.code, self.module, self.plan = code, module, plan

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(split) for split in call_in_worker(self.code, f"{self.module}.splits", self.plan)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The Arrow batches of a split."""
        if partition.value is None:  # Spark's placeholder where there are no splits
            return iter(())
        return batches(self.code, f"{self.module}.read", self.plan, partition.value)

    def __getstate__(self) -> dict[str, Any]:
        # Spark pickles a reader for its tasks only, and they are given their splits one by one.
        return {**vars(self), "plan": call_in_worker(self.code, f"{self.module}.for_tasks", self.plan)}


class FlinkStateReader(SplitReader):
    """Reads a state."""

    @property
    def pushFilters(self) -> Any:
        """Called by Spark with the filters that it knows."""
        return _PushFilters(self)

    def push(self, filters: list[Any]) -> list[Any]:
        """Leave out what cannot pass, if that is asked for. Spark applies all of them again: what comes is roughly filtered.

        Spark (4.1 to 4.3) keeps the plan of the last query that pushed filters for all later ones of the same frame or view,
        those without filters included, which then lack rows. So it is for frames of one query, and off unless asked for.
        """
        if not call_in_worker(self.code, "source_read.pushes", self.plan):
            return filters
        self.plan = call_in_worker(self.code, "source_read.with_filters", self.plan, filters)
        return filters


class _PushFilters:
    """A reader's way to take filters.

    Where filters are not to be pushed down, Spark refuses readers that override ``pushFilters``, and looks at this attribute
    to find out. Reading more than is needed is better than not reading.
    """

    def __init__(self, reader: FlinkStateReader) -> None:
        self.__func__ = getattr(DataSourceReader, "pushFilters", None)
        self._reader = reader

    def __call__(self, filters: list[Any]) -> Iterable[Any]:
        return self._reader.push(filters)


class FlinkStateMetadataSource(DataSource):  # type: ignore[misc]
    """What a snapshot consists of, as tables."""

    code: ClassVar[CodeLocation] = (None, None)

    @classmethod
    def name(cls) -> str:
        return "flink-state-metadata"

    def schema(self) -> Any:
        """The columns of the table that is asked for."""
        return call_in_worker(self.code, "source_tables.table_schema", dict(self.options))

    def reader(self, schema: Any) -> DataSourceReader:
        plan = call_in_worker(self.code, "source_tables.planned", dict(self.options), schema)
        if plan is not None:
            return SplitReader(self.code, "source_statistics", plan)
        return FlinkStateMetadataReader(self.code, dict(self.options), schema)


class FlinkStateMetadataReader(DataSourceReader):  # type: ignore[misc]
    """Makes a table in one task."""

    def __init__(self, code: CodeLocation, options: dict[str, str], schema: Any) -> None:
        self.code = code
        self.options = options
        self.schema = schema

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The table, as Arrow batches."""
        return batches(self.code, "source_tables.read", self.options, self.schema)


class FlinkStateDiffSource(DataSource):  # type: ignore[misc]
    """What was added, removed and changed in one state between two snapshots, or between the checkpoints of a running job."""

    code: ClassVar[CodeLocation] = (None, None)

    @classmethod
    def name(cls) -> str:
        return "flink-state-diff"

    def schema(self) -> Any:
        """The columns of changes, from both snapshots, or of a stream from the newest checkpoint."""
        if any(name.lower() == "path" for name in self.options):
            self.columns = call_in_worker(self.code, "source_stream.columns", dict(self.options))
            return self.columns
        self.plan, schema = call_in_worker(self.code, "source_diff.planned", dict(self.options))
        return schema

    def reader(self, schema: Any) -> DataSourceReader:
        plan = getattr(self, "plan", None) or call_in_worker(self.code, "source_diff.planned", dict(self.options))[0]
        return SplitReader(self.code, "source_diff", call_in_worker(self.code, "source_diff.with_schema", plan, schema))

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        """A reader of the changes of a running job."""
        return FlinkStateDiffStreamReader(self.code, dict(self.options), schema, getattr(self, "columns", None))


class FlinkStateDiffStreamReader(DataSourceStreamReader):  # type: ignore[misc]
    """Compares the checkpoints of a job as they complete. Offsets are checkpoints; each batch is planned when it is read.

    Spark keeps one reader in a process on the driver's machine, and sends copies of another to its tasks.

    :param columns: what ``schema()`` found; ``None``: the user gave the schema.
    """

    def __init__(self, code: CodeLocation, options: dict[str, str], schema: Any, columns: Any) -> None:
        self.code, self.options, self.schema, self.columns = code, options, schema, columns
        self.is_new = False
        self.latest: dict[str, Any] | None = None

    def initialOffset(self) -> dict[str, Any]:
        """Before all checkpoints. Spark calls it as long as the query has read nothing."""
        self.is_new = True
        start: dict[str, Any] = call_in_worker(self.code, "source_stream.initial_offset")
        return start

    def latestOffset(self) -> dict[str, Any]:
        """The newest complete checkpoint, or the one to start with."""
        self.latest = call_in_worker(self.code, "source_stream.latest_offset", self.options, self.latest, self.is_new)
        return self.latest

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The tasks of a batch; the same for the same checkpoints."""
        self.is_new = False
        given = self.options, self.schema, self.columns
        return [InputPartition(one) for one in call_in_worker(self.code, "source_stream.partitions", *given, start, end)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The Arrow batches of a task."""
        return batches(self.code, "source_stream.read", partition.value)

    def commit(self, end: dict[str, Any]) -> None:
        """The batches up to this checkpoint are done."""
        call_in_worker(self.code, "source_stream.commit", self.options, [end, self.latest or end])


SOURCES = (FlinkStateSource, FlinkStateMetadataSource, FlinkStateDiffSource)
