"""What is run: each kind with the options that make it, and the options that are held back, with the reason."""
import dataclasses

# The shape of all runs: small enough for a thousand recoveries an hour, each verified key by key.
SIZE = {"threads": 8, "max_key": 20000, "progress_reports": 1, "clear_column_family_one_in": 0}

# How often each thread does what RocksDB's script leaves to runs of hours.
RATES = {"backup_one_in": 20000, "checkpoint_one_in": 10000, "compact_files_one_in": 5000, "compact_range_one_in": 10000,
         "flush_one_in": 2000, "get_live_files_one_in": 5000, "ingest_external_file_one_in": 10000,
         "pause_background_one_in": 20000, "verify_db_one_in": 20000, "verify_checksum_one_in": 20000,
         "get_property_one_in": 5000, "acquire_snapshot_one_in": 1000}

# Flags of db_stress that are never given (or as 0), and why.
HELD_BACK = {
    "mock_direct_io": "given by the script when the host's directory can't do direct I/O; our files always can",
    "preserve_unverified_changes": "links the database's files through the host's file system, where they are not",
    "mmap_write": "files are not mapped into memory; ZenFS turns it off",
    "write_fault_one_in": "db_stress of 7.8.3 fails with it beside these rates of backups and checkpoints, on POSIX too",
    "env_uri": "goes with fs_uri as its alternative",
}


@dataclasses.dataclass(frozen=True)
class Kind:
    name: str
    shows: str
    crash: tuple | None = ()  # words for db_crashtest.py; None: db_stress alone, to its end
    options: dict = dataclasses.field(default_factory=dict)
    without: tuple = ()  # those of RATES that this kind sets itself
    whitebox: bool = False  # db_stress kills itself at points inside RocksDB; else it is killed after some time
    loses_memory: bool = False  # after each kill, what the process had flushed into shared memory is lost too
    loses_power: bool = False  # the power of the device is cut as well: what was not flushed is lost, in part or altogether
    must_fail: bool = False  # RocksDB has to find that data are lost: this shows that it would
    short: bool = False

    def flags(self):
        options = {**SIZE, **{name: rate for name, rate in RATES.items() if name not in self.without}, **self.options}
        return [f"--{name}={value}" for name, value in options.items()]


def plain(name, shows, **more):
    short = more.pop("short", False)
    return Kind(name, shows, None, {"reopen": 5, "sync_fault_injection": 0, **more},
                short=short)


NO_LOSS = {"disable_wal": 0, "sync_fault_injection": 0, "manual_wal_flush_one_in": 0}
LOSSY = "after each kill the shared memory of flushed, unsynced writes is lost too"
POWERLESS = "after each kill the shared memory is lost, and what the device had in its cache"

KINDS = [
    plain("plain", "reopening, checkpoints, backups, ingestion, ten column families; all keys verified", short=True),
    plain("plain-direct", "direct I/O, blob files, compressed log, recycled logs", use_direct_reads=1,
          use_direct_io_for_flush_and_compaction=1, enable_blob_files=1, min_blob_size=8, blob_file_size=1048576,
          enable_blob_garbage_collection=1, wal_compression="zstd", recycle_log_file_num=1, atomic_flush=1,
          use_merge=1, write_buffer_size=1048576),
    # db_stress allows dropping without a file of the expected state and without backups; threads and manual compactions
    # beside it crash db_stress of 7.8.3 itself, on POSIX too.
    plain("plain-drop", "column families are dropped and made anew", clear_column_family_one_in=500, threads=1,
          expected_values_dir="", backup_one_in=0, checkpoint_one_in=0, compact_files_one_in=0, compact_range_one_in=0,
          ingest_external_file_one_in=0, write_buffer_size=262144),
    # Not reopened: db_stress verifies in a thread of its own and would reopen the database under it.
    plain("plain-secondary", "a secondary instance follows and is compared, and universal compaction", test_secondary=1,
          compaction_style=1, write_buffer_size=1048576, test_cf_consistency=1, continuous_verification_interval=500,
          ingest_external_file_one_in=0, reopen=0),
    plain("plain-faults", "reads fail, and at each opening reads, writes and metadata: RocksDB opens again", reopen=20,
          read_fault_one_in=100, open_read_fault_one_in=32, open_write_fault_one_in=16,
          open_metadata_write_fault_one_in=8),
    Kind("simple", "one column family, every write that returned must be there after the kill", ("--simple",),
         NO_LOSS, short=True),
    Kind("blackbox", "ten column families, all that the script leaves to chance", short=True),
    Kind("cf-consistency", "column families agree with each other", ("--cf_consistency",), short=True,
         without=("ingest_external_file_one_in",)),
    Kind("txn", "transactions: committed, prepared, unprepared", ("--txn",), without=("checkpoint_one_in",), short=True),
    Kind("multi-txn-committed", "transactions over rows and an index", (
        "--test_multiops_txn", "--write_policy=write_committed"), {"max_key": 8192},
         without=("backup_one_in", "acquire_snapshot_one_in", "verify_db_one_in", "ingest_external_file_one_in")),
    Kind("multi-txn-prepared", "the same, write-prepared", (
        "--test_multiops_txn", "--write_policy=write_prepared"), {"max_key": 8192},
         without=("backup_one_in", "checkpoint_one_in", "acquire_snapshot_one_in", "verify_db_one_in",
                  "ingest_external_file_one_in")),
    Kind("best-efforts", "best-efforts recovery, no log", ("--test_best_efforts_recovery",)),
    Kind("timestamps", "user-defined timestamps", ("--enable_ts",), without=("ingest_external_file_one_in",)),
    Kind("tiered", "universal compaction into a last level of its own", ("--test_tiered_storage",)),
    Kind("blob", "blob files and their garbage collection", (), {
        "enable_blob_files": 1, "allow_setting_blob_options_dynamically": 1, "min_blob_size": 8,
        "blob_file_size": 1048576, "enable_blob_garbage_collection": 1, "blob_garbage_collection_age_cutoff": 0.5}),
    Kind("whitebox", "db_stress kills itself within its writes and syncs; universal and FIFO compaction", ("--simple",),
         {**NO_LOSS, "ops_per_thread": 3000, "random_kill_odd": 9000, "enable_compaction_filter": 0}, whitebox=True),
    Kind("synced", "every write synced; " + LOSSY, ("--simple",), {"sync": 1, **NO_LOSS}, loses_memory=True,
         short=True),
    Kind("control", "nothing is synced and the shared memory is lost: RocksDB must find fault with it", ("--simple",),
         {"sync": 0, **NO_LOSS}, loses_memory=True, must_fail=True, short=True),
    Kind("sync-faults", "unsynced data are lost above ZenFS as well; " + LOSSY, (), {"sync_fault_injection": 1},
         loses_memory=True),
    Kind("power-synced", "every write synced; " + POWERLESS, ("--simple",), {"sync": 1, **NO_LOSS}, loses_memory=True,
         loses_power=True, short=True),
    Kind("power-sync-faults", "unsynced data are lost above ZenFS as well; " + POWERLESS, (), {"sync_fault_injection": 1},
         loses_memory=True, loses_power=True),
    Kind("power-control", "nothing is synced, memory and power are lost: RocksDB must find fault with it", ("--simple",),
         {"sync": 0, **NO_LOSS}, loses_memory=True, loses_power=True, must_fail=True),
]


def named(name):
    return next((kind for kind in KINDS if kind.name == name), None)
