"""The function that runs in Spark's Python workers.

Spark sends it by value, so it is the one piece of the project that needs no import on the worker; it makes the rest
importable there and hands over to the function that the tasks name (``job/execute.py``). It is given numbers of tasks and
returns reports.

Where the driver's files are the worker's (``local`` masters), the worker imports them in place. Elsewhere Spark delivered
a zip, which is unpacked once per user and version of the code: Numba keeps compiled code next to the files it came from,
and would have to compile again in every worker if these lay in a zip.

Imports nothing of the project at its top, and must not: the worker may not have it yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

ERROR_MARK = "[stateextract-error] "


def make_function(
    function_path: str, shared: bytes, records: Sequence[bytes], folder: str | None, archive: str | None
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function for ``mapInArrow``, whose rows are the numbers of tasks.

    :param function_path: ``module:function`` that opens what all tasks share, which is ``shared``.
    :param records: of the tasks, as in ``job/execute.py``.
    :param folder: where the packages lie, if the workers see the driver's files.
    :param archive: name of the zip that Spark delivered, if they do not.
    """

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import importlib

        import pyarrow

        try:
            make_importable(folder, archive)
            from stateextract.errors import StateExtractError
            from stateextract.job.execute import opened

            module, _, name = function_path.partition(":")
            open_shared = getattr(importlib.import_module(module), name)
        except ImportError as error:
            # What is missing is named as in any import error; the driver knows what to advise.
            raise RuntimeError(f"{marked_import_error(error)}") from None
        try:
            run_task = opened(open_shared, shared)
            for batch in batches:
                for task in batch.column(0).to_pylist():
                    report = run_task(task, records[task] if records else b"")
                    columns = [pyarrow.array([task], pyarrow.int64()), pyarrow.array([report], pyarrow.binary())]
                    yield pyarrow.RecordBatch.from_arrays(columns, names=["task", "report"])
        except StateExtractError as error:
            raise RuntimeError(marked(error)) from None

    return run


def marked(error: Any) -> str:
    """A ``StateExtractError`` as text that the driver takes it out of again."""
    import json

    return f"{error}\n{ERROR_MARK}{json.dumps(error.as_dict())}"


def marked_import_error(error: ImportError) -> str:
    """An import that failed on a worker, with the interpreter it failed in."""
    import json
    import sys

    message = f"the Python interpreter of Spark's workers ({sys.executable}) cannot import {error.name or error}"
    document = {"class": "EnvironmentProblem", "message": message, "worker": True}
    return f"{message}: {error}\n{ERROR_MARK}{json.dumps(document)}"


def make_importable(folder: str | None, archive: str | None) -> None:
    """Put the packages onto the worker's path."""
    import os
    import sys

    if folder is not None and os.path.isdir(folder):
        find_first(folder)
    elif archive is not None:
        delivered = next((p for p in sys.path if os.path.basename(p) == archive), None)
        if delivered is not None:
            unpacked = unpack(delivered, archive)
            if unpacked is not None:
                find_first(unpacked)


def find_first(folder: str) -> None:
    """Put a folder onto the path where the project is not found in it, because it is not there or another one is before it."""
    import importlib.util
    import os
    import sys

    try:
        found = importlib.util.find_spec("stateextract")
    except (ImportError, ValueError):
        found = None
    origin = None if found is None else found.origin
    if (origin is None or os.path.dirname(os.path.dirname(origin)) != folder) and sys.path[:1] != [folder]:
        sys.path.insert(0, folder)


def unpack(delivered: str, archive: str) -> str | None:
    """A folder of this user with the content of the zip; ``None`` where none can be made, then the zip itself must do.

    The zip's name holds a hash of its content, so a folder that exists is the right one; it counts only if it belongs
    to this user and only this user can write to it.
    """
    import os
    import shutil
    import tempfile
    import zipfile

    name = archive.removesuffix(".zip")
    user = os.getuid() if hasattr(os, "getuid") else 0
    target = os.path.join(tempfile.gettempdir(), f"{name}-{user}")
    try:
        if not os.path.isdir(target):
            made = tempfile.mkdtemp(prefix=name)
            with zipfile.ZipFile(delivered) as content:
                content.extractall(made)
            try:
                os.rename(made, target)
            except OSError:
                shutil.rmtree(made, ignore_errors=True)
        status = os.lstat(target)
    except OSError:
        return None
    if hasattr(os, "getuid") and (status.st_uid != user or status.st_mode & 0o022):
        return None
    return target if os.path.isdir(target) and not os.path.islink(target) else None
