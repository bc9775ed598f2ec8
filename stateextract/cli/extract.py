"""``stateextract extract``: the extract job, on Spark without ``spark-submit`` or on this machine without Spark."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from stateextract.cli.common_options import complain, output_format
from stateextract.cli.selection import config_option, job_options, read_options
from stateextract.ending import printing_about_a_result
from stateextract.errors import EnvironmentProblem, UsageError
from stateextract.options import JobOptions
from stateextract.printable import json_document

if TYPE_CHECKING:
    from stateextract.job.execute import Tasks
    from stateextract.job.run import JobResult

_SPARK = {"spark.log.level": "ERROR"}
"""Settings of a Spark that is started here, besides ``conf/spark-defaults.conf``."""


def _settings(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    settings = {}
    for text in values:
        name, sign, value = text.partition("=")
        if not sign or not name.startswith("spark."):
            raise click.BadParameter(f"{text!r} is not of the form spark.NAME=VALUE.")
        settings[name] = value
    return settings


@click.command()
@click.argument("path", required=False)
@click.option(
    "--engine",
    type=click.Choice(["spark", "local"]),
    default="spark",
    show_default=True,
    help="Spark, or processes of this machine, which take neither Spark nor Java.",
)
@click.option(
    "--workers", metavar="N", type=click.IntRange(min=1), help="Processes of --engine local. Default: one per core."
)
@click.option(
    "--conf", metavar="NAME=VALUE", multiple=True, callback=_settings, help="A setting for Spark; repeat for several."
)
@config_option
@job_options(None)
@output_format(["text", "json"], "How to print the coverage report: text for people, JSON for scripts.")
def extract(
    path: str | None,
    snapshot: str | None,
    engine: str,
    workers: int | None,
    conf: dict[str, str],
    format_: str,
    **given: Any,
) -> int:
    """Write the states of the snapshot at PATH as Parquet datasets below the directory --output.

    Nothing is visible there before the end, and where it fails nothing is. The options are those of extract.py.
    """
    if path is not None and snapshot is not None:
        raise UsageError("the snapshot is given twice, as PATH and as --snapshot")
    options = read_options(path or snapshot, given)
    if not options.snapshot:
        raise UsageError("PATH is missing", advice="give the snapshot's path, or set it in the job file")
    if not options.output:
        raise UsageError("--output is missing", advice="give --output DIRECTORY, or set it in the job file")
    if engine == "local" and conf:
        raise UsageError("--conf requires --engine spark", advice="leave it out")
    if engine == "spark" and workers is not None:
        raise UsageError("--workers requires --engine local", advice="for Spark, set --conf spark.master=local[N]")
    outcome = _on_this_machine(options, workers) if engine == "local" else _on_spark(options, conf)
    with printing_about_a_result(complain):
        if format_ == "json":
            click.echo(json_document(describe(outcome, options), indent=1))
        else:
            from stateextract.cli.printing import console

            outcome.show(console(), options.output)
    return outcome.exit_code


def _on_this_machine(options: JobOptions, workers: int | None) -> JobResult:
    from stateextract.cli.progress import Meter, counted
    from stateextract.columnar.arrow.without_pandas import without_pandas
    from stateextract.job.execute import on_this_machine
    from stateextract.job.run import run_job
    from stateextract.job.task import SplitReport

    def rows(report: bytes) -> int:
        return sum(counters.rows for part in SplitReport.from_bytes(report).parts for counters in part.counters.states.values())

    without_pandas()
    with Meter("extract") as meter:
        return run_job(options, counted(meter, on_this_machine(workers), rows), on_headers=meter.headers)


def _on_spark(options: JobOptions, conf: dict[str, str]) -> JobResult:
    from stateextract.cli.progress import Meter
    from stateextract.spark.job import extract as extract_on_spark
    from stateextract.spark.submit import job_files

    def on_tasks(tasks: Tasks, done: int) -> None:
        if not meter.tasks:
            meter.expect(sum(tasks.sizes), tasks.count)
        # Which tasks are done Spark does not say; they are of about one size.
        meter.add(sum(tasks.sizes) * done // tasks.count - meter.done, tasks=done - meter.tasks_done)

    with Meter("extract") as meter:
        settings = {**_SPARK, **conf}
        try:
            return extract_on_spark(options, job_files()[1], None, settings, on_tasks, meter.headers)
        except EnvironmentProblem as error:
            if isinstance(error.__cause__, ImportError):  # no Spark
                error.advice = f"{error.advice}; or extract without Spark: --engine local"
            raise


def describe(outcome: JobResult, options: JobOptions) -> dict[str, Any]:
    """The document of ``--format json``."""
    return {
        "output": options.output,
        "rows": sum(dataset.rows for dataset in outcome.datasets),
        "datasets": [
            {
                "folder": dataset.folder,
                "operator_id": dataset.operator_id,
                "operator_uid": dataset.operator_uid,
                "operator_name": dataset.operator_name,
                "state_name": dataset.state_name,
                "state_kind": dataset.state_kind,
                "raw": dataset.raw,
                "rows": dataset.rows,
                "files": len(dataset.files),
            }
            for dataset in outcome.datasets
        ],
        "coverage": json.loads(outcome.coverage.to_json()),
        "exit_code": outcome.exit_code,
    }
