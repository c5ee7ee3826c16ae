"""The candidates in the guest: how each file system is made, mounted and reached by a program."""
import ctypes
import os
import pathlib

from guest.devices import nvme
from guest import zones
from guest.shell import CommandFailed, attempt
from peers import cases, packages
from trial.candidates import Place

MOUNT = pathlib.Path("/run/tmp/mount")


class Tools:
    """Programs of a newer Debian, run with its own C library."""

    def __init__(self, tree):
        self.tree = pathlib.Path(tree)
        self.library = self.tree / "usr/lib/x86_64-linux-gnu"

    def __call__(self, name, *words):
        command(self.library / "ld-linux-x86-64.so.2", "--library-path", self.library, "--argv0", name,
                packages.tool(self.tree, name).resolve(), *words)


def command(*words):
    done = attempt(*words, shown=False, seconds=120)
    if done.status != 0:
        raise CommandFailed(f"{words[0]} ended with {done.status}: {(done.err or done.out).strip()[-400:]}")
    return done.out


def attach(source, kind, data=""):
    """Without the program mount, whose start would be a part of the time."""
    libc = ctypes.CDLL(None, use_errno=True)
    MOUNT.mkdir(parents=True, exist_ok=True)
    if libc.mount(source.encode(), str(MOUNT).encode(), kind.encode(), 0, data.encode()) != 0:
        raise CommandFailed(f"mount of {kind}: {os.strerror(ctypes.get_errno())}")


def set_scheduler():
    for drive in cases.DRIVES:
        pathlib.Path("/sys/block", nvme(drive.serial), "queue/scheduler").write_text(cases.SCHEDULER)


class Candidate:
    """A file system of the kernel; `regular`: the second drive that it needs."""
    regular = None

    def __init__(self, programs):
        self.programs, self.tool = programs, Tools(programs["tools"])
        self.zoned = f"/dev/{nvme(cases.ZONED.serial)}"
        self.second = f"/dev/{nvme(self.regular.serial)}" if self.regular else None

    def make(self):
        set_scheduler()
        zones.reset_all(nvme(cases.ZONED.serial))
        if self.second:
            with open(self.second, "r+b") as drive:
                drive.write(bytes(8 << 20))
                drive.flush()
                os.fsync(drive.fileno())
        self.format()
        self.mount()

    def unmount(self):
        command("umount", MOUNT)

    def cool(self):
        """Nothing of the file system is cached; drop_caches would also drop the measured programs."""
        self.unmount()
        for drive in filter(None, (self.zoned, self.second)):
            command("blockdev", "--flushbufs", drive)
        self.mount()

    def settle(self):
        """Everything that was written is on the drives."""
        command("sync", "-f", MOUNT)

    def place(self, name):
        return Place(MOUNT / name)


class Xfs(Candidate):
    regular = cases.XFS_REGULAR

    def format(self):
        self.tool("mkfs.xfs", "-f", "-r", f"zoned=1,rtdev={self.zoned}", self.second)

    def mount(self):
        attach(self.second, "xfs", f"rtdev={self.zoned}")


class F2fs(Candidate):
    regular = cases.F2FS_REGULAR

    def format(self):
        self.tool("mkfs.f2fs", "-f", "-m", "-c", self.zoned, self.second)

    def mount(self):
        attach(self.second, "f2fs")


class Btrfs(Candidate):
    def format(self):
        self.tool("mkfs.btrfs", "-f", "-O", "zoned", self.zoned)

    def mount(self):
        attach(self.zoned, "btrfs")


class ZenfsDev(Candidate):
    def __init__(self, programs):
        super().__init__(programs)
        name = nvme(cases.ZONED.serial)
        self.flag, self.uri = f"--zbd={name}", f"zenfs://dev:{name}"

    def format(self):
        command(self.programs["zenfs"], "mkfs", self.flag, "--force")

    def mount(self):
        pass  # each program mounts

    def unmount(self):
        pass

    def settle(self):
        pass

    def place(self, name):
        return Place(name, self.uri, self.programs["plugin"])


class ZenfsZonefs(ZenfsDev):
    def __init__(self, programs):
        super().__init__(programs)
        self.flag, self.uri = f"--zonefs={MOUNT}", f"zenfs://zonefs:{MOUNT}"

    def format(self):
        self.tool("mkzonefs", "-f", self.zoned)
        self.mount()
        super().format()
        Candidate.unmount(self)

    def mount(self):
        attach(self.zoned, "zonefs", "explicit-open,errors=repair")

    def unmount(self):
        Candidate.unmount(self)


KINDS = {"zenfs-dev": ZenfsDev, "zenfs-zonefs": ZenfsZonefs, "xfs": Xfs, "f2fs": F2fs, "btrfs": Btrfs}
