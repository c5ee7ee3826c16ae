"""Emulated zoned devices with a ZenFS."""
import contextlib
import json
import os
import pathlib
import subprocess

from tooling import shared_memory
from tooling.places import ToolError

SHAPE = ("--zones=64", "--zone-size=16M", "--zone-capacity=12M", "--max-open=14", "--max-active=14")


class Device:
    """A device in one file. Errors: ToolError if a command fails."""

    def __init__(self, zenfs, path, options=""):
        """`options`: of the URI, e.g. "hostsync"."""
        self.zenfs = zenfs
        self.path = pathlib.Path(path)
        self.uri = f"zenfs://emu:{self.path}" + (f"?{options}" if options else "")

    def create(self, *flags, shape=SHAPE):
        self.run("emu", "create", self.path, *shape, *flags)
        return self

    def format(self, *flags):
        self.run("mkfs", f"--emu={self.path}", *flags)
        return self

    def run(self, *words, status=0):
        """What `zenfs WORDS` printed."""
        done = subprocess.run([self.zenfs, *map(str, words)], capture_output=True, text=True, check=False)
        if done.returncode != status:
            raise ToolError(f"zenfs {' '.join(map(str, words))} ended with {done.returncode}: "
                            f"{(done.stderr or done.stdout).strip()}")
        return done.stdout

    def on_it(self, verb, *flags):
        return self.run(verb, f"--emu={self.path}", *flags)

    def names(self, path=".rocksdb"):
        """The names in a directory."""
        return [line.split()[-1] for line in self.on_it("list", f"--path={path}").splitlines() if line.strip()]

    def used_bytes(self):
        return json.loads(self.on_it("df", "--json"))["used_bytes"]

    def expect_sound(self):
        """Every invariant, and every byte of every file."""
        self.on_it("check", "--read-data")

    def remove_shared_memory(self):
        """What a killed server's mount leaves for the next mount, if there will be none."""
        for file in shared_memory.files_of(self.path):
            with contextlib.suppress(OSError):  # somebody else's
                os.unlink(file)
