"""Buffered reads through the page cache of a real kernel: while zones are reset and written again, with little memory, and when
the drive is pulled."""
import contextlib
import os
import pathlib
import re

from guest import volume, zonefs
from guest.devices import fresh, pci_slot
from guest.load import Load, written
from guest.shell import run
from lab import drives
from lab.case import case

NEEDS = ("zenfs", "zenfs_cached_reads")


def reads(device, count):
    device.zenfs("mkfs")
    judge(device, run(volume.BINARIES / "zenfs_cached_reads", device.uri, count, seconds=1900))


def judge(device, output):
    mebibytes = int(output.split(", ")[1].split()[0])
    assert mebibytes > 20, f"only {mebibytes} MiB were written: few zones were written twice"
    device.zenfs("check", "--read-data")


@case(needs=NEEDS, seconds=120)
def no_cached_read_gives_bytes_of_another_file():
    "6,000 buffered reads or more in two processes beside a writer that resets zones all the time: dev:"
    reads(volume.block(fresh(drives.PLAIN.serial)), 3_000)


@case(needs=NEEDS, seconds=120, short=("6.12",))
def no_cached_read_of_zonefs_gives_bytes_of_another_file():
    "the same on zonefs"
    with zonefs.mounted(fresh(drives.PLAIN.serial)) as mount:
        reads(volume.zonefs(mount), 3_000)


@case(needs=NEEDS, seconds=2000, short=())
def a_million_cached_reads():
    "a million reads by two processes beside that writer: dev:"
    reads(volume.block(fresh(drives.PLAIN.serial)), 500_000)


@contextlib.contextmanager
def small_cgroup():
    """A cgroup that may be given little memory for its processes and page cache together."""
    root = pathlib.Path("/run/cgroup")
    root.mkdir()
    run("mount", "-t", "cgroup2", "none", root)
    try:
        (root / "cgroup.subtree_control").write_text("+memory")
        group = root / "small"
        group.mkdir()
        yield group
        group.rmdir()
    finally:
        run("umount", root)


def counted(group, name):
    return {key: int(value) for key, value in (line.split() for line in (group / name).read_text().splitlines())}


@case(needs=NEEDS, seconds=240, short=("6.12",))
def cached_reads_in_a_small_cgroup_go_on():
    "the same in a cgroup with less memory than the cache of their files takes: slower, and nothing else"
    name = fresh(drives.PLAIN.serial)
    device = volume.block(name)
    device.zenfs("mkfs")
    before = written(name)
    with small_cgroup() as group:
        enter = f"echo $$ >{group}/cgroup.procs && exec "
        with Load(["sh", "-c", f"{enter} {volume.BINARIES}/zenfs_cached_reads {device.uri} 1500"], os.environ) as load:
            load.wait_until_written(name, (before >> 20) + 8)
            # Now each mount has all the memory that it takes, which differs from build to build. Of the cache half remains; that
            # is also the program's own text.
            use = counted(group, "memory.stat")
            rest = int((group / "memory.current").read_text()) - use["active_file"] - use["inactive_file"]
            (group / "memory.max").write_text(str(rest + (3 << 20)))
            assert load.end(seconds=230) == 0
            judge(device, load.text())
        events = counted(group, "memory.events")
        print(events, "with", rest, "bytes that are no cache")
        assert events["max"] > 0, "there was memory enough"
        assert events["oom_kill"] == 0, events


@case(needs=NEEDS, seconds=120, alone=True, short=("6.12",))
def a_drive_that_is_pulled_ends_cached_reads():
    "the drive is unplugged while two processes read it through the cache: an error each, no hang, no wrong byte"
    name = fresh(drives.MAIN.serial)
    device = volume.block(name)
    device.zenfs("mkfs")
    with Load([volume.BINARIES / "zenfs_cached_reads", device.uri, "1000000000"], os.environ) as load:
        load.wait_until_written(name, written(name) // (1 << 20) + 16)
        (pci_slot(name) / "remove").write_text("1")
        assert load.end(seconds=60) == 1
        last = load.text().strip().splitlines()[-1]
        assert re.match("cached_reads: ", last) and " got " not in load.text(), load.text()
    run("sh", "-c", "for i in $(seq 30); do pgrep zenfs_cached_re || exit 0; sleep 1; done; exit 1")
