"""Buffered reads through the page cache of a real kernel, while zones are reset and written again."""
from guest import volume, zonefs
from guest.devices import fresh
from guest.shell import run
from lab import drives
from lab.case import case

NEEDS = ("zenfs", "zenfs_cached_reads")


def reads(device, count):
    device.zenfs("mkfs")
    output = run(volume.BINARIES / "zenfs_cached_reads", device.uri, count, seconds=1900)
    written = int(output.split(", ")[1].split()[0])
    assert written > 20, f"only {written} MiB were written: few zones were written twice"
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
