"""The same database on two file systems, and the same load on each: what the demo shows and the bench repeats."""
import dataclasses
import os
import subprocess

from tooling.places import ROOT

from . import sysbench

CONF = ROOT / "myrocks" / "conf"
WORKLOADS = ("oltp_write_only", "oltp_update_index", "oltp_read_only", "oltp_read_write")
ENGINE_WRITES = ("rocksdb_wal_bytes", "rocksdb_flush_write_bytes", "rocksdb_compact_write_bytes")


def is_on_tmpfs(path):
    told = subprocess.run(["stat", "--file-system", "--format=%T", str(path)], capture_output=True, text=True, check=True)
    return told.stdout.strip() == "tmpfs"


def default_parent():
    """A tmpfs with room if there is one: then both file systems are as fast as memory."""
    try:
        free = os.statvfs("/dev/shm")
        if free.f_bavail * free.f_frsize > 4 << 30 and is_on_tmpfs("/dev/shm"):
            return "/dev/shm"
    except OSError:
        pass
    return os.environ.get("TMPDIR", "/tmp")


@dataclasses.dataclass(frozen=True)
class Measured:
    figures: sysbench.Figures
    bytes_per_transaction: float
    cpu_us_per_transaction: float  # of the server, with the emulation of its device


class Leg:
    """A server with the tables of sysbench."""

    def __init__(self, kit, name, device=None, options=(), engine=""):
        self.device, self.name = device, name
        self.server = kit.server(device.uri if device else "", name=name, options=options, engine=engine)

    def load(self, size):
        """Tables by bulk load; then the server is in operation, with them compacted."""
        self.server.defaults = CONF / "bulkload.cnf"
        self.server.start()
        sysbench.prepare(self.server, size)
        self.server.stop()
        self.server.defaults = CONF / "workload.cnf"
        self.server.start()
        self.settle()

    def settle(self):
        """Compacts all tables: how many files a read meets is then the same on every leg."""
        self.server.query("SET GLOBAL rocksdb_force_flush_memtable_now = 1; SET GLOBAL rocksdb_compact_cf = 'default'")

    def written(self):
        """Bytes: with zones those that went to the device; on the host those that the engine wrote to files."""
        if self.device:
            return int(self.server.status("Zenfs_device_written_bytes")["Zenfs_device_written_bytes"])
        status = self.server.status("rocksdb%bytes")
        found = {name.lower(): int(value) for name, value in status.items()}
        return sum(found[name] for name in ENGINE_WRITES)

    def measure(self, workload, size, *more):
        before, cpu_before = self.written(), self.server.cpu_seconds()
        figures = sysbench.measure(self.server, workload, size, *more)
        cpu, written = self.server.cpu_seconds() - cpu_before, self.written() - before
        transactions = max(1, figures.transactions)
        return Measured(figures, written / transactions, cpu * 1e6 / transactions)
