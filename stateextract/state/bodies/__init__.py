"""The bodies of state files: HashMap, canonical, RocksDB, and what is kept raw."""
