"""A ZenFS volume and what drives it: the command, db_bench and ldb with the plugin preloaded."""
import json
import os
import pathlib
import re
import subprocess
import time

from guest.load import Load
from guest.shell import ENDLESS, attempt, run

BINARIES = pathlib.Path(os.environ.get("LAB_BINARIES", "."))  # not set on the host, where nothing here is called

# The sizes that scripts/demo takes for a small device.
BENCH = ["--key_size=16", "--value_size=400", "--use_direct_reads", "--use_direct_io_for_flush_and_compaction",
         "--max_bytes_for_level_multiplier=4", "--write_buffer_size=2097152", "--target_file_size_base=2097152",
         "--target_file_size_multiplier=1", "--max_background_jobs=2", "--compression_type=none"]


class Volume:
    """`flag` is what the command takes (--zbd=nvme0n1), `uri` what a program does. `user`, `folder`: as whom and from
    which folder programs are run."""

    def __init__(self, flag, uri, user=None, folder=BINARIES):
        self.flag, self.uri, self.user, self.folder = flag, uri, user, folder

    def attempt(self, verb, *words, **options):
        return attempt(self.folder / "zenfs", verb, self.flag, *words, user=self.user, **options)

    def zenfs(self, verb, *words, **options):
        return run(self.folder / "zenfs", verb, self.flag, *words, user=self.user, **options)

    def json(self, verb, *words):
        """What a verb prints as JSON; not shown, since it is long."""
        return json.loads(self.zenfs(verb, *words, shown=False))

    def bench_command(self, benchmarks, *flags):
        return ["db_bench", f"--fs_uri={self.uri}", f"--benchmarks={benchmarks}", *BENCH, *flags]

    def preload(self):
        return {"LD_PRELOAD": str(self.folder / "libzenfs.so")}

    def db_bench(self, benchmarks, *flags, seconds=ENDLESS):
        return run(*self.bench_command(benchmarks, *flags), environment=self.preload(), user=self.user, seconds=seconds)

    def start_db_bench(self, benchmarks, *flags):
        """In the background; see guest/load.py."""
        words = self.bench_command(benchmarks, *flags)
        print(f"[{time.monotonic():6.1f}] $", *words, "&", flush=True)
        return Load(words, os.environ | self.preload())

    def scan(self, database):
        """Every key and value of a database."""
        done = subprocess.run(["ldb", f"--fs_uri={self.uri}", f"--db={database}", "scan", "--hex"], capture_output=True,
                              env=os.environ | self.preload(), timeout=ENDLESS)
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return done.stdout


def block(name, **options):
    return Volume(f"--zbd={name}", f"zenfs://dev:{name}", **options)


def nvme(name, **options):
    return Volume(f"--nvme={name}", f"zenfs://nvme:{name}", **options)


def zonefs(place, **options):
    return Volume(f"--zonefs={place}", f"zenfs://zonefs:{place}", **options)


def database_of(output):
    """Where db_bench says that it put its database."""
    return re.search(r"^DB path: \[/*(.*)\]$", output, re.M).group(1)
