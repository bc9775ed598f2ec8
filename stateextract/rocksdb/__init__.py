"""RocksDB's files, read without RocksDB: native checkpoints and savepoints of Flink's RocksDB and ForSt backends."""

from stateextract.rocksdb.lsm import PairSource, RocksDB, RocksOptions, first_files, local_files, open_rocksdb
from stateextract.rocksdb.splits import KeyGroupSplit, key_group_sizes, propose_splits

__all__ = [
    "KeyGroupSplit",
    "PairSource",
    "RocksDB",
    "RocksOptions",
    "first_files",
    "key_group_sizes",
    "local_files",
    "open_rocksdb",
    "propose_splits",
]
