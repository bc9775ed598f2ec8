#!/usr/bin/env python3
"""Makes the ``*.txt`` files of this directory anew: payloads of connectors, by the connectors' own classes.

    tests/serializers/connectors/generate.py [--work DIRECTORY] [--only FAMILY] [--sources DIRECTORY]

Needs a JDK 17 and Maven, which fetches the jars the first time. The classes of some families are compiled, because Maven's own
registry does not have their jars: ``--sources`` has a checkout of each repository and tag, as ``<repository>-<tag>``. Without
it, these families stay as they are. Each line has a name, the bytes in hex, and the value as JSON that the classes return
after they read the bytes again. Map order and Java's object streams are those of the run.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
OPENS = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in ("lang", "math", "time", "util")]


@dataclass(frozen=True)
class Run:
    """One class path, and what to print with it.

    :param family: of connectors: the Java class ``<Family>Bytes`` prints, and ``<family>.txt`` gets the lines.
    :param arguments: of each call.
    :param artifacts: Maven coordinates; ``!`` at the end: without what the artifact depends on.
    :param sources: a checkout, and patterns of files in it that are compiled.
    :param named: classes that these sources only name: empty ones are enough.
    """

    family: str
    arguments: tuple[tuple[str, ...], ...]
    artifacts: tuple[str, ...]
    sources: tuple[str, ...] = ()
    named: tuple[str, ...] = ()


POSTGRES = "postgres.source.offset.PostgresOffsetFactory"
SQLSERVER = "sqlserver.source.offset.LsnFactory"
DB2 = "db2.source.offset.LsnFactory"
MONGODB = "mongodb.source.offset.ChangeStreamOffsetFactory"
ORACLE = "oracle.source.meta.offset.RedoLogOffsetFactory"
CDC2, CDC3 = "com.ververica.cdc", "org.apache.flink.cdc"


STREAMING_118 = "org.apache.flink:flink-streaming-java:1.18.1"
TABLE = (
    "org.apache.flink:flink-table-api-java-bridge:1.20.3", "org.apache.flink:flink-connector-base:1.20.3",
    "org.apache.flink:flink-streaming-java:1.20.3",
)  # fmt: skip


def cdc(connector: str, version: str, flink: str) -> tuple[str, ...]:
    """The jars of one of Flink CDC's connectors."""
    group = "com.ververica" if version < "3" else "org.apache.flink"
    return (
        f"{group}:flink-connector-{connector}-cdc:{version}", f"org.apache.flink:flink-table-api-java-bridge:{flink}",
        f"org.apache.flink:flink-connector-base:{flink}", f"org.apache.flink:flink-streaming-java:{flink}",
    )  # fmt: skip


def pulsar(version: str, flink: str) -> tuple[str, ...]:
    """The jars of Pulsar's connector."""
    return (
        f"org.apache.flink:flink-connector-pulsar:{version}", f"org.apache.flink:flink-connector-base:{flink}",
        f"org.apache.flink:flink-streaming-java:{flink}",
    )  # fmt: skip


def kinesis(version: str) -> Run:
    """Kinesis' source, whose classes are compiled."""
    source = "flink-connector-aws/flink-connector-aws-kinesis-streams/src/main/java/org/apache/flink/connector/kinesis/source"
    return Run(
        "kinesis", ((version,),),
        (
            "software.amazon.awssdk:kinesis:2.26.19", "org.apache.flink:flink-connector-base:1.20.3",
            "org.apache.flink:flink-streaming-java:1.20.3",
        ),
        (
            f"flink-connector-aws-v{version}.0", f"{source}/split/KinesisShardSplit.java",
            f"{source}/split/KinesisShardSplitSerializer.java", f"{source}/split/StartingPosition.java",
            f"{source}/enumerator/*State.java", f"{source}/enumerator/*StateV0.java",
            f"{source}/enumerator/*StateSerializer.java", f"{source}/enumerator/*Status.java",
        ),
        ("org.apache.flink.connector.kinesis.source.enumerator.KinesisStreamsSourceEnumerator",),
    )  # fmt: skip


