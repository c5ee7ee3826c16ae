"""RocksDB's db_stress and db_crashtest.py on ZenFS; docs/testing/rocksdb.md says how. Started by scripts/rocksdb-stress."""
