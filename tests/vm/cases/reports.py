"""What ZenFS believes of the zones, against two programs that know nothing of it."""
from guest import volume, zonefs, zones
from guest.devices import fresh, null_blk
from lab import drives
from lab.case import case

PROGRAMS = ("zenfs", "libzenfs.so")
LOAD = ("fillrandom", "--num=12000")


def compare(device, name, first):
    """Zone by zone; zone 0 of the volume is `first` of the device. Returns how often each condition was seen."""
    ours = device.json("zones", "--json")["zones"]
    theirs = zones.by_zbd(name)
    assert theirs == zones.by_blkzone(name), "zbd and blkzone disagree"
    theirs = theirs[first:]
    assert len(ours) == len(theirs), f"{len(ours)} zones, {len(theirs)} on the device"
    for our, their in zip(ours, theirs):
        lost = {"not-write-pointer": "conventional", "offline": "unusable", "read-only": "retired"}.get(their.condition)
        if lost is not None:
            assert our["phase"] == lost, f"{our} {their}"
            continue
        assert our["capacity"] == their.capacity, f"{our} {their}"
        written = their.capacity if their.condition == "full" else their.written
        assert our["written"] == written, f"{our} {their}"
        assert (our["phase"] == "full") <= (written == their.capacity), f"{our} {their}"
        assert (our["phase"] == "empty") <= (written == 0), f"{our} {their}"
    conditions = [their.condition for their in theirs]
    return {condition: conditions.count(condition) for condition in conditions}


@case(needs=PROGRAMS, seconds=120)
def zone_reports_agree():
    "after a load, zenfs zones, zbd report and blkzone report agree on every zone, through dev: and zonefs:"
    device = fresh(drives.MAIN.serial)
    one = volume.block(device)
    one.zenfs("mkfs")
    assert compare(one, device, 0)["empty"] >= drives.MAIN.zones - 4
    one.db_bench(*LOAD)
    print(compare(one, device, 0))
    with zonefs.mounted(device) as place:
        one = volume.zonefs(place)
        one.zenfs("mkfs")
        one.db_bench(*LOAD)
        print(compare(one, device, 1))
    with null_blk("lab0", size=64, zone_size=1, zone_nr_conv=2, zone_max_open=14, zone_max_active=14) as disk:
        one = volume.block(disk.name)
        one.zenfs("mkfs")
        disk.set("zone_readonly", 20 * 2048)
        disk.set("zone_offline", 21 * 2048)
        one.db_bench(*LOAD)
        seen = compare(one, disk.name, 0)
        assert seen["not-write-pointer"] == 2 and seen["read-only"] == 1 and seen["offline"] == 1
