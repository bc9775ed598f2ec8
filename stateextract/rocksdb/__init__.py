"""RocksDB's files, read without RocksDB: native checkpoints and savepoints of Flink's RocksDB and ForSt backends."""

from stateextract.rocksdb.access import StateFile, opener
from stateextract.rocksdb.lsm import PairSource, RocksDB, RocksOptions, SstState, open_rocksdb

__all__ = ["PairSource", "RocksDB", "RocksOptions", "SstState", "StateFile", "open_rocksdb", "opener"]
