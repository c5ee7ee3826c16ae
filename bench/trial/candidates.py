"""The measured candidates: places for a database, each with its file system.

A candidate makes a fresh Place for each case and repetition. A place knows how db_bench is told of it, what a phase
wrote there and by what cause, and how much it holds; remove() leaves nothing behind.
"""
import collections
import os
import pathlib
import shutil
import uuid

from tooling.places import ToolError

from trial.places import GIB, MIB, check_room, is_tmpfs
from trial.zenfs_command import bytes_by_cause

PROFILES = ("none", "zn540", "bufferless", "smr", "smallzone")
Shape = collections.namedtuple("Shape", "zone_bytes open active")  # active 0: no limit
SHAPES = {"smr": Shape(256 * MIB, 128, 0),
          # Smaller than those of a drive, so that a device of some GiB has as many zones as a file is spread over, and more.
          "smallzone": Shape(8 * MIB, 384, 384)}
SSD = Shape(64 * MIB, 14, 14)


def room_needed(data_bytes):
    """A compaction temporarily holds its data twice; logs and memtables come in addition."""
    return 3 * data_bytes + GIB // 2


class Place:
    """`db`, `fs_uri` (None: RocksDB's own file system) and `library` (to preload) are all that a program needs."""

    def __init__(self, db, fs_uri=None, library=None):
        self.db, self.fs_uri, self.library = str(db), fs_uri, library

    def environment(self):
        return {"LD_PRELOAD": str(self.library)} if self.library else {}

    def device_bytes(self, finished):
        """{cause: bytes} of the phase that has just `finished`."""
        raise NotImplementedError

    def emulation_cpu_seconds(self):
        """CPU time of that phase for the emulation of a device."""
        return 0.0

    def used_bytes(self):
        """(bytes of the data, bytes of the whole zones that hold it)"""
        raise NotImplementedError

    def remove(self):
        raise NotImplementedError


class PosixPlace(Place):
    def __init__(self, directory):
        super().__init__(directory / "db")
        self.directory = directory
        self.in_memory = is_tmpfs(directory)

    def device_bytes(self, finished):
        # A tmpfs has no device: count the bytes passed to write calls.
        return {"host": finished.io.get("wchar" if self.in_memory else "write_bytes", 0)}

    def used_bytes(self):
        return sum(os.lstat(os.path.join(folder, name)).st_blocks * 512
                   for folder, _, names in os.walk(self.db) for name in names), 0

    def remove(self):
        shutil.rmtree(self.directory)


class PosixCandidate:
    """RocksDB's own file system in a directory of the host."""
    kind = "posix"

    def __init__(self, name, directory):
        self.name, self.directory = name, pathlib.Path(directory)
        self.uri = None
        medium = "tmpfs" if self.directory.is_dir() and is_tmpfs(self.directory) else "disk"
        self.description = f"RocksDB's own file system in {directory} ({medium})"

    def check(self, data_bytes):
        if not self.directory.is_dir() or not os.access(self.directory, os.W_OK):
            raise ToolError(f"{self.name}: {self.directory} is not a directory that can be written to")
        check_room(self.directory, room_needed(data_bytes), self.name)

    def make(self, _data_bytes):
        directory = self.directory / f"zenfs-bench-{uuid.uuid4().hex[:12]}"
        directory.mkdir()
        return PosixPlace(directory)


class ZenfsPlace(Place):
    """A directory of a volume. `page`: the file in which a mount leaves its counters."""

    def __init__(self, programs, uri, db, folder):
        self.page = folder / "counters"
        options = f"metrics_file:{self.page}"
        super().__init__(db, f"{uri}{',' if '?' in uri else '?'}{options}", programs.plugin)
        self.zenfs, self.uri, self.folder = programs.zenfs, uri, folder

    def device_bytes(self, finished):
        return bytes_by_cause(self.zenfs.counters(self.page))

    def emulation_cpu_seconds(self):
        return self.zenfs.counters(self.page)["values"]["emulation_cpu_seconds_total"]

    def used_bytes(self):
        return self.zenfs.used_bytes(self.uri)

    def remove(self):
        shutil.rmtree(self.folder)


