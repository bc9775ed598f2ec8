"""Flink's high-availability data as values: the entries of ZooKeeper and Kubernetes, and ``completedCheckpoint`` files."""
