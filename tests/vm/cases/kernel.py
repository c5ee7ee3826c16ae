"""The lab's own footing: what QEMU and the kernel show is what was asked for. Nothing of ZenFS takes part."""
import os
import pathlib

from guest import zonefs, zones
from guest.devices import fresh, null_blk, nvme
from guest.shell import attempt, run
from lab import drives
from lab.case import case

SECTORS_OF_MIB = (1 << 20) // zones.SECTOR


def queue(device, attribute):
    return pathlib.Path("/sys/block", device, "queue", attribute).read_text().strip()


def put_into_all_conditions(device, zone_size):
    """Zone 0 is written to, zone 1 opened, 2 written to and closed, 3 finished; the others stay empty."""
    sectors = zone_size // zones.SECTOR
    with open(f"/dev/{device}", "rb+", buffering=0):
        for zone in (0, 2):
            run("dd", "if=/dev/zero", f"of=/dev/{device}", "bs=4096", "count=3", "oflag=direct",
                f"seek={zone * zone_size // 4096}", "conv=notrunc", "status=none")
        for verb, zone in (("open", 1), ("close", 2), ("finish", 3)):
            run("blkzone", verb, "-o", zone * sectors, "-l", sectors, f"/dev/{device}")


EXPECTED = [("implicitly-open", 3 * 4096), ("explicitly-open", 0), ("closed", 3 * 4096), ("full", None), ("empty", 0)]


def check_report(device, first, capacity):
    by_zbd, by_blkzone = zones.by_zbd(device), zones.by_blkzone(device)
    assert by_zbd == by_blkzone, f"zbd and blkzone disagree:\n{by_zbd}\n{by_blkzone}"
    assert {zone.capacity for zone in by_zbd[first:]} == {capacity}
    assert [(zone.condition, zone.written) for zone in by_zbd[first:first + 5]] == EXPECTED
    return by_zbd


@case()
def nvme_zones_are_as_asked():
    "zbd and blkzone report the zones of QEMU's NVMe drives, and sysfs their limits, as QEMU was asked for them"
    for drive in (drives.MAIN, drives.PLAIN, drives.LIMITED):
        device = fresh(drive.serial)
        assert queue(device, "zoned") == "host-managed"
        assert int(queue(device, "max_open_zones")) == drive.max_open
        assert int(queue(device, "max_active_zones")) == drive.max_active
        assert int(queue(device, "chunk_sectors")) * zones.SECTOR == drive.zone_size
        assert int(queue(device, "zone_write_granularity")) == drive.block
        put_into_all_conditions(device, drive.zone_size)
        assert len(check_report(device, 0, drive.zone_capacity)) == drive.zones
        zones.reset_all(device)
    assert queue(nvme(drives.REGULAR.serial), "zoned") == "none"


@case()
def null_blk_zones_are_as_asked():
    "the same for null_blk, with conventional zones and one zone read-only, one offline"
    with null_blk("lab0", size=16, zone_size=1, zone_nr_conv=2, zone_max_open=3, zone_max_active=4) as disk:
        assert int(queue(disk.name, "max_open_zones")) == 3
        run("dd", "if=/dev/zero", f"of=/dev/{disk.name}", "bs=4096", "count=1", "oflag=direct", "seek=512", "status=none")
        disk.set("zone_readonly", 5 * SECTORS_OF_MIB)
        disk.set("zone_offline", 6 * SECTORS_OF_MIB)
        found = zones.by_zbd(disk.name)
        assert found == zones.by_blkzone(disk.name)
        assert [zone.condition for zone in found] == (["not-write-pointer"] * 2 + ["implicitly-open"] + ["empty"] * 2 +
                                                      ["read-only", "offline"] + ["empty"] * 9)
        write = ["dd", "if=/dev/zero", f"of=/dev/{disk.name}", "bs=4096", "count=1", "oflag=direct", "conv=notrunc"]
        assert attempt(*write, f"seek={5 * 256}").status != 0, "a zone that is read-only took a write"


@case()
def limits_are_kept():
    "a zone more than the drive allows is refused, by NVMe and by null_blk"
    def open_zones(device, count):
        return [attempt("blkzone", "open", "-o", zone * SECTORS_OF_MIB, "-l", SECTORS_OF_MIB, f"/dev/{device}").status
                for zone in range(count)]

    device = fresh(drives.LIMITED.serial)
    assert open_zones(device, 4) == [0, 0, 0, 1]
    zones.reset_all(device)
    with null_blk("lab0", size=16, zone_size=1, zone_max_open=3, zone_max_active=4) as disk:
        assert open_zones(disk.name, 4) == [0, 0, 0, 1]


def check_zonefs(device, zone_files, conventional_files, capacity):
    with zonefs.mounted(device, uid=1234, gid=1235, perm=0o640) as place:
        files = sorted((place / "seq").iterdir(), key=lambda path: int(path.name))
        assert len(files) == zone_files
        for file in files:
            status = os.stat(file)
            assert (status.st_size, status.st_blocks * 512, status.st_mode) == (0, capacity, 0o100640), f"{file}: {status}"
            assert (status.st_uid, status.st_gid) == (1234, 1235)
        conventional = place / "cnv"
        assert (len(list(conventional.iterdir())) if conventional.exists() else 0) == conventional_files
        os.truncate(files[3], capacity)
        assert os.stat(files[3]).st_size == capacity
        os.truncate(files[3], 0)
    assert zones.by_zbd(device)[0].condition in ("full", "not-write-pointer")


@case()
def zonefs_shows_its_files():
    "a superblock of ours mounts, on NVMe and null_blk: a file for each zone, owner, mode, capacity, finish, reset"
    drive = drives.LIMITED
    check_zonefs(fresh(drive.serial), drive.zones - 1, 0, drive.zone_capacity)
    with null_blk("lab0", size=16, zone_size=1, zone_nr_conv=2) as disk:
        check_zonefs(disk.name, 14, 1, 1 << 20)
