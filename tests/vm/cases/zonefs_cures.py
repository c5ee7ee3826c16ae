"""What is wrong with a zonefs is said with the command that helps, and that command helps."""
import mmap
import os
import pathlib
import re

from guest import refusal, volume, zonefs, zones
from guest.devices import fresh, null_blk
from guest.shell import run
from lab import drives
from lab.case import case

ZENFS = ("zenfs",)


def one_line(done, status):
    assert done.status == status and len(done.err.splitlines()) == 1, f"status {done.status}, {done.err}"
    return done.err


def do_as_told(line):
    """Runs the command behind "as root: "."""
    run("sh", "-c", re.search(r"as root: (.*)$", line).group(1))


@case(needs=ZENFS)
def missing_explicit_open_can_be_cured_in_place():
    "the warning of a mount without explicit-open names a remount, after which there is none"
    with zonefs.mounted(fresh(drives.MAIN.serial), options="errors=repair") as place:
        volume.zonefs(place).zenfs("mkfs")
        file = pathlib.Path("/run/tmp/file")
        file.write_bytes(b"some bytes")
        store = ("restore", f"--path={file}", "--force")
        do_as_told(one_line(volume.zonefs(place).attempt(*store), 0))
        done = volume.zonefs(place).attempt(*store)
        assert done.status == 0 and not done.err, done.err


@case(needs=ZENFS)
def mount_that_went_read_only_can_be_cured_in_place():
    "an error below a zonefs with errors=remount-ro ends all writing; the refusal names a remount, after which it goes on"
    with null_blk("lab0", size=64, zone_size=1) as disk, zonefs.mounted(disk.name, options="") as place:
        disk.set("zone_readonly", 5 * (1 << 20) // zones.SECTOR)
        file = os.open(place / "seq" / "4", os.O_WRONLY | os.O_DIRECT)
        try:
            os.pwrite(file, mmap.mmap(-1, 4096), 0)
            raise AssertionError("a write to a read-only zone went through")
        except OSError as error:
            print(error)
        finally:
            os.close(file)
        do_as_told(one_line(volume.zonefs(place).attempt("mkfs"), 1))
        volume.zonefs(place).zenfs("mkfs", "--force")  # a dead zone may hold anything
        volume.zonefs(place).zenfs("check")


@case(needs=ZENFS)
def zonefs_that_nobody_may_write_is_refused():
    "a zonefs made without permission to write is not mistaken for one whose zones have all died, also by root"
    with zonefs.mounted(fresh(drives.LIMITED.serial), perm=0o440) as place:
        assert "perm=" in one_line(volume.zonefs(place).attempt("mkfs"), 1)


@case(needs=ZENFS, kernels=("6.1",))
def old_zonefs_without_io_uring_is_refused():
    "where the kernel's zonefs is broken for plain writes and io_uring is refused: one line, before anything is written"
    device = fresh(drives.MAIN.serial)
    with zonefs.mounted(device) as place:
        line = one_line(volume.zonefs(place).attempt("mkfs", before=refusal.of_call(refusal.IO_URING_SETUP)), 1)
        assert "io_uring" in line, line
        volume.zonefs(place).zenfs("mkfs")
