"""Flink's high-availability data as values: the entries of ZooKeeper and Kubernetes, and ``completedCheckpoint`` files."""

ZOOKEEPER = "zk://"
"""What the URI of high-availability data in a ZooKeeper begins with."""
