"""Servers that are killed under load."""
import time

from harness import sysbench
from harness.acknowledged import TABLE, Writer, expect_rows
from harness.case import case, expect, expect_equal

DIRECT = ["--rocksdb-use-direct-reads=ON", "--rocksdb-use-direct-io-for-flush-and-compaction=ON"]
BUFFERED = ["--rocksdb-use-direct-reads=OFF", "--rocksdb-use-direct-io-for-flush-and-compaction=OFF"]
# Flushes and compactions take place all the time.
BUSY = ["--rocksdb-flush-log-at-trx-commit=1", "--rocksdb-max-background-jobs=2",
        "--rocksdb-default-cf-options=write_buffer_size=1M;target_file_size_base=1M;max_bytes_for_level_base=4M;"
        "level0_file_num_compaction_trigger=2"]
WRITERS = 4


def kill_under_load(server, counts, rows):
    """Starts a writer for each of `counts`, kills the server after `rows` more rows of each. What was acknowledged."""
    writers = [Writer(server, writer, first=count) for writer, count in counts.items()]
    try:
        for writer in writers:
            writer.wait_for(rows)
        server.kill()
    finally:
        acknowledged = {writer.writer: writer.end() for writer in writers}
    return acknowledged


def kill_again_and_again(kit, rounds, rows, options, load=False):
    device = kit.device()
    server = kit.server(device.uri, options=[*BUSY, *options]).start()
    server.query(TABLE)
    if load:
        sysbench.prepare(server, sysbench.Size(tables=2, rows=5000))
    found = {writer: 0 for writer in range(WRITERS)}
    for number in range(rounds):
        acknowledged = kill_under_load(server, found, rows)
        begin = time.monotonic()
        server.start()
        expect(time.monotonic() - begin < 30, "the start after a kill took more than 30 s")
        found = expect_rows(server, acknowledged)
        print(f"    kill {number + 1}: {sum(acknowledged.values())} rows acknowledged, {sum(found.values())} there")
    if load:
        for table in ("sbtest1", "sbtest2"):
            expect_equal(server.query(f"CHECK TABLE sbtest.{table} EXTENDED").split("\t")[-1], "OK", "CHECK TABLE")
    server.stop()
    device.expect_sound()


@case(short=True)
def nothing_acknowledged_is_lost_by_kills(kit):
    """kill -9 under load, three times: every acknowledged row is there with its bytes, CHECK TABLE finds nothing"""
    kill_again_and_again(kit, rounds=3, rows=1000, options=DIRECT)


@case()
def nothing_acknowledged_is_lost_by_kills_with_direct_io(kit):
    """the same ten times, beside tables of sysbench, whose contents are checked"""
    kill_again_and_again(kit, rounds=10, rows=2500, options=DIRECT, load=True)


@case()
def nothing_acknowledged_is_lost_by_kills_with_buffered_io(kit):
    """the same with buffered I/O"""
    kill_again_and_again(kit, rounds=10, rows=2500, options=BUFFERED, load=True)
