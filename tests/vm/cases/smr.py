"""SMR disks, of which the lab has none: the kernel's scsi_debug behaves as one (no limit of active zones, conventional
zones first, disks of the host-aware kind)."""
import contextlib
import pathlib
import time

from cases.bad_input import refuses
from guest import volume
from guest.shell import modprobe, run
from lab.case import case

PROGRAMS = ("zenfs", "libzenfs.so")


def disks():
    return {path.name for path in pathlib.Path("/sys/block").glob("sd*")}


@contextlib.contextmanager
def smr_disk(kind):
    """The name of a disk of 256 MiB in memory, host-"managed" or host-"aware"."""
    modprobe("sd_mod")
    before = disks()
    modprobe("scsi_debug", f"zbc={kind}", "dev_size_mb=256", "sector_size=4096", "zone_size_mb=4", "zone_nr_conv=2",
             *(["zone_max_open=8"] if kind == "managed" else []))
    try:
        deadline = time.monotonic() + 30  # disks are looked for in the background
        while not disks() - before:
            assert time.monotonic() < deadline, "scsi_debug made no disk"
            time.sleep(0.05)
        name, = disks() - before
        while not pathlib.Path("/dev", name).exists():
            assert time.monotonic() < deadline, f"/dev/{name} does not come"
            time.sleep(0.05)
        yield name
    finally:
        run("rmmod", "scsi_debug")


@case(needs=PROGRAMS, seconds=120)
def smr_disk_is_used_as_any_other():
    "an SMR disk (scsi_debug): no limit of active zones, conventional zones left alone; made, filled, read, checked"
    with smr_disk("managed") as name:
        disk = volume.block(name)
        disk.zenfs("mkfs")
        found = disk.json("fs-info", "--json")
        assert (found["max_open"], found["max_active"], found["zones"]) == (8, 0, 64), found
        assert found["metadata_zones"][0] == 2, f"metadata in a conventional zone: {found['metadata_zones']}"
        disk.db_bench("fillrandom,readrandom", "--num=5000")
        disk.zenfs("check", "--read-data")


@case(needs=("zenfs",))
def host_aware_disk_is_refused():
    "a host-aware disk is refused by name on 6.1; later kernels show it as a regular disk, and so do we"
    with smr_disk("aware") as name:
        kind = pathlib.Path("/sys/block", name, "queue", "zoned").read_text().strip()
        refuses(volume.block(name), f"{name} is a {'regular' if kind == 'none' else 'host-aware'} disk")
