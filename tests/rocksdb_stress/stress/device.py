"""Where the database of a run lies: on a fresh emulated device, or to compare with, on the host's files."""
import os
import pathlib
import random
import shutil
import subprocess
import tempfile

from tooling.places import ToolError

SHARED_MEMORY = pathlib.Path("/dev/shm")

# db_stress writes little: small zones make it fill, finish and reset them, and few active ones make files share them.
# Space of zones that are partly live is not reclaimed, so there is far more of it than a run has live data. The file is
# sparse. (zones, size, capacity, open and active zones at most)
SHAPES = [(3072, "16M", "12M", 14), (16384, "1M", "768K", 14), (8192, "2M", "2M", 8), (4096, "4M", "1M", 0)]

# Where the power is cut, a flush takes its time: with flushes in no time there is next to nothing that none has covered.
FLUSH_US = (1000, 3000, 10000)

# RocksDB is not built with the sanitizer: what it shares with the plugin is left alone, and so is what it never frees.
SANITIZER = ["ASAN_OPTIONS=detect_leaks=0:detect_container_overflow=0:detect_odr_violation=0:halt_on_error=1",
             "UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1"]


class Device:
    """Owns `directory`, in which nothing may be yet, and a directory on the host's tmpfs for the append buffers."""

    def __init__(self, programs, directory, seed, volatile_cache):
        self.programs = programs
        self.directory = pathlib.Path(directory)
        self.image = self.directory / "device.img"
        self.database = "/stress"
        self.buffers = pathlib.Path(tempfile.mkdtemp(prefix="zenfs-stress-", dir=SHARED_MEMORY))
        choices = random.Random(seed)
        zones, size, capacity, active = self.shape = choices.choice(SHAPES)
        self.flush_us = choices.choice(FLUSH_US) if volatile_cache else 0
        self.zenfs("emu", "create", str(self.image), f"--zones={zones}", f"--zone-size={size}",
                   f"--zone-capacity={capacity}", f"--max-open={active}", f"--max-active={active}",
                   *(["--volatile-cache"] if volatile_cache else []))
        self.zenfs("mkfs", f"--emu={self.image}")

    def zenfs(self, *arguments):
        done = subprocess.run([self.programs.zenfs, *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ToolError(f"zenfs {' '.join(arguments)}: {done.stderr.strip()}")

    def flags(self, loses_memory):
        """Of db_stress. `loses_memory`: the mount must not mind that the buffers of the one before it are gone."""
        uri = f"zenfs://emu:{self.image}?flush_dir:{self.buffers}" + (",discard_unsynced" if loses_memory else "")
        return [f"--fs_uri={uri}" + (f",flush_us:{self.flush_us}" if self.flush_us else "")]

    def preload(self):
        """The words before a program that make it find the scheme zenfs://, in it alone; and show its output at once."""
        libraries = ":".join(str(library) for library in (*self.programs.runtime, self.programs.plugin))
        return ["env", f"LD_PRELOAD={libraries}", *(SANITIZER if self.programs.runtime else []), "stdbuf", "-o0"]

    def check_command(self):
        return [str(self.programs.zenfs), "check", f"--emu={self.image}"]

    def power_cut_command(self):
        """Without the seed."""
        return [str(self.programs.zenfs), "emu", "power-cut", str(self.image), "--json"]

    def remove_command(self):
        return [str(self.programs.zenfs), "rmdir", "--force", f"--emu={self.image}"]

    def check(self):
        """None if every byte of every file is in order, else what is not."""
        done = subprocess.run([*self.check_command(), "--read-data"], capture_output=True, text=True, check=False)
        (self.directory / "check.txt").write_text(done.stdout + done.stderr)
        return None if done.returncode == 0 else f"zenfs check --read-data: exit status {done.returncode}, see check.txt"

    def keep(self):
        """What a kept device needs to be mounted as it was left."""
        shutil.copytree(self.buffers, self.directory / "buffers", dirs_exist_ok=True)
        shutil.rmtree(self.buffers, ignore_errors=True)

    def remove(self):
        shutil.rmtree(self.buffers, ignore_errors=True)
        shutil.rmtree(self.directory, ignore_errors=True)

    def allocated(self):
        return os.stat(self.image).st_blocks * 512


class HostFiles:
    """The same without ZenFS. Nothing of it is lost by a kill, so nothing can be made to be lost."""

    def __init__(self, programs, directory, seed, volatile_cache):
        self.directory = pathlib.Path(directory)
        self.database = str(self.directory / "database")
        self.buffers = None

    def flags(self, loses_memory):
        return []

    def preload(self):
        return ["stdbuf", "-o0"]

    def check_command(self):
        return ["true"]

    def power_cut_command(self):
        return None

    def remove_command(self):
        return ["true"]

    def check(self):
        return None

    def keep(self):
        pass

    def remove(self):
        shutil.rmtree(self.directory, ignore_errors=True)

    def allocated(self):
        return 0
