"""What devices there are, and finding a file system by its UUID."""
import json
import pathlib

from guest import volume, zonefs
from guest.devices import fresh, null_blk, nvme
from guest.shell import run
from lab import drives
from lab.case import case

ZENFS = ("zenfs",)
DRIVES = (drives.MAIN, drives.PLAIN, drives.LIMITED, drives.RANDOM)


def devices():
    """What `zenfs devices` shows: device -> its facts."""
    shown = run(volume.BINARIES / "zenfs", "devices", "--json", shown=False)
    return {one["device"]: one for one in json.loads(shown)["devices"]}


@case(needs=ZENFS)
def devices_are_listed_as_they_are():
    "zenfs devices shows every zoned disk and zonefs with its zones, limits, scheduler and contents, and nothing else"
    for drive in DRIVES:
        fresh(drive.serial)
    held = nvme(drives.PLAIN.serial)
    volume.block(held).zenfs("mkfs", "--label=found")
    with null_blk("lab0", size=32, zone_size=1, zone_nr_conv=2) as disk, zonefs.mounted(nvme("limited")) as place:
        found = devices()
        names = {f"dev:{nvme(drive.serial)}" for drive in DRIVES} | {f"dev:{disk.name}", f"zonefs:{place}"}
        assert set(found) == names, f"{sorted(found)} instead of {sorted(names)}"
        for drive in DRIVES:
            shown = found[f"dev:{nvme(drive.serial)}"]
            wanted = {"zoned": "host-managed", "model": "QEMU NVMe Ctrl", "block_size": drive.block, "zones": drive.zones,
                      "conventional": 0, "zone_size": drive.zone_size, "zone_capacity": drive.zone_capacity,
                      "max_open": drive.max_open, "max_active": drive.max_active, "volatile_cache": True,
                      "writes_in_order": True}
            assert wanted.items() <= shown.items(), f"{shown} instead of {wanted}"
        assert found[f"dev:{disk.name}"]["conventional"] == 2
        assert found[f"zonefs:{place}"]["zones"] == drives.LIMITED.zones - 1
        holds = found[f"dev:{held}"]["holds"]
        assert holds["kind"] == "zenfs" and holds["label"] == "found", holds


@case(needs=ZENFS, kernels=("6.1",))
def devices_tells_a_wrong_scheduler():
    "on a kernel without write plugging zenfs devices names the command that sets the scheduler right, and that works"
    with null_blk("lab0", size=32, zone_size=1) as disk:
        pathlib.Path("/sys/block", disk.name, "queue", "scheduler").write_text("none")
        shown = devices()[f"dev:{disk.name}"]
        assert not shown["writes_in_order"] and shown["scheduler"] == "none", shown
        run("sh", "-c", shown["scheduler_fix"])
        shown = devices()[f"dev:{disk.name}"]
        assert shown["writes_in_order"] and shown["scheduler"] == "mq-deadline" and not shown["scheduler_fix"], shown


def uuids():
    return {line.split("\t")[0]: line.split("\t")[1] for line in run(volume.BINARIES / "zenfs", "ls-uuid").splitlines()}


@case(needs=ZENFS)
def uuid_names_a_volume_wherever_it_is():
    "ls-uuid lists the volumes of NVMe, null_blk and zonefs, and uuid: opens each of them"
    for drive in DRIVES:
        fresh(drive.serial)
    with null_blk("lab0", size=32, zone_size=1) as disk, zonefs.mounted(nvme("main")) as place:
        volumes = [volume.block(nvme("plain")), volume.block(disk.name), volume.zonefs(place)]
        for number, one in enumerate(volumes):
            one.zenfs("mkfs", f"--label=number-{number}")
        found = uuids()
        assert len(found) == 3, found
        for number, one in enumerate(volumes):
            uuid = one.json("fs-info", "--json")["uuid"]
            assert found[uuid] == one.uri.removeprefix("zenfs://"), f"{uuid}: {found[uuid]}, not {one.uri}"
            named = volume.Volume(f"--uri=zenfs://uuid:{uuid}", f"zenfs://uuid:{uuid}")
            assert named.json("fs-info", "--json")["label"] == f"number-{number}"
            named.zenfs("check")