class EmulatedCandidate:
    """ZenFS on a device that is emulated in a file on tmpfs, new for each place."""
    kind = "zenfs"

    def __init__(self, programs, profile, directory, name=None, options=""):
        """`options`: of the mount, as in a URI. With `sync_blocks` among them the device has random write areas."""
        self.programs, self.profile, self.directory = programs, profile, pathlib.Path(directory)
        self.name, self.options = name or f"zenfs-{profile}", options
        self.shape = SHAPES.get(profile, SSD)
        self.uri = "zenfs://emu:FILE" + (f"?{options}" if options else "")
        self.description = (f"ZenFS on an emulated device on tmpfs, zones of {self.shape.zone_bytes // MIB} MiB, {self.shape.open} open, "
                            + ("as fast as the host" if profile == "none" else f"timing profile {profile}")
                            + (f", {options}" if options else ""))
        self.area_flags = ["--random-area=64K"] if "sync_blocks" in options else []

    def device_size(self, data_bytes):
        return 6 * data_bytes + 2 * GIB

    def check(self, data_bytes):
        check_room(self.directory, room_needed(data_bytes), self.name)

    def make(self, data_bytes):
        folder = self.directory / uuid.uuid4().hex[:12]
        folder.mkdir()
        image = folder / "device.img"
        zones = max(40, self.device_size(data_bytes) // self.shape.zone_bytes)
        self.programs.zenfs("emu", "create", image, f"--zones={zones}", f"--zone-size={self.shape.zone_bytes}",
                            f"--max-open={self.shape.open}", f"--max-active={self.shape.active}", f"--timing={self.profile}",
                            *self.area_flags)
        self.programs.zenfs("mkfs", f"--emu={image}")
        # Append buffers in a separate directory: the rest of a killed program is removed with it.
        uri = f"zenfs://emu:{image}?flush_dir:{folder}" + (f",{self.options}" if self.options else "")
        return ZenfsPlace(self.programs, uri, "/db", folder)


class NamedPlace(ZenfsPlace):
    def remove(self):
        try:
            self.zenfs("rmdir", f"--uri={self.uri}", f"--path={self.db}", "--force")
        finally:
            super().remove()


class NamedCandidate:
    """A volume that the user named, such as a real drive. Uses a directory in it and removes that again."""
    kind = "zenfs"

    def __init__(self, programs, name, uri, directory):
        self.programs, self.name, self.uri, self.directory = programs, name, uri, pathlib.Path(directory)
        self.description = f"ZenFS on {uri}"

    def check(self, data_bytes):
        """Reports problems of the volume before the first measurement. Makes and formats nothing."""
        if "=" in self.uri or ";" in self.uri:
            raise ToolError(f"{self.name}: the URI must have no '=' and no ';': {self.uri}")
        if "ro" in self.uri.partition("?")[2].split(","):
            raise ToolError(f"{self.name}: {self.uri} is read-only, and a benchmark writes; leave 'ro' away")
        try:
            free = self.programs.zenfs.json("df", f"--uri={self.uri}")["free_bytes"]
        except ToolError as error:
            raise ToolError(f"{self.name}: {self.uri} can't be used: {error} (a benchmark never formats a device: "
                             "see zenfs mkfs)") from error
        if free < room_needed(data_bytes):
            raise ToolError(f"{self.name}: {self.uri} has {free / GIB:.1f} GiB free and {room_needed(data_bytes) / GIB:.1f} GiB "
                             "may be needed; take a smaller --num")

    def make(self, _data_bytes):
        folder = self.directory / uuid.uuid4().hex[:12]
        folder.mkdir()
        return NamedPlace(self.programs, self.uri, f"/zenfs-bench-{folder.name}", folder)
