"""Zones that go bad and devices that go away while a database is being written: errors, never a hang or a crash."""
import pathlib
import re

from guest import volume, zonefs, zones
from guest.devices import fresh, null_blk, pci_slot
from guest.load import written
from guest.shell import run
from lab import drives
from lab.case import case

PROGRAMS = ("zenfs", "libzenfs.so")
ENDLESS_LOAD = ("fillrandom", "--num=50000000", "--threads=1")  # with more, db_bench itself is not safe when one fails
ZONE = 4  # MiB


def sector_of(zone):
    return zone * (ZONE << 20) // zones.SECTOR


def zones_of(file):
    return {extent["start"] // (ZONE << 20) for extent in file["extents"] + file["frames"]}


def files_in(volume_dump, folder):
    return [file for file in volume_dump["files"] if any(name.lstrip("/").startswith(folder) for name in file["filename"])]


def survive_bad_zones(device, disk, first):
    """Zone 0 of the volume is zone `first` of the disk. A zone of the finished database goes offline, and one that is being
    written becomes read-only."""
    device.zenfs("mkfs")
    device.db_bench("fillseq", "--db=kept", "--num=15000")
    tables = [file for file in files_in(device.json("dump"), "kept") if file["filename"][0].endswith(".sst")]
    offline = min(zones_of(tables[0]))
    with device.start_db_bench("fillrandom", "--db=going", "--num=40000") as load:
        load.wait_until_written(disk.name, written(disk.name) // (1 << 20) + 8)
        active = [zone["zone"] for zone in device.json("zones", "--json")["zones"] if zone["phase"] == "active"]
        read_only = next(zone for zone in active if zone != offline)
        disk.set("zone_readonly", sector_of(first + read_only))
        disk.set("zone_offline", sector_of(first + offline))
        load.end(seconds=120)

    check = device.attempt("check", "--read-data")
    assert check.status == 1 and not check.err.strip(), f"check ended with {check.status}: {check.err}"
    assert re.search(rf"\bzone {offline}\b", check.out), f"check does not name zone {offline}"
    assert device.json("df", "--json")["lost_bytes"] > 0
    phases = {zone["zone"]: zone["phase"] for zone in device.json("zones", "--json")["zones"]}
    assert phases[offline] == "unusable" and phases[read_only] == "retired", (phases[offline], phases[read_only])
    damaged = [file for file in device.json("dump")["files"] if offline in zones_of(file)]
    assert damaged and not any(file["frames"] for file in damaged)
    for file in device.json("dump")["files"]:
        run("rm", "-rf", "/run/tmp/one")
        one = device.attempt("backup", "--path=/run/tmp/one", f"--backup_path={file['filename'][0]}")
        assert (one.status == 0) == (file not in damaged), f"{file['filename'][0]}: {one.err or 'is readable'}"


@case(needs=PROGRAMS, seconds=240, short=("6.1",))
def bad_zones_cost_only_their_files():
    "one zone turns read-only, one offline under load: no hang, no crash, check names the lost one, the rest is read"
    with null_blk("lab0", size=256, zone_size=ZONE, zone_max_open=14, zone_max_active=14) as disk:
        survive_bad_zones(volume.block(disk.name), disk, 0)


@case(needs=PROGRAMS, seconds=240, short=("6.12",))
def bad_zones_below_zonefs_cost_only_their_files():
    "the same below a zonefs"
    with null_blk("lab0", size=256, zone_size=ZONE, zone_max_open=14, zone_max_active=14) as disk:
        with zonefs.mounted(disk.name) as place:
            survive_bad_zones(volume.zonefs(place), disk, 1)


def lose(device, name, remove):
    """`remove` takes the device away while it is written."""
    device.zenfs("mkfs")
    with device.start_db_bench(*ENDLESS_LOAD) as load:
        load.wait_until_written(name, written(name) // (1 << 20) + 16)
        remove()
        assert load.end(seconds=90) != 0, "db_bench did not notice"
        assert re.search("error", load.text(), re.I), "db_bench said nothing of an error"
    after = device.attempt("check", seconds=60)
    assert after.status != 0 and len(after.err.strip().splitlines()) == 1, after.err


@case(needs=PROGRAMS, seconds=240, alone=True)
def null_blk_vanishes_under_load():
    "null_blk is switched off while db_bench writes: db_bench ends with an error, no hang, no crash"
    with null_blk("lab0", size=256, zone_size=ZONE, zone_max_open=14, zone_max_active=14) as disk:
        lose(volume.block(disk.name), disk.name, lambda: disk.set("power", 0))


@case(needs=PROGRAMS, seconds=240, alone=True)
def nvme_vanishes_under_load():
    "the NVMe drive is unplugged from its PCI slot while db_bench writes: the same"
    name = fresh(drives.MAIN.serial)
    remove = pci_slot(name) / "remove"
    lose(volume.block(name), name, lambda: remove.write_text("1"))
    assert not pathlib.Path("/dev", name).exists()


@case(needs=PROGRAMS, seconds=240, alone=True, short=("6.12",))
def zonefs_vanishes_under_load():
    "null_blk below a zonefs is switched off while db_bench writes: the same"
    with null_blk("lab0", size=256, zone_size=ZONE, zone_max_open=14, zone_max_active=14) as disk:
        with zonefs.mounted(disk.name) as place:
            lose(volume.zonefs(place), disk.name, lambda: disk.set("power", 0))
