"""What each candidate does: cases, each on fresh drives, and their phases, each a process of its own."""
import collections

from lab.drives import MiB, RegularDrive, ZnsDrive

# 256 zones, because XFS sets four zones aside and ZenFS some too: of few zones that would be much. 4 GiB, because btrfs runs out of
# space for metadata on 2 GiB.
ZONED = ZnsDrive("main", zones=256, zone_size=16 * MiB, zone_capacity=16 * MiB, max_open=14, max_active=14)
# QEMU's zoned drive has no conventional zones, so two peers need a second drive; F2FS wants blocks of the same size on both.
XFS_REGULAR = RegularDrive("xfs", 320 * MiB, block=4096)
F2FS_REGULAR = RegularDrive("f2fs", 128 * MiB, block=4096)
DRIVES = (ZONED, XFS_REGULAR, F2FS_REGULAR)
# What Linux chooses for a drive with several queues, as real ones have. QEMU's has one in a guest with one processor, and gets
# mq-deadline by default.
SCHEDULER = "none"
# While the processor works, an instruction is a nanosecond, whatever it costs to emulate: the same work takes the same time in each
# turn, on each host. While it waits for a drive, the clock is the host's.
CLOCK = "shift=0"
CAPACITY = ZONED.zones * ZONED.zone_capacity

VALUE_BYTES = 800
KEYS = 100_000
SMALL_FILES = 3_000  # so few because btrfs needs 12 ms for each
MANY_FILES = 97_000
TABLES = 1_000
LOAD_SECONDS = 8

# Tables of slightly less than a zone. Buffered I/O is RocksDB's default.
SIZES = ["--write_buffer_size=8388608", "--target_file_size_base=14680064", "--max_bytes_for_level_base=33554432"]
BUFFERED = ["--use_direct_reads=0", "--use_direct_io_for_flush_and_compaction=0"]

# `program`: db_bench, or a verb of files.cc. `existing`: the database is there. `cold`: nothing is cached when the phase begins.
# `after`: benchmarks that run first in the same process; such a phase has no CPU time of its own.
Phase = collections.namedtuple("Phase", "name program benchmark database keys value_bytes flags threads seconds existing settle cold after")
Case = collections.namedtuple("Case", "name title phases crash", defaults=(False,))


def db_bench(name, benchmark, *flags, database="db", keys=KEYS, value_bytes=VALUE_BYTES, threads=1, seconds=None, existing=False,
             settle=False, cold=False, direct=False, after=()):
    flags = [*SIZES, *([] if direct else BUFFERED), *flags]
    return Phase(name, "db_bench", benchmark, database, keys, value_bytes, flags, threads, seconds, existing, settle, cold, after)


def files(verb, count, name=None, folder="files"):
    return Phase(name or verb, verb, verb, folder, count, 0, [], 1, None, False, False, False, ())


def reads(benchmark, *flags):
    """Cold: nothing is cached. Warm: the same again by another process. Again: by the same process."""
    return [db_bench(f"{benchmark}-buffered-cold", benchmark, *flags, existing=True, cold=True),
            db_bench(f"{benchmark}-buffered-warm", benchmark, *flags, existing=True),
            db_bench(f"{benchmark}-buffered-again", benchmark, *flags, existing=True, after=(benchmark,)),
            db_bench(f"{benchmark}-direct-cold", benchmark, *flags, existing=True, cold=True, direct=True),
            db_bench(f"{benchmark}-direct-warm", benchmark, *flags, existing=True, direct=True)]


def database():
    beside = ["--benchmark_write_rate_limit=8000000"]
    beside_seconds = 6  # at that rate six flushes and a compaction; of a shorter time it is chance what falls into it
    return Case("database", "One database: filled, read, read while it is written", [
        db_bench("fillrandom", "fillrandom", settle=True), *reads("readrandom", "--reads=20000"),
        *reads("seekrandom", "--reads=4000", "--seek_nexts=10"),
        *[db_bench(f"readwhilewriting-{how}", "readwhilewriting", *beside, existing=True, threads=2, seconds=beside_seconds, cold=True,
                   direct=how == "direct") for how in ("buffered", "direct")]])


HOT_KEYS = 82_000  # 64 MiB
OVERWRITES = 123_000
HOT_BYTES = 72 * MiB  # with what compactions have not removed yet
LARGE_FILE = 4 * MiB  # of files.cc
LEVELS = (60, 75, 85, 92)


def nearly_full():
    """Cold files up to a level, then overwrites of a small hot database; then the next level."""
    phases, cold = [], 0
    for level in LEVELS:
        wanted = (CAPACITY * level // 100 - HOT_BYTES) // LARGE_FILE
        phases.append(files("large", wanted - cold, f"cold-{level}", f"cold{level}"))
        cold = wanted
        if level == LEVELS[0]:
            phases.append(db_bench("hot", "fillrandom", database="hot", keys=HOT_KEYS, settle=True))
        phases.append(db_bench(f"overwrite-{level}", "overwrite", f"--writes={OVERWRITES}", database="hot", keys=HOT_KEYS, existing=True,
                               settle=True))
    return Case("full", "A drive that fills: a small database overwritten beside cold files", phases)


def synced():
    return Case("synced", "Every write synced, 100 bytes", [
        db_bench(f"synced-{threads}", "fillrandom", "--sync=1", database=f"db{threads}", value_bytes=100, threads=threads, seconds=seconds)
        for threads, seconds in ((1, 2), (4, 2), (16, 4))])


CASES = (
    Case("fillseq", "Keys in order", [db_bench("fillseq", "fillseq", settle=True)]),
    database(),
    synced(),
    Case("tables", f"{TABLES:,} tables made, ingested, in a checkpoint, deleted",
         [files(verb, TABLES) for verb in ("tables", "ingest", "checkpoint", "delete")]),
    nearly_full(),
    Case("crash", f"{SMALL_FILES:,} synced files of 4 KiB, {MANY_FILES:,} that are not, then writes, synced and unsynced, until sysrq b; the "
         "mount after it", [files("small", SMALL_FILES), files("many", MANY_FILES, folder="many")], crash=True),
    Case("room", "Synced files of 4 MiB until there is no space", [files("full", 0, "room")]),
)
