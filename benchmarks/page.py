"""Makes ``docs/performance.md`` of the results of ``python -m benchmarks``. Every figure on the page comes from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.measuring import Measurement, number

INTRODUCTION = """# Performance

`python -m benchmarks --write-docs` measures every figure on this page and writes the page.

- Machine: {processor}, {cores} cores, {memory_gb} GB of memory.
- Load of the machine at the start: {load} processes.
- Date: {measured}, commit {commit}, Python {python}.

The benchmarks generate their snapshots. They check the rows that they read, and then measure. What is compared runs in turn
several times, and the best run of each counts. Figures of one core are by processor time, and the process is pinned to this
core. Other figures are by the clock if the table does not say otherwise. `python -m benchmarks --quick` takes a tenth of the
sizes, `--only NAME` runs one benchmark.

Two scripts compare this version with another commit, in turn: `python -m benchmarks.against COMMIT` (decoding, `get`, `stats`)
and `python -m benchmarks.unknown_values COMMIT` (Kryo values that are declared as `Object`).
"""

PER_GIGABYTE = """## What to expect per gigabyte

The table shows processor time for 1 GB of state in the HashMap form (10^9 bytes), by the shape of the state's values. Divide
by the number of cores. A task decodes the state and writes Parquet with zstd. In a RocksDB snapshot, decoding the same rows
takes the time in the last column.

