"""YCSB on RocksDB, here and there in turn. scripts/bench uses it, and bench/ycsb/run.

    candidates.py   where a database is put
    client.py       one load or run of the genuine client
    measure.py      loads and runs on every candidate in turn
    report.py       medians, ratios, a table
"""
