"""What Flink 2 and its connectors no longer have, as far as a snapshot of Flink 1 shows it.

Classes: a snapshot that names one of them cannot be loaded, so the operator does not restore. Names of states: the state
contains plain types, so only its name tells which function wrote it, and another function may use the same name.

Sources: the classes of flink-streaming-java 1.20 that flink-runtime 2.3 does not have, and the release notes of Flink 2.0.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Removed(NamedTuple):
    """:param what: what was removed; :param instead: what the new job uses."""

    what: str
    instead: str


_KAFKA: Final = Removed("FlinkKafkaConsumer or FlinkKafkaProducer", "KafkaSource and KafkaSink")
_SOURCE: Final = "org.apache.flink.streaming.api.functions.source."

_CLASSES: Final = {
    "org.apache.flink.api.scala.": Removed("the Scala API", "the Java API"),
    "org.apache.flink.streaming.connectors.kafka.": _KAFKA,
    "org.apache.flink.streaming.connectors.kinesis.": Removed("FlinkKinesisConsumer", "KinesisStreamsSource"),
    "org.apache.flink.streaming.connectors.fs.": Removed("BucketingSink", "FileSink"),
    "org.apache.flink.streaming.api.functions.sink.TwoPhaseCommitSinkFunction": Removed(
        "TwoPhaseCommitSinkFunction, which moved to another package", "a sink that implements SupportsCommitter"
    ),
    "org.apache.flink.connector.jdbc.xa.": Removed("JdbcSink.exactlyOnceSink", "JdbcSink.builder()"),
}
_STAYS: Final = ("org.apache.flink.streaming.connectors.kafka.table.",)

STATES: Final = {
    "bucket-states": Removed("StreamingFileSink (the file system sink of SQL also writes this state)", "FileSink"),
    "max-part-counter": Removed("StreamingFileSink (the file system sink of SQL also writes this state)", "FileSink"),
    "topic-partition-offset-states": _KAFKA,
    "Kinesis-Stream-Shard-State": Removed("FlinkKinesisConsumer", "KinesisStreamsSource"),
    "message-acknowledging-source-state": Removed(
        f"{_SOURCE}MessageAcknowledgingSourceBase, which RMQSource and PubSubSource extend", "a source of the Source API"
    ),
    "file-monitoring-state": Removed(f"{_SOURCE}ContinuousFileMonitoringFunction (readFile)", "FileSource"),
    "stateful-sequence-source-state": Removed(f"{_SOURCE}StatefulSequenceSource", "fromSequence"),
    "from-elements-state": Removed(f"{_SOURCE}FromElementsFunction", "fromData"),
}
"""Names of operator states that functions wrote which Flink 2 does not have, or has only in a package ``legacy``."""


def removed_class(name: str) -> Removed | None:
    """Return what was removed with this class, or ``None``."""
    if name.startswith(_STAYS):
        return None
    return next((removed for prefix, removed in _CLASSES.items() if name.startswith(prefix)), None)
