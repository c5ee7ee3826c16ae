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


def reads(device, count, before=None):
    device.zenfs("mkfs")
    output = run(volume.BINARIES / "zenfs_cached_reads", device.uri, count, seconds=1900, before=before)
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
def small_cgroup(mebibytes):
    """A cgroup whose processes and page cache together have so much memory."""
    root = pathlib.Path("/run/cgroup")
    root.mkdir()
    run("mount", "-t", "cgroup2", "none", root)
    try:
        (root / "cgroup.subtree_control").write_text("+memory")
        group = root / "small"
        group.mkdir()
        (group / "memory.max").write_text(str(mebibytes << 20))
        yield group
        group.rmdir()
    finally:
        run("umount", root)


@case(needs=NEEDS, seconds=240, short=("6.12",))
def cached_reads_in_a_small_cgroup_go_on():
    "the same in a cgroup that can't hold the program and the cache of its files: slower, and nothing else"
    with small_cgroup(16) as group:
        reads(volume.block(fresh(drives.PLAIN.serial)), 1_500,
              before=lambda: (group / "cgroup.procs").write_text(str(os.getpid())))
        events = dict(line.split() for line in (group / "memory.events").read_text().splitlines())
        print(events, "at most", (group / "memory.peak").read_text().strip(), "bytes")
        assert int(events["max"]) > 0, "there was memory enough"
        assert int(events["oom_kill"]) == 0, events


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
