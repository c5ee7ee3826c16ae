"""A volume of the older ZenFS on a real kernel: read, upgraded under kills, given back, written."""
import pathlib
import random
import shutil
import subprocess
import time

from guest import volume, zonefs
from guest.devices import fresh
from guest.shell import run
from lab import drives
from lab.case import case

NEEDS = ("zenfs", "libzenfs.so", "volume_tool")
DATABASE = pathlib.Path("/run/tmp/older-db")
SAVED = pathlib.Path("/run/tmp/older-saved")  # a copy of the metadata for each attempt
KILLS = 10


def upgrade_under_kills(device):
    """Yields after each kill. At the end the volume is upgraded, and the last copy is that of the upgrade that was not interrupted."""
    for kill in range(KILLS):
        process = subprocess.Popen([volume.BINARIES / "zenfs", "upgrade", device.flag, "--yes", f"--save={SAVED / str(kill)}"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        time.sleep(random.uniform(0.05, 0.5))
        process.kill()
        process.wait()
        yield
        if device.json("fs-info", "--json")["format"] == 3:
            return
    device.zenfs("upgrade", "--yes", f"--save={SAVED / 'last'}")


def take_over(device, target):
    """`target`: the device as volume_tool takes it. Its zones are empty."""
    shutil.rmtree(DATABASE, ignore_errors=True)
    shutil.rmtree(SAVED, ignore_errors=True)
    SAVED.mkdir()
    run("db_bench", f"--db={DATABASE}", "--benchmarks=fillrandom", "--num=20000", "--value_size=400", "--write_buffer_size=2097152",
        "--compression_type=none")
    made = subprocess.run([volume.BINARIES / "volume_tool", "device", target], input=f"older-copy {DATABASE}\n", text=True,
                          capture_output=True, check=True).stdout
    assert "error" not in made, made
    expected = subprocess.run(["ldb", f"--db={DATABASE}", "scan", "--hex"], capture_output=True, check=True).stdout
    assert expected.count(b"\n") > 5000

    def has_all_files():
        shutil.rmtree("/run/tmp/older-files", ignore_errors=True)
        device.zenfs("backup", "--path=/run/tmp/older-files")
        return subprocess.run(["ldb", "--db=/run/tmp/older-files/db", "scan", "--hex"], capture_output=True, check=True).stdout == expected

    assert has_all_files()
    for _ in upgrade_under_kills(device):
        assert has_all_files(), "after a kill"
    assert device.json("fs-info", "--json")["format"] == 3
    newest = max(SAVED.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    device.zenfs("upgrade", f"--undo={newest}")
    assert device.json("fs-info", "--json")["format"] == 2 and has_all_files()
    device.zenfs("upgrade", "--yes", f"--save={SAVED / 'again'}")
    device.zenfs("scrub")
    assert device.scan("db") == expected
    device.db_bench("overwrite", "--use_existing_db", "--db=db", "--num=20000", "--writes=10000")
    device.zenfs("check", "--read-data")


@case(needs=NEEDS, seconds=240, short=("6.12",))
def an_older_volume_is_taken_over():
    "read, upgraded with ten kills, given back, upgraded again, written by RocksDB: dev:"
    name = fresh(drives.MAIN.serial)
    take_over(volume.block(name), f"dev:{name}")


@case(needs=NEEDS, seconds=240, short=("6.1",))
def an_older_volume_is_taken_over_on_zonefs():
    "the same on zonefs"
    with zonefs.mounted(fresh(drives.MAIN.serial)) as place:
        take_over(volume.zonefs(place), f"zonefs:{place}")
