"""The whole life of a volume on a real kernel: made, filled, overwritten, read, listed, copied away and back, checked."""
import re

from guest import volume, zonefs
from guest.devices import fresh, null_blk
from guest.shell import run
from lab import drives
from lab.case import case

PROGRAMS = ("zenfs", "libzenfs.so")
KEYS = 20000


def live(first, second):
    """`first` and `second` are volumes to be made, on devices whose zones are all empty."""
    first.zenfs("mkfs")
    flags = [f"--num={KEYS}", "--threads=1", "--seed=7"]
    database = volume.database_of(first.db_bench("fillrandom", *flags))
    first.db_bench("overwrite", "--use_existing_db", f"--num={KEYS}", f"--writes={KEYS // 2}", "--seed=8")
    read = first.db_bench("readrandom", "--use_existing_db", f"--reads={KEYS // 2}", *flags)
    assert re.search(rf"\(({KEYS // 2}) of \1 found\)", read), "keys that fillrandom wrote are not found"

    listed = first.zenfs("list", f"--path={database}")
    assert re.search(r"\.sst$", listed, re.M) and "CURRENT" in listed
    space = first.json("df", "--json")
    assert space["used_bytes"] > KEYS * 200 and space["lost_bytes"] == 0, space
    first.zenfs("check", "--read-data")

    run("rm", "-rf", "/run/tmp/backup")
    first.zenfs("backup", "--path=/run/tmp/backup")
    second.zenfs("mkfs")
    second.zenfs("restore", "--path=/run/tmp/backup")
    second.zenfs("check", "--read-data")
    run("rm", "-rf", "/run/tmp/backup")
    content = first.scan(database)
    assert content.count(b"\n") > KEYS // 2
    assert content == second.scan(database), "the restored database has another content"


@case(needs=PROGRAMS, seconds=240, short=("6.1",))
def life_on_block_devices():
    "mkfs, db_bench fill, overwrite, read, list, df, check, backup, restore: NVMe to null_blk with conventional zones"
    with null_blk("lab0", size=256, zone_size=4, zone_nr_conv=2, zone_max_open=14, zone_max_active=14) as disk:
        live(volume.block(fresh(drives.MAIN.serial)), volume.block(disk.name))


@case(needs=PROGRAMS, seconds=240, short=("6.12",))
def life_on_zonefs():
    "the same, from zonefs on NVMe to zonefs on null_blk with conventional zones"
    with null_blk("lab0", size=256, zone_size=4, zone_nr_conv=2, zone_max_open=14, zone_max_active=14) as disk, \
            zonefs.mounted(fresh(drives.MAIN.serial)) as first, zonefs.mounted(disk.name) as second:
        live(volume.zonefs(first), volume.zonefs(second))
