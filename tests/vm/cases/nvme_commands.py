"""A volume on an NVMe drive by its own commands (nvme:), alone and in turn with its block device (dev:)."""
import os
import re

from cases.bad_input import refuses
from cases.failing_device import ENDLESS_LOAD
from cases.life import KEYS, PROGRAMS, live
from cases.permissions import USER, reachable_binaries, use
from guest import volume
from guest.devices import character_node, fresh, null_blk, pci_slot
from lab import drives
from lab.case import case


def by_commands(name, **options):
    return volume.nvme(character_node(name), **options)


def holds(load, reader, mebibytes):
    """Waits until the volume holds so much. What goes by commands is not in /sys/block/DEVICE/stat."""
    load.wait_until(lambda: reader.json("df", "--json")["used_bytes"] >= mebibytes << 20, f"{mebibytes} MiB were used")


@case(needs=PROGRAMS, seconds=240, short=("6.12",))
def life_by_nvme_commands():
    "mkfs, db_bench fill, overwrite, read, list, df, check, backup, restore: by NVMe commands to null_blk"
    with null_blk("lab0", size=256, zone_size=4, zone_max_open=14, zone_max_active=14) as disk:
        live(by_commands(fresh(drives.MAIN.serial)), volume.block(disk.name))


@case(needs=PROGRAMS, seconds=240, short=("6.1",))
def commands_and_block_device_take_turns():
    "one volume written and read by dev: and nvme: in turn, both see all that the other wrote"
    name = fresh(drives.MAIN.serial)
    block, commands = volume.block(name), by_commands(name)
    block.zenfs("mkfs")
    flags = [f"--num={KEYS}", "--threads=1"]
    for turn, (writer, reader) in enumerate([(commands, block), (block, commands)] * 2):
        benchmark = "fillrandom" if turn == 0 else "overwrite"
        more = [] if turn == 0 else ["--use_existing_db"]
        database = volume.database_of(writer.db_bench(benchmark, *more, *flags, f"--seed={turn + 1}"))
        reader.zenfs("check", "--read-data")
        assert reader.scan(database) == writer.scan(database), f"turn {turn}: they read different contents"
        assert reader.json("df", "--json") == writer.json("df", "--json")
    # What the drive says of itself is what the kernel says of it.
    first, second = (one.json("fs-info", "--json") for one in (block, commands))
    assert {key for key in first if first[key] != second[key]} == {"device"}, (first, second)


@case(needs=PROGRAMS, seconds=120)
def commands_and_block_device_exclude_each_other():
    "while one of dev: and nvme: is mounted for writing, the other is refused as busy, and reads"
    name = fresh(drives.MAIN.serial)
    block, commands = volume.block(name), by_commands(name)
    block.zenfs("mkfs")
    for holder, other in ((commands, block), (block, commands)):
        with holder.start_db_bench(*ENDLESS_LOAD) as load:
            holds(load, other, 2)
            refuses(other, rf"{name}.*(busy|in use)", "mkfs", "--force")
            other.zenfs("list")
            load.kill()
        block.zenfs("mkfs", "--force")


@case(needs=PROGRAMS, seconds=120)
def commands_need_root_before_linux_6_2():
    "a user who may write the nodes: on 6.1 refused in one line that names dev:, which does without; on 6.12 all works"
    folder = reachable_binaries()
    name = fresh(drives.MAIN.serial)
    nodes = [f"/dev/{name}", f"/dev/{character_node(name)}"]
    device = by_commands(name, user=USER, folder=folder)
    for node in nodes:
        os.chmod(node, 0o600)
    refuses(device, "permission")
    for node in nodes:
        os.chmod(node, 0o666)
    block = volume.block(name, user=USER, folder=folder)
    if os.uname().release.startswith("6.1."):
        refuses(device, "permission denied.*dev:")
        use(block)
        assert block.json("fs-info", "--json")["max_append_bytes"] == 0
        said = block.attempt("mkfs", "--force").err
        assert re.search(rf"without zone append: .*{character_node(name)}.*denied", said), said
    else:
        use(device)
        assert block.json("fs-info", "--json")["max_append_bytes"] > 0
        assert "zone append" not in block.attempt("mkfs", "--force").err
    for node in nodes:
        os.chmod(node, 0o600)


@case(needs=("zenfs",))
def nodes_that_take_no_zone_commands_are_refused():
    "a block device, the controller, a namespace without zones, and a name that is none: refused by name"
    zoned = fresh(drives.PLAIN.serial)
    regular = os.environ[f"LAB_{drives.REGULAR.serial.upper()}"]
    refuses(volume.nvme(zoned), rf"{zoned} is not the character device")
    refuses(volume.nvme(re.sub(r"n\d+$", "", zoned)), "is not the character device")
    refuses(volume.nvme(character_node(regular)), rf"{regular}.*not a zoned")
    refuses(volume.nvme("ng99n1"), "ng99n1.*no such")
    refuses(volume.Volume(f"--uri=zenfs://nvme:{character_node(zoned)}?ro", None), "ro")


@case(needs=PROGRAMS, seconds=240, alone=True)
def nvme_vanishes_under_commands():
    "the drive is unplugged from its PCI slot while db_bench writes by commands: an error, no hang, no crash"
    name = fresh(drives.MAIN.serial)
    device, remove = by_commands(name), pci_slot(name) / "remove"
    device.zenfs("mkfs")
    with device.start_db_bench(*ENDLESS_LOAD) as load:
        holds(load, device, 16)
        remove.write_text("1")
        assert load.end(seconds=90) != 0, "db_bench did not notice"
        assert re.search("error", load.text(), re.I), "db_bench said nothing of an error"
    after = device.attempt("check", seconds=60)
    assert after.status != 0 and len(after.err.strip().splitlines()) == 1, after.err
