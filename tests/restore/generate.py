#!/usr/bin/env python3
"""Makes ``golden.tar.xz`` anew: restores each change of ``cells.py`` in a MiniCluster of Flink, and keeps what happened.

Needs a JDK 17 and Maven, as ``tests/golden/generate.py`` does. Usage: ``tests/restore/generate.py [--work FOLDER]``. Takes
about ten minutes; ``--compile`` only compiles the classes anew, in a minute. The archive has ``rows.json`` with a row for each
restore, the old savepoints, those of the new jobs, the classes of both sides, and classes that declare states in other ways.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from tests.golden.generate import OPENED, class_path, run  # noqa: E402
from tests.restore.cells import Cell, Side, cells  # noqa: E402

ARCHIVE = HERE / "golden.tar.xz"
VERSIONS = ("1.20.5", "2.3.0")
BACKENDS = ("hashmap", "rocksdb")
_IMPORTS = """import java.time.Duration;
import org.apache.flink.api.common.functions.RuntimeContext;
import org.apache.flink.api.common.state.*;
import org.apache.flink.api.common.typeinfo.*;
import org.apache.flink.api.java.tuple.*;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.types.Row;
"""


def write_sources(folder: Path, name: str, side: Side) -> None:
    """The classes of one side of a cell."""
    package = folder / "m" / name
    package.mkdir(parents=True)
    for class_name, text in side.classes:
        (package / f"{class_name}.java").write_text(f"package m.{name};\n{text}\n")
    job = f'@SuppressWarnings({{"unchecked", "rawtypes"}})\npublic class Job extends restore.Spec {{\n{side.job}}}\n'
    (package / "Job.java").write_text(f"package m.{name};\n{_IMPORTS}{job}")


def compiled(work: Path, version: str, jars: str) -> dict[str, Path]:
    """The runner, and the classes of both sides, compiled against a version."""
    found = {"runner": work / f"runner-{version}", "old": work / f"old-{version}", "new": work / f"new-{version}"}
    sources = {
        "runner": HERE / "jobs", "old": work / "sources" / "old", "new": work / "sources" / "new",
    }  # fmt: skip
    for what, folder in found.items():
        shutil.rmtree(folder, ignore_errors=True)
        files = sorted(map(str, sources[what].rglob("*.java")))
        path = os.pathsep.join([str(found["runner"]), jars])
        run(["javac", "-nowarn", "-Xlint:-options", "--release", "17", "-cp", path, "-d", str(folder), *files])
    return found


def measured(work: Path, version: str, jars: str, classes: dict[str, Path], lines: list[str]) -> list[dict[str, Any]]:
    """What the runner prints for these lines."""
    listing, results = work / "list.txt", work / "results.txt"
    listing.write_text("".join(f"{line}\n" for line in lines))
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
    paths = [str(classes["old"]), str(classes["new"]), str(work), str(results)]
    with (work / f"log-{version}.txt").open("a") as log:
        subprocess.run(
            ["java", "-Xmx1g", "-XX:+UseSerialGC", *opened, "-cp", os.pathsep.join([str(classes["runner"]), jars]),
             "restore.Runner", str(listing), *paths],
            check=True, stdout=log, stderr=log,
        )  # fmt: skip
    return [json.loads(line) for line in results.read_text().splitlines()]


def judged(cell: Cell, wrote: dict[str, str], result: dict[str, Any]) -> dict[str, Any]:
    """The truth of a restore: the word for it, and what was seen."""
    row = {"cell": cell.name, "change": cell.change, "backend": result["backend"], "resolved": result.get("resolved")}
    if "exception" in result:
        return {**row, "truth": "does not restore", "exception": re.sub(r"@[0-9a-f]+", "@#", result["exception"])[:300]}
    row |= {"wrote": wrote["0"], "read": result["seen"]["0"], "next": result["next"]}
    if _lost(wrote, result["seen"]) or result["next"] != "ok":
        return {**row, "truth": "restores, but loses or changes data"}
    # The serializers with a time of last access are Flink's own, so the runner does not ask them.
    ttl = (cell.old.ttl_hours > 0) != (cell.new.ttl_hours > 0)
    migrated = ttl or result.get("resolved") == "after migration"
    return {**row, "truth": "restores after migration" if migrated else "restores as is"}


def _lost(wrote: dict[str, str], read: dict[str, str]) -> bool:
    """Whether something that was written is not read: a field that both sides have, or one that became another's."""
    for key, before in wrote.items():
        after, _, again = read[key].partition(" wrote ")
        written, _, found = again.partition(" read ")
        if written != found or _changed(before, after):
            return True
    return False


