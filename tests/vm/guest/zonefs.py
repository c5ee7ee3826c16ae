"""zonefs on a zoned device: made, mounted, unmounted."""
import contextlib
import mmap
import os
import pathlib

from guest import zones
from guest.shell import modprobe, run
from lab import zonefs_superblock

PLACE = pathlib.Path("/run/tmp/zonefs")


def make(device, **superblock):
    """All zones empty, but the first, which has the superblock and is full, so that it takes no active zone."""
    zones.reset_all(device)
    block = mmap.mmap(-1, 4096)  # aligned, as direct I/O wants it
    block.write(zonefs_superblock.pack(**superblock))
    descriptor = os.open(f"/dev/{device}", os.O_WRONLY | os.O_DIRECT | os.O_SYNC)
    try:
        os.pwrite(descriptor, block, 0)
    finally:
        os.close(descriptor)
    first = zones.by_blkzone(device)[0]
    if first.condition != "not-write-pointer":
        run("blkzone", "finish", "-o", 0, "-l", first.size // zones.SECTOR, f"/dev/{device}")


@contextlib.contextmanager
def mounted(device, options="explicit-open,errors=repair", **superblock):
    """Makes a zonefs on the device and mounts it; the path of the mount."""
    make(device, **superblock)
    with mount(device, options) as place:
        yield place


@contextlib.contextmanager
def mount(device, options="explicit-open,errors=repair"):
    modprobe("zonefs")
    place = PLACE / device
    place.mkdir(parents=True, exist_ok=True)
    place.parent.chmod(0o755)
    run("mount", "-t", "zonefs", *(["-o", options] if options else []), f"/dev/{device}", place)
    try:
        yield place
    finally:
        run("umount", place)
