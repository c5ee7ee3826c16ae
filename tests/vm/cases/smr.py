"""SMR disks, of which the lab has none: the kernel's scsi_debug behaves as one (no limit of active zones, conventional
zones first, disks of the host-aware kind)."""
import contextlib
import pathlib
import time

from cases.bad_input import refuses
from guest import volume
from guest.devices import character_node, fresh
from guest.load import written
from guest.shell import modprobe, run
from lab import drives
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


@case(needs=PROGRAMS, seconds=240, short=("6.12",))
def logs_of_an_smr_disk_on_an_nvme_drive():
    "mkfs --waldev: an SMR disk with its logs on an NVMe drive, killed under synced writes, then used on; found by its name and by waldev"
    logs = fresh(drives.MAIN.serial)
    with smr_disk("managed") as name:
        disk = volume.block(name)
        disk.zenfs("mkfs", f"--waldev=dev:{logs}")
        found = disk.json("fs-info", "--json")
        assert found["log_device"] == {"name": f"dev:/dev/{logs}", "zones": 62}, found
        assert written(logs) > 0, "the second device has no superblock"
        before = written(logs)
        with disk.start_db_bench("fillrandom", "--num=100000000", "--sync", "--threads=4") as load:
            load.wait_until(lambda: disk.json("df", "--json")["used_bytes"] >= 4 << 20, "4 MiB were used")
            load.kill()
        assert written(logs) > before, "no log was written to the NVMe drive"
        disk.zenfs("check", "--read-data")
        disk.db_bench("overwrite,readrandom", "--use_existing_db", "--num=5000")
        by_name = volume.Volume(f"--uri=zenfs://dev:{name}?waldev:nvme:{character_node(logs)}", "")
        by_name.zenfs("check", "--read-data")
        refuses(volume.block(logs), "only the logs", "df")


@case(needs=("zenfs",))
def host_aware_disk_is_refused():
    "a host-aware disk is refused by name on 6.1; later kernels show it as a regular disk, and so do we"
    with smr_disk("aware") as name:
        kind = pathlib.Path("/sys/block", name, "queue", "zoned").read_text().strip()
        refuses(volume.block(name), f"{name} is a {'regular' if kind == 'none' else 'host-aware'} disk")
