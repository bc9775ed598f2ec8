"""The job on Spark: splits to tasks, and the command ``extract.py``.

The tasks run as ``spark.range(0, n, 1, numPartitions=n).mapInArrow(...)``, one action: it runs exactly one split per task,
on classic Spark and on Connect; there is no shuffle that could merge tasks. Of an extract job only the number of a split
travels through Spark; the plan file in the output's staging folder has the split, and the tasks can reach it because they write
there. The rows of the DataFrame are the tasks' reports; whatever else an attempt wrote does not count.

DataFrame API only. Knows the job (``job/run.py``) and its environment, nothing of Flink.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import re
import shutil
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from stateextract import errors
from stateextract.columnar.compiled import native
from stateextract.ending import exit_code_of, printing_about_a_result
from stateextract.errors import EnvironmentProblem, StateExtractError
from stateextract.job.execute import Execute, OnReport, Tasks
from stateextract.job.run import JobResult, run_job
from stateextract.job.task import compile_once
from stateextract.options import JobOptions, parse_arguments
from stateextract.printable import encode_any_text
from stateextract.screen import UNLIMITED, Screen
from stateextract.snapshot.headers import OnHeaders, ignore_progress
from stateextract.spark import worker
from stateextract.spark.archive import zipped
from stateextract.spark.environment import (
    WORKERS_ADVICE,
    check_python,
    explain_failure,
    is_classic_of_3,
    is_local,
    open_session,
)
from stateextract.spark.task_progress import OnTasks, watched

SCHEMA = "task long, report binary"
_NOTICE_SECONDS = 2.0
# What Python says last of an error in a worker, after the frames, which are indented.
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)+(\S.*)")


def main(arguments: Sequence[str], defaults: Path | None = None) -> int:
    """The command: runs a job, prints its report, gives its exit code.

    :param defaults: Spark settings for a Spark that this process has to start.
    """
    encode_any_text()
    screen, complaints = Screen(width=None if sys.stdout.isatty() else UNLIMITED), Screen(stderr=True, soft_wrap=True)
    try:
        options = parse_arguments(arguments)
        outcome = extract(options, defaults)
    except StateExtractError as error:
        complaints.print(f"extract.py: {error}", style="red", markup=False, highlight=False)
        return error.exit_code
    except KeyboardInterrupt as error:
        complaints.print("extract.py: Interrupted.", markup=False, highlight=False)
        return exit_code_of(error)
    with printing_about_a_result(lambda text: complaints.print(f"extract.py: {text}", markup=False, highlight=False)):
        outcome.show(screen, options.output)
    return outcome.exit_code


def extract(
    options: JobOptions,
    defaults: Path | None = None,
    session: Any = None,
    settings: Mapping[str, str] | None = None,
    on_tasks: OnTasks | None = None,
    on_headers: OnHeaders = ignore_progress,
) -> JobResult:
    """Run a job with Spark.

    :param defaults: a properties file with settings for a Spark that is started here.
    :param settings: further settings, which win over the file's.
    :param session: a Spark session to use, which is left open; otherwise one is found or started.
    :param on_tasks: receives how many tasks are done, where Spark says it.
    :param on_headers: as of :func:`stateextract.job.plan.make_plan`.
    :raises StateExtractError: then nothing was published.
    """
    opened: list[Any] = []

    def execute(tasks: Tasks, on_report: OnReport) -> None:
        spark, started = (session, False) if session is not None else open_session(defaults, settings)
        if started:
            opened.append(spark)
        spark_executor(spark, options.ship_code, on_tasks)(tasks, on_report)

    try:
        return run_job(options, execute, on_headers=on_headers)
    finally:
        for spark in opened:
            spark.stop()


def spark_executor(spark: Any, ship_code: str = "auto", on_tasks: OnTasks | None = None) -> Execute:
    """Run tasks on this session: those of the extract job, of statistics or of a comparison.

    The function that is returned raises what a task raised, or what is wrong with the workers, as ``StateExtractError``.
    """

    def execute(tasks: Tasks, on_report: OnReport) -> None:
        if tasks.count == 0:
            return
        size = sum(tasks.sizes)
        folder, archive = code_for_workers(spark, ship_code, size)
        if folder is not None:
            compiled(size)
            tasks.prepare()
        function_path = f"{tasks.open.__module__}:{tasks.open.__name__}"
        function = worker.make_function(function_path, tasks.shared, tasks.records, folder, archive)
        with watched(spark, tasks, on_tasks):
            rows = _mapped(spark, tasks.count, function)
        for row in rows:
            on_report(row["task"], bytes(row["report"]))

    return execute


def _mapped(spark: Any, count: int, function: Callable[[Iterator[Any]], Iterator[Any]]) -> list[Any]:
    """The rows that a function of ``worker.py`` gives for each of so many tasks."""
    _send_by_value()
    tag = f"stateextract-{uuid.uuid4().hex}"
    add, interrupt, remove = _tags(spark)
    try:
        add(tag)
        frame = spark.range(0, count, 1, numPartitions=count).mapInArrow(function, SCHEMA)
        return list(frame.collect())
    except StateExtractError:
        raise
    except Exception as error:
        raise job_error(error) from error
    except BaseException:
        # The driver goes on to clear the output, so no task may write any more.
        with contextlib.suppress(Exception):
            interrupt(tag)
        raise
    finally:
        with contextlib.suppress(Exception):
            remove(tag)


def _tags(spark: Any) -> tuple[Callable[[str], Any], Callable[[str], Any], Callable[[str], Any]]:
    """What gives this thread's jobs a tag, ends the jobs with it, and takes it away."""
    if is_classic_of_3(spark):
        context = spark.sparkContext
        return context.addJobTag, context.cancelJobsWithTag, context.removeJobTag
    return spark.addTag, spark.interruptTag, spark.removeTag


