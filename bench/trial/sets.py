"""The named sets: which benchmarks run, one after the other, on which fresh places.

A set is a list of cases. Each case begins with a fresh place and has phases, each a db_bench of its own on what the phase
before it left; so figures of a process are figures of its phase.
"""
import collections
import math

from trial.places import MIB

KEY_BYTES = 16

# `distinct` says how the keys of a writing phase are drawn: "all" in turn, "random" with repetition, None: writes none.
# `bounded` phases end after --seconds, the others after --num keys. `after`: benchmarks that run first in the same process, and
# are not measured; the CPU time of such a phase is not known.
Phase = collections.namedtuple("Phase", "name benchmark flags threads bounded distinct settle after", defaults=((),))
Case = collections.namedtuple("Case", "name title value_bytes keys phases engine", defaults=("db_bench",))
Set = collections.namedtuple("Set", "name title cases")


def phase(benchmark, *flags, name=None, threads=1, bounded=False, distinct=None, settle=False, after=()):
    return Phase(name or benchmark, benchmark, list(flags), threads, bounded, distinct, settle, after)


def fill(benchmark, *flags, **others):
    return phase(benchmark, *flags, distinct="all" if benchmark == "fillseq" else "random", **others)


def case(name, title, value_bytes, data_bytes, *phases):
    return Case(name, title, value_bytes, max(1, data_bytes // (KEY_BYTES + value_bytes)), list(phases))


def bounded(benchmark, *flags, **others):
    return phase(benchmark, *flags, bounded=True, **others)


def quick():
    return [case("fillseq", "Keys in order, values of 800 bytes", 800, 256 * MIB, fill("fillseq")),
            case("random", "Random keys, values of 800 bytes, then random reads", 800, 256 * MIB,
                 fill("fillrandom", settle=True), bounded("readrandom"))]


def seed():
    """The one benchmark of the project's oldest page: two threads, a write buffer that takes it all."""
    flags = ["--write_buffer_size=2147483648", "--target_file_size_base=2147483648", "--max_bytes_for_level_multiplier=4",
             "--target_file_size_multiplier=1", "--max_background_jobs=4"]
    return [Case("seed", "Two threads, a million random keys each, a write buffer that holds them all", 800, 1000000,
                 [fill("fillrandom", *flags, threads=2)])]


def base_performance():
    """The measurements of the older project's scripts, with less data."""
    sizes = (100, 200, 400, 1000, 2000, 8000)
    cases = [case(f"{name}-{size}", f"{name}, values of {size} bytes", size, 128 * MIB, fill(name))
             for name in ("fillseq", "fillrandom") for size in sizes]
    return cases + [case("mixed", "One database: filled, overwritten, read while it is written, read", 1000, 512 * MIB,
                         fill("fillrandom", settle=True), phase("overwrite", distinct="random", settle=True),
                         bounded("readwhilewriting", "--benchmark_write_rate_limit=10485760", threads=4),
                         bounded("readrandom", threads=2), bounded("seekrandom", "--seek_nexts=50", threads=2))]


def synced(prefix, counts_of_threads):
    return [case(f"{prefix}-{threads}", f"Every write synced, {threads} thread{'s' if threads > 1 else ''}", 100, 64 * MIB,
                 bounded("fillrandom", "--sync=1", threads=threads, distinct="random"))
            for threads in counts_of_threads]


def sync_writes():
    return synced("sync", (1, 4, 16))


def wal():
    """What a log costs: the unsynced fill of the paper on zone appends, and synced writes by more and more threads, to one
    database and to several."""
    filled = case("wal-fill", "Random keys, values of 3,980 bytes, unsynced, a write buffer that holds them all", 3980, 512 * MIB,
                  fill("fillrandom", "--write_buffer_size=2147483648"))
    databases = [case(f"wal-databases-{count}", f"{count} databases on one device, every write synced, {count} threads", 100,
                      64 * MIB, bounded("fillrandom", "--sync=1", f"--num_multi_db={count}", threads=count, distinct="random"))
                 for count in (4, 16)]
    return [filled] + synced("wal-sync", (1, 2, 4, 8, 16, 32, 64)) + databases


def multiget():
    flags = ["--batch_size=64", "--multiread_batched=1"]
    return [case("multiget", "64 keys at a time", 400, 256 * MIB, fill("fillseq", settle=True),
                 bounded("multireadrandom", *flags),
                 bounded("multireadrandom", *flags, "--async_io=1", "--optimize_multiget_for_io=1", name="multireadrandom-async"))]


def async_scans():
    scan = ["--seek_nexts=200"]
    return [case("scan", "Seek, then 200 keys in order", 400, 256 * MIB, fill("fillseq", settle=True),
                 bounded("seekrandom", *scan), bounded("seekrandom", *scan, "--async_io=1", name="seekrandom-async"))]


def tables():
    """For drives of which one zone has a fraction of the bandwidth."""
    return [case("log-in-order", "Tables and their log: keys in order", 4000, 1024 * MIB, fill("fillseq", settle=True)),
            case("tables-in-order", "Tables without a log: keys in order", 4000, 1024 * MIB,
                 fill("fillseq", "--disable_wal=1", settle=True)),
            case("tables-random", "Tables without a log: random keys, with the compactions that they cause", 4000, 1024 * MIB,
                 fill("fillrandom", "--disable_wal=1", settle=True))]


def buffered():
    """RocksDB's default, buffered I/O. Each process begins with an empty cache on a device with times, and with a warm one elsewhere."""
    flags = ["--use_direct_reads=0", "--use_direct_io_for_flush_and_compaction=0"]
    client = ["rocksdb.db.use_direct_reads=false", "rocksdb.db.use_direct_io_for_flush_and_compaction=false"]
    return [case("buffered", "Buffered I/O: filled at random, then read", 800, 256 * MIB,
                 fill("fillrandom", *flags, settle=True), bounded("readrandom", *flags),
                 bounded("readrandom", *flags, name="readrandom-again", after=("readseq",)),
                 bounded("seekrandom", "--seek_nexts=50", *flags, name="seekrandom-again", after=("readseq",)),
                 bounded("readwhilewriting", "--benchmark_write_rate_limit=10485760", *flags, threads=4)),
            case("new-tables", "Buffered I/O: read by the process that has just filled it", 800, 256 * MIB,
                 phase("readrandom", *flags, "--reads=200000", after=("fillrandom", "flush", "waitforcompaction")))] + [
                     one._replace(phases=[phase._replace(flags=client) for phase in one.phases])
                     for one in of_client("ycsb-buffered", 3860, 20000, threads=2) if one.name[-1] in "abc"]


YCSB = {"a": "half reads, half updates", "b": "95 % reads, 5 % updates", "c": "reads", "d": "reads of what was inserted last",
        "e": "scans of up to 100 records", "f": "half reads, half read-modify-writes"}


def of_client(prefix, record_bytes, records, threads):
    """The six standard workloads of the YCSB client."""
    return [Case(f"{prefix}-{letter}", f"YCSB {letter.upper()}: {title}", record_bytes, records,
                 [phase("load", threads=threads, distinct="all"), phase("run", threads=threads, distinct="random")], "ycsb")
            for letter, title in YCSB.items()]


def ycsb():
    """A record is ten fields of 100 bytes and their lengths."""
    return of_client("ycsb", 1110, 200000, threads=2)


def wal_ycsb():
    """One client, as the paper on zone appends has it: large records for a drive without a write buffer, small ones for one
    with it."""
    return [case for record in (3860, 1000) for case in of_client(f"wal-ycsb-{record}", record, 30000, threads=1)]


ALL = {
    "quick": ("fill in order; fill at random and read: a first look", quick),
    "seed": ("fillrandom by two threads as on the project's oldest page", seed),
    "base-performance": ("what the older project's scripts measure: fills by value size, one mixed database", base_performance),
    "sync-writes": ("every write synced, by 1, 4 and 16 threads", sync_writes),
    "wal": ("the log alone: one unsynced fill, and synced writes by 1 to 64 threads, to one database and to several", wal),
    "wal-ycsb": ("YCSB by one client with records of 3,860 and of 1,000 bytes: what a log's buffer costs a mixed load", wal_ycsb),
    "multiget": ("64 keys at a time, plain and asynchronous", multiget),
    "async-scans": ("range scans, plain and with async_io", async_scans),
    "tables": ("fills with a log and without: flushes, and the compactions that random keys cause", tables),
    "buffered": ("RocksDB's default, buffered I/O: a fill, reads with an empty and a warm cache, YCSB A to C", buffered),
    "ycsb": ("the genuine YCSB client, workloads A to F, load and run", ycsb),
}


def with_keys(cases, keys):
    return [one._replace(keys=keys) for one in cases] if keys else cases


def case_bytes(one):
    """The bytes of all keys and values of the case."""
    writers = max((p.threads for p in one.phases if p.distinct), default=1)
    return one.keys * (KEY_BYTES + one.value_bytes) * (writers if not one.phases[0].bounded else 1)


def live_keys(one, writes):
    """The number of different keys after `writes`, a list of (how drawn, how many)."""
    missing = 1.0
    for distinct, count in writes:
        missing *= max(0.0, 1 - count / one.keys) if distinct == "all" else math.exp(-count / one.keys)
    return round(one.keys * (1 - missing))