def _changed(before: str, after: str) -> bool:
    if before[:1] == after[:1] == "[":  # A list of one element.
        return _changed(before[1:-1], after[1:-1])
    old, new = _fields(before), _fields(after)
    if old is None or new is None:
        return before != after
    if old.keys() - new.keys() and new.keys() - old.keys():
        return True
    return any(_changed(old[name], new[name]) for name in old.keys() & new.keys())


def _fields(text: str) -> dict[str, str] | None:
    """The fields of an object as ``Show`` writes them."""
    if not text.startswith("{"):
        return None
    return dict(re.findall(r"(\w+)=((?:\[.*?\]|\{.*?\}|[^,{}\[\]])*)", text[1:-1]))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--work", type=Path, default=Path("/flink/restore"), help="where Flink writes (default: %(default)s)"
    )
    parser.add_argument(
        "--only", default="", help="only the cells with this text in their name; the archive is not written"
    )
    parser.add_argument("--compile", action="store_true", help="keep the rows and savepoints of the archive")
    arguments = parser.parse_args()
    work: Path = arguments.work
    shutil.rmtree(work, ignore_errors=True)
    wanted = [cell for cell in cells() if arguments.only in cell.name]
    for cell in wanted:
        write_sources(work / "sources" / "old", cell.name, cell.old)
        write_sources(work / "sources" / "new", cell.name, cell.new)
    kept = work / "kept"
    if arguments.compile:
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall(kept, filter="data")
        classes_made = compiled(work, VERSIONS[0], class_path(VERSIONS[0], "backends"))
        pack(kept / "savepoints", classes_made, json.loads((kept / "rows.json").read_text()))
        return 0
    jars = {version: class_path(version, "backends") for version in VERSIONS}
    classes = {version: compiled(work, version, jars[version]) for version in VERSIONS}
    wrote: dict[tuple[str, str, str], dict[str, str]] = {}
    for version in VERSIONS:
        lines = [f"write {c.name} {b} - {kept}/savepoints/{c.name}/{version}-{b}" for c in wanted for b in BACKENDS]
        lines += [f"fresh {c.name} hashmap - {kept}/savepoints/{c.name}/{version}-fresh" for c in wanted]
        for result in measured(work, version, jars[version], classes[version], lines):
            if "exception" in result:
                sys.exit(f"{result['what']} {result['cell']} {version}: {result['exception']}")
            if result["what"] == "write":
                wrote[result["cell"], version, result["backend"]] = result["seen"]
    rows: list[dict[str, Any]] = []
    for before, after in ((VERSIONS[0], VERSIONS[0]), (VERSIONS[1], VERSIONS[1]), VERSIONS):
        lines = [f"restore {c.name} {b} {kept}/savepoints/{c.name}/{before}-{b} -" for c in wanted for b in BACKENDS]
        for result in measured(work, after, jars[after], classes[after], lines):
            cell = next(c for c in wanted if c.name == result["cell"])
            row = judged(cell, wrote[cell.name, before, result["backend"]], result)
            rows.append({"from": before, "to": after, **row})
    for row in rows:
        what = row.get("exception", row.get("read"))
        print(row["cell"], row["from"], row["to"], row["backend"], row["truth"], what, sep=" | ")
    if not arguments.only:
        pack(kept / "savepoints", classes[VERSIONS[0]], rows)
    return 0


def pack(savepoints: Path, classes: dict[str, Path], rows: list[dict[str, Any]]) -> None:
    """Write the archive; its bytes follow from what is in it."""
    # Compressed as a whole: the savepoints have much in common.
    with tarfile.open(ARCHIVE, "w:xz", preset=9) as archive:

        def put(name: str, data: bytes) -> None:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))

        text = ",\n".join(json.dumps(row, ensure_ascii=False, sort_keys=True) for row in rows)
        put("rows.json", f"[{text}]\n".encode())
        for path in sorted(savepoints.rglob("_metadata")):
            put(f"savepoints/{path.relative_to(savepoints)}", path.read_bytes())
        for path in sorted(classes["runner"].rglob("*.class")):  # the runner does not belong to the jobs
            name = path.relative_to(classes["runner"])
            if name.parts[0] == "declared":
                put(f"classes/declared/{name.parts[1]}/{name}", path.read_bytes())
        for what in ("old", "new"):
            for path in sorted(classes[what].rglob("*.class")):
                cell = path.parent.name
                put(f"classes/{what}/{cell}/{path.relative_to(classes[what])}", path.read_bytes())


if __name__ == "__main__":
    sys.exit(main())
