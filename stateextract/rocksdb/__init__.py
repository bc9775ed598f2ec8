"""RocksDB's files, read without RocksDB: native checkpoints and savepoints of Flink's RocksDB and ForSt backends."""

from stateextract.rocksdb.lsm import PairSource, RocksDB, RocksOptions, first_files, local_files, open_rocksdb

__all__ = [
    "PairSource",
    "RocksDB",
    "RocksOptions",
    "first_files",
    "local_files",
    "open_rocksdb",
]