RUNS = (
    Run("cdc", (("mysql", CDC2, "2.0.0"),), cdc("mysql", "2.0.0", "1.17.2")),
    Run("cdc", (("mysql", CDC2, "2.0"),), cdc("mysql", "2.0.2", "1.17.2")),
    Run("cdc", (("mysql", CDC2, "2.1"),), cdc("mysql", "2.1.1", "1.17.2")),
    Run("cdc", (("mysql", CDC2, "2.2"),), cdc("mysql", "2.2.1", "1.17.2")),
    Run("cdc", (("mysql", CDC2, "2.3"),), cdc("mysql", "2.3.0", "1.17.2")),
    Run("cdc", (("mysql", CDC2, "2.4"),), cdc("mysql", "2.4.2", "1.17.2")),
    Run("cdc", (("mysql", CDC3, "3.2"),), cdc("mysql", "3.2.0", "1.20.3")),
    Run("cdc", (("postgres", CDC2, "2.4", POSTGRES),), cdc("postgres", "2.4.2", "1.17.2")),
    Run("cdc", (("postgres", CDC3, "3.5", POSTGRES),), cdc("postgres", "3.5.0", "1.20.3")),
    Run("cdc", (("sqlserver", CDC3, "3.2", SQLSERVER),), cdc("sqlserver", "3.2.0", "1.20.3")),
    Run("cdc", (("oracle", CDC3, "3.2", ORACLE),), cdc("oracle", "3.2.0", "1.20.3")),
    Run("cdc", (("db2", CDC3, "3.4", DB2),), cdc("db2", "3.4.0", "1.20.3")),
    Run("cdc", (("mongodb", CDC2, "2.4", MONGODB),), cdc("mongodb", "2.4.1", "1.17.2")),
    Run(
        "schemas", (("org.apache.flink.cdc.runtime.operators.schema.coordinator.", "3.2"),),
        ("org.apache.flink:flink-cdc-runtime:3.2.0", "org.apache.flink:flink-cdc-common:3.2.0", *TABLE),
    ),
    Run(
        "files", (("files",),),
        (
            "org.apache.flink:flink-connector-files:1.20.3", "org.apache.flink:flink-connector-base:1.20.3",
            "org.apache.flink:flink-streaming-java:1.20.3",
            "org.apache.hadoop:hadoop-client-api:3.3.6!",
        ),
    ),
    Run(
        "files", (("s3",),),
        (
            "org.apache.flink:flink-s3-fs-hadoop:1.20.1!", "org.apache.flink:flink-connector-files:1.20.3",
            "org.apache.flink:flink-connector-base:1.20.3", "org.apache.flink:flink-streaming-java:1.20.3",
        ),
    ),
    Run(
        "iceberg", (("1.10",),),
        ("org.apache.iceberg:iceberg-flink-runtime-1.20:1.10.1!", *TABLE, "org.apache.flink:flink-table-runtime:1.20.3"),
    ),
    Run(
        "pulsar", (("1.14",),),
        ("org.apache.flink:flink-connector-pulsar_2.12:1.14.6", "org.apache.flink:flink-streaming-java_2.12:1.14.6"),
    ),
    Run("pulsar", (("3.0",),), pulsar("3.0.0-1.16", "1.16.3")),
    Run("pulsar", (("4.1",),), pulsar("4.1.0-1.18", "1.18.1")),
    Run("queues", (("1.18",),), ("org.apache.flink:flink-connector-base:1.18.1", STREAMING_118)),
    Run(
        "queues", (("kinesis", "1.15"),),
        (
            "org.apache.flink:flink-connector-aws-kinesis-streams:1.15.2!", "software.amazon.awssdk:kinesis:2.17.247",
            "org.apache.flink:flink-connector-base:1.16.3", "org.apache.flink:flink-streaming-java:1.16.3",
        ),
    ),
    *(
        Run(
            "queues", ((service, "4.3"),),
            (
                f"org.apache.flink:{artifact}:4.3.0-1.19!", f"software.amazon.awssdk:{service}:2.20.144",
                "org.apache.flink:flink-connector-base:1.18.1", STREAMING_118,
            ),
        )
        for service, artifact in (
            ("firehose", "flink-connector-aws-kinesis-firehose"), ("dynamodb", "flink-connector-dynamodb"),
        )
    ),
    kinesis("5.0"),
    kinesis("5.1"),
    Run(
        "elastic", (("3.1",),),
        (
            "co.elastic.clients:elasticsearch-java:8.12.1", "org.apache.flink:flink-connector-base:1.20.3",
            "org.apache.flink:flink-streaming-java:1.20.3",
        ),
        (
            "flink-connector-elasticsearch-v3.1.0",
            *(
                f"flink-connector-elasticsearch8/src/main/java/org/apache/flink/connector/elasticsearch/sink/{name}.java"
                for name in ("Elasticsearch8AsyncSinkSerializer", "Operation", "OperationSerializer")
            ),
        ),
    ),
    Run("jdbc", (("core.datastream.", "3.3"),), ("org.apache.flink:flink-connector-jdbc-core:3.3.0-1.20", *TABLE)),
    Run(
        "mongodb", (("1.1",),),
        (
            "org.apache.flink:flink-connector-mongodb:1.1.0-1.18", "org.apache.flink:flink-connector-base:1.18.1",
            STREAMING_118, "org.apache.flink:flink-table-api-java-bridge:1.18.1",
        ),
    ),
    Run("warehouses", (("doris", "1.6"),), ("org.apache.doris:flink-doris-connector-1.16:1.6.2!", *TABLE)),
    Run("warehouses", (("starrocks", "1.2"),), ("com.starrocks:flink-connector-starrocks:1.2.9_flink-1.18!", *TABLE)),
    Run(
        "lakes", (("iceberg", "0.14"),),
        (
            "org.apache.iceberg:iceberg-flink-runtime-1.14:0.14.1!", "org.apache.flink:flink-streaming-java_2.12:1.14.6",
            "org.apache.flink:flink-table-api-java-bridge_2.12:1.14.6", "org.apache.flink:flink-connector-base:1.14.6",
            "org.apache.hadoop:hadoop-client-api:3.3.6!",
        ),
    ),
    Run(
        "delta", (("3.2",),),
        (
            "io.delta:delta-standalone_2.12:3.2.0!", "org.apache.flink:flink-connector-files:1.16.3",
            "org.apache.flink:flink-connector-base:1.16.3", "org.apache.flink:flink-streaming-java:1.16.3",
            "org.apache.flink:flink-table-common:1.16.2",
        ),
        (
            "delta-v3.2.0",
            *(
                f"connectors/flink/src/main/java/{name}.java"
                for name in (
                    "io/delta/flink/sink/internal/committables/DeltaCommittable*",
                    "io/delta/flink/sink/internal/writer/DeltaWriterBucketState*",
                    "io/delta/flink/source/internal/state/Delta*", "io/delta/flink/source/internal/utils/SourceUtils",
                    "org/apache/flink/streaming/api/functions/sink/filesystem/DeltaPendingFile",
                )
            ),
        ),
        ("io.delta.flink.source.internal.enumerator.processor.ContinuousTableProcessor",),
    ),
    Run("lakes", (("paimon", "0.8"),), ("org.apache.paimon:paimon-flink-1.18:0.8.2!", *TABLE)),
    Run("paimon", (("1.2",),), ("org.apache.paimon:paimon-flink-1.20:1.2.0!", *TABLE)),
)  # fmt: skip
"""All of them."""