| state | decode, s | decode and write, s | rows per GB, million | the same rows in RocksDB, decode, s |
|---|---|---|---|---|
"""

SHAPES = {
    "long-long": "`ValueState<Long>`, key `Long`",
    "pojo": "POJO of five fields, key `String`",
    "map": "`MapState<String, Long>` of ten entries",
    "list": "`ListState<Long>` of ten elements",
    "nested": "POJO with a POJO and a list of tuples",
}

SECTIONS = {
    "state_processor": (
        "Beside Flink's State Processor API",
        "A job of Flink 2.3 makes a native savepoint of two subtasks. Both tools write its rows as Parquet with "
        "zstd on the same cores, and the rows are compared. Flink's time is that of the job in a JVM that runs "
        "already. The time of stateextract is that of the whole command. Flink reads the values of an uncompressed HashMap "
        "savepoint one by one, without a buffer between them and a local file, so it calls the system for nearly each byte of "
        "a string. With snapshot compression (`heap-snappy`) it reads blocks. Judge the HashMap form by that row: it is the "
        "savepoint that Flink reads fastest.",
    ),
    "kryo": (
        "Beside Flink's KryoSerializer",
        "Both decode the same bytes in a loop on one core: stateextract into Arrow columns, Flink into Java "
        "objects. Kryo 2 is that of Flink 1.20, Kryo 5 that of Flink 2.3. The JVM runs before and after the "
        "kernel, and its better run counts.",
    ),
    "extract": (
        "The extract job on Spark",
        "The job runs on `local[2]` with eight files, in a session that has run a job. The bare write is two Python "
        "processes without Spark. Each has half of the job's rows as Arrow tables in memory and writes the same files "
        'again. "As the job": with the job\'s codec, encodings, row groups and settings of the memory. "As plain '
        'pyarrow": with the codec and dictionaries only.',
    ),
    "first_read": (
        "The first read",
        "The benchmark builds a wheel and installs it, without Spark and Numba, into a new virtual environment. "
        "Then it runs `stateextract --version` and extracts a snapshot, both with an empty cache. Nothing is "
        "compiled.",
    ),
    "decode": ("Decoding the HashMap form", "One core decodes a state file in memory into Arrow batches."),
    "canonical": (
        "Canonical savepoints and RocksDB",
        "One core decodes the same rows in each form of snapshot. The database has all rows in files of level 1, "
        "with Snappy.",
    ),
    "rocksdb": (
        "RocksDB's files",
        "One core reads, verifies and merges the pairs of databases, without decoding the values. The rate is that"
        " of uncompressed keys and values.",
    ),
    "sql": ("SQL rows", "One core decodes `BinaryRow`s of eight fields."),
    "avro": ("Avro records", "One core decodes records of eight fields."),
    "pickle_values": (
        "Values of PyFlink",
        "One core turns pickles into JSON. `pickle.loads` would execute code from the snapshot, so stateextract "
        "does not use it.",
    ),
    "stats": ("Statistics", "One core decodes the state and measures all columns."),
    "diff": (
        "Comparisons",
        "One process compares two snapshots of different parallelism. 2 % of the rows are new.",
    ),
    "incremental_diff": (
        "Comparisons of incremental checkpoints",
        "Two RocksDB checkpoints share their files of level 1. The later one has new values of 1 % of the keys, "
        "evenly spread.",
    ),
    "get": ("One key", "`stateextract get` as a new process: the median of several runs."),
    "plan": ("Planning many files", "The planner reads the header of every file."),
    "small_files": ("Extracting many small files", "One process plans and extracts all files."),
    "object_store": (
        "Object stores",
        "A local server answers like S3, 50 ms late and with 100 MB/s for each answer. `1 reads of 1 files` shows "
        "what it would cost without parallel requests.",
    ),
    "value_costs": (
        "Memory of large values",
        "A process reads a snapshot with one value. The table shows by how many bytes it grows for each byte of "
        "the value.",
    ),
    "restore": ("Checks of a new job", "`stateextract check` reads a snapshot and a JAR."),
    "report": ("Reports", "The report of a large job."),
}


def performance_page(document: dict[str, Any]) -> str:
    """The page.

    :param document: what ``python -m benchmarks --json`` writes.
    """
    found = {
        name: [Measurement(**fields) for fields in result["measurements"]]
        for name, result in document["benchmarks"].items()
    }
    parts = [INTRODUCTION.format(**document["machine"], **document)]
    per_gigabyte = list(_per_gigabyte(found.get("decode", []), found.get("canonical", [])))
    if per_gigabyte:
        parts.append(PER_GIGABYTE + "\n".join(per_gigabyte) + "\n")
    for name, (title, text) in SECTIONS.items():
        if name in found:
            parts.append(_section(name, title, text, found[name], document["benchmarks"][name]))
    return "\n".join(parts)


def _section(name: str, title: str, text: str, found: list[Measurement], result: dict[str, Any]) -> str:
    lines = [f"## {title}", "", f"{text} Benchmark: `{name}`.", ""]
    if not found:
        return "\n".join([*lines, f"Not measured: {result.get('skipped', 'the benchmark failed')}.", ""])
    goals = any(one.goal is not None for one in found)
    lines += [
        "| what | figure | value |" + (" goal | verdict |" if goals else ""),
        "|---|---|---|" + ("---|---|" if goals else ""),
    ]
    subject = ""
    for one in found:
        cells = ["" if one.subject == subject else one.subject, one.quantity, f"{number(one.value)} {one.unit}".strip()]
        subject = one.subject
        lines.append("| " + " | ".join([*cells, *([one.goal_text, one.verdict] if goals else [])]) + " |")
    return "\n".join([*lines, ""])


def _per_gigabyte(decoded: list[Measurement], forms: list[Measurement]) -> Iterator[str]:
    rates = {(one.subject, one.quantity, one.unit): one.value for one in decoded}
    ratios = {one.subject: one.value for one in forms if one.quantity == "RocksDB ÷ heap, time"}
    for shape, title in SHAPES.items():
        megabytes = rates.get((shape, "decoded by the kernel", "MB/s"))
        if megabytes is None:
            continue
        decode = 1000 / megabytes
        rows = rates[shape, "decoded by the kernel", "M rows/s"] * decode
        both = decode * (1 + 1 / rates[shape, "decode ÷ write Parquet", ""])
        rocksdb = number(decode * ratios[shape]) if shape in ratios else ""
        yield f"| {title} | {number(decode)} | {number(both)} | {number(rows)} | {rocksdb} |"