def compiled(size: int | None) -> None:
    """See :func:`stateextract.job.task.compile_once`; says so where it takes long.

    Under ``spark-submit`` standard error is never a terminal, so there can be no bar.
    """
    text = "Compiling the kernel: about a minute, once on this machine."
    notice = threading.Timer(_NOTICE_SECONDS, print, (text,), {"file": sys.stderr, "flush": True})
    notice.daemon = True
    notice.start()
    try:
        compile_once(size)
    finally:
        notice.cancel()


def job_error(error: Exception) -> StateExtractError:
    """The error that a task raised, out of what Spark makes of it."""
    text = str(error)
    start = text.find(worker.ERROR_MARK)
    if start >= 0:
        try:
            document, _ = json.JSONDecoder().raw_decode(text, start + len(worker.ERROR_MARK))
        except ValueError:
            document = {}
        if document.pop("worker", False):
            document["advice"] = WORKERS_ADVICE
        if "message" in document:
            return StateExtractError.from_dict(document)
    problem = explain_failure(text)
    if problem is not None:
        return problem
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    traced = _TRACEBACK.search(text)
    reason = (
        traced[1]
        if traced is not None
        else next((line for line in lines if "Error" in line or "exception" in line.lower()), lines[0] if lines else "")
    )
    return StateExtractError(f"the Spark job failed: {reason[:500]}", advice="see Spark's log")


# -- code on the workers


def _send_by_value() -> None:
    """Let Spark pickle the function whole: workers may not be able to import it."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(worker)


def code_for_workers(spark: Any, ship_code: str, size: int | None = None) -> tuple[str | None, str | None]:
    """Folder of the packages where workers see it, or the name of the zip that Spark brings them.

    :param size: bytes of state that they will read; ``None``: not known. The zip has the kernels' machine code, where it is
        kept or so much is worth compiling.
    """
    root = Path(errors.__file__).resolve().parents[1]
    if is_local(spark):
        # Elsewhere the workers' Python may be one that this machine does not have.
        check_python(spark)
    if ship_code == "never":
        return None, None
    if ship_code == "auto" and is_local(spark) and (root / "stateextract").is_dir():
        return str(root), None
    compiled(size)
    data = zipped(root, native.delivery())
    name = f"stateextract-{hashlib.sha256(data).hexdigest()[:16]}.zip"
    path = Path(tempfile.mkdtemp(prefix="stateextract-")) / name
    # Classic Spark's executors fetch the file from this process whenever they start, so it stays as long as that does.
    atexit.register(shutil.rmtree, path.parent, ignore_errors=True)
    path.write_bytes(data)
    try:
        if is_classic_of_3(spark):
            spark.sparkContext.addPyFile(str(path))
        else:
            spark.addArtifacts(str(path), pyfile=True)
    except Exception as error:
        raise EnvironmentProblem(
            f"Spark does not take the code for its workers: {error}",
            advice="install stateextract on the workers and set --ship-code never",
        ) from error
    return None, name