def main() -> None:
    """Print the lines of each family into its file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, help="directory for class files and class paths; default: a temporary one")
    parser.add_argument("--only", help="one family")
    parser.add_argument("--sources", type=Path, help="directory with checkouts of repositories")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        runs = [run for run in RUNS if options.only in (None, run.family) and (options.sources or not run.sources)]
        for family in dict.fromkeys(run.family for run in runs):
            lines = ["# Written by generate.py: a name, the bytes in hex, the value as JSON."]
            for number, run in enumerate(run for run in runs if run.family == family):
                lines += printed(run, work / f"{family}-{number}", options.sources)
            (HERE / f"{family}.txt").write_text("\n".join(lines) + "\n")


def printed(run: Run, place: Path, checkouts: Path | None) -> list[str]:
    """What the class of the family prints with one class path.

    :param checkouts: the directory with checkouts of repositories.
    """
    place.mkdir(parents=True, exist_ok=True)
    jars = class_path(run, place)
    name = run.family.capitalize()
    sources = [HERE / f"{name}Bytes.java", *HERE.glob(f"{name}Values.java"), HERE / "Printing.java"]
    sources += compiled(run, place, checkouts)
    subprocess.run(["javac", "-nowarn", "-proc:none", "-cp", jars, "-d", place, *sources], check=True)
    lines: list[str] = []
    for arguments in run.arguments:
        command = ["java", *OPENS, "-Xmx512m", "-cp", f"{place}:{jars}", f"{name}Bytes", *arguments]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        lines += [line for line in done.stdout.splitlines() if line.count(" = ") >= 2]
    return lines


def compiled(run: Run, place: Path, checkouts: Path | None) -> list[Path]:
    """The sources of a connector, and of the classes that these only name."""
    if not run.sources or checkouts is None:
        return []
    found = [file for pattern in run.sources[1:] for file in sorted((checkouts / run.sources[0]).glob(pattern))]
    for name in run.named:
        package, _, simple = name.rpartition(".")
        found.append(place / f"{simple}.java")
        found[-1].write_text(f"package {package}; public class {simple} {{}}")
    return found


def class_path(run: Run, place: Path) -> str:
    """The jars of a connector and its Flink."""
    found = place / "classpath"
    if not found.exists():
        (place / "pom.xml").write_text(pom(run))
        command = [
            "mvn",
            "-q",
            "-B",
            "-f",
            place / "pom.xml",
            "dependency:build-classpath",
            f"-Dmdep.outputFile={found}",
        ]
        subprocess.run(command, check=True)
    return found.read_text().strip()


def pom(run: Run) -> str:
    """A project that depends on the artifacts."""
    dependencies = "".join(map(dependency, run.artifacts))
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>stateextract</groupId><artifactId>connector-bytes</artifactId><version>1</version>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )


def dependency(coordinates: str) -> str:
    """One artifact of a project."""
    group, artifact, version = coordinates.rstrip("!").split(":")
    exclusions = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
        f"{exclusions if coordinates.endswith('!') else ''}</dependency>"
    )


if __name__ == "__main__":
    main()
