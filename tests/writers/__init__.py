"""Writers of Flink's files and of RocksDB's, which the tests and the benchmarks use."""
