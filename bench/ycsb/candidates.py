"""Places for a database. A candidate is any object with

    name       what it is called in results
    fresh()    a context manager that gives an empty Place and clears it away afterwards
"""
import contextlib
import dataclasses
import json
import pathlib
import subprocess
import tempfile

EMULATED_ZONE_MIB = 64


@dataclasses.dataclass(frozen=True)
class Place:
    path: str            # of the database
    env: str = None      # URI of the device that it is on; None: the host's file system
    image: str = None    # file of an emulated device


@dataclasses.dataclass(frozen=True)
class Posix:
    """RocksDB's own file system, below a folder of the host."""
    folder: str
    name: str = "posix"

    @contextlib.contextmanager
    def fresh(self):
        with tempfile.TemporaryDirectory(prefix="zenfs-ycsb-", dir=self.folder) as folder:
            yield Place(f"{folder}/db")


@dataclasses.dataclass(frozen=True)
class Emulated:
    """ZenFS on an emulated device, whose file is made below a folder of the host."""
    folder: str
    command: pathlib.Path  # zenfs
    mebibytes: int         # of the device; its file takes only the written bytes
    options: str = ""      # of the URI, without the question mark: "write_us:15"
    name: str = "zenfs"

    @contextlib.contextmanager
    def fresh(self):
        with tempfile.TemporaryDirectory(prefix="zenfs-ycsb-", dir=self.folder) as folder:
            image = f"{folder}/device.img"
            zones = max(32, -(-self.mebibytes // EMULATED_ZONE_MIB))
            self.zenfs("emu", "create", image, f"--zones={zones}", f"--zone-size={EMULATED_ZONE_MIB}M")
            self.zenfs("mkfs", f"--emu={image}")
            yield Place("/ycsb", f"zenfs://emu:{image}" + (f"?{self.options}" if self.options else ""), image)

    def zenfs(self, *words):
        done = subprocess.run([self.command, *words], check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"zenfs {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def written_bytes(self, place):
        """The bytes in the zones of a place's device, live or dead."""
        zones = json.loads(self.zenfs("zones", "--json", f"--emu={place.image}"))["zones"]
        return sum(zone["written"] for zone in zones)
