"""Devices that ZenFS can't or should not take: refused with one line that says what to do, or taken with a warning."""
import contextlib
import os
import pathlib
import re

from guest import refusal, volume, zonefs, zones
from guest.devices import fresh, null_blk, nvme
from guest.shell import modprobe, run
from lab import drives
from lab.case import case

ZENFS = ("zenfs",)


def refuses(device, pattern, verb="mkfs", *words, **options):
    """One line on standard error that matches, nothing on standard output, exit status 1 (check: 2)."""
    done = device.attempt(verb, *words, **options)
    assert done.status == (2 if verb == "check" else 1), f"{verb} ended with {done.status}, not refused"
    assert len(done.err.splitlines()) == 1 and not done.out, f"not one line: {done.err}{done.out}"
    assert re.search(pattern, done.err, re.I), f"expected /{pattern}/: {done.err.strip()}"


@contextlib.contextmanager
def small_disk(**attributes):
    with null_blk("lab0", size=32, zone_size=1, **attributes) as disk:
        yield disk


@case(needs=ZENFS)
def what_is_not_zoned_is_refused():
    "a regular disk, a partition of one, a name that is none: refused by name"
    disk = nvme(drives.REGULAR.serial)
    refuses(volume.block(disk), rf"{disk}.*not.*zoned")
    run("addpart", f"/dev/{disk}", 1, 2048, 65536)
    try:
        refuses(volume.block(f"{disk}p1"), rf"{disk}p1.*partition.*{disk}")
    finally:
        run("delpart", f"/dev/{disk}", 1)
    refuses(volume.block("nvme99n1"), "nvme99n1.*no such|nvme99n1.*not (there|found|exist)")
    refuses(volume.block("null"), "null.*(block device)")


@case(needs=ZENFS)
def busy_device_is_refused():
    "a device that somebody holds exclusively or has mounted: writing verbs say so, reading ones work"
    device = fresh(drives.PLAIN.serial)
    volume.block(device).zenfs("mkfs")
    held = os.open(f"/dev/{device}", os.O_RDWR | os.O_EXCL)
    try:
        refuses(volume.block(device), rf"{device}.*(busy|in use)", "mkfs", "--force")
        volume.block(device).zenfs("list")
    finally:
        os.close(held)
    volume.block(device).zenfs("check")
    with zonefs.mounted(device):
        refuses(volume.block(device), rf"{device}.*(busy|in use)", "mkfs", "--force")


def store(place):
    """Mounts the volume for writing and puts a file there."""
    file = pathlib.Path("/run/tmp/file")
    file.write_bytes(os.urandom(100000))
    done = volume.zonefs(place).attempt("restore", f"--path={file}", "--force")
    assert done.status == 0, f"restore ended with {done.status}: {done.err}"
    return done


@case(needs=ZENFS)
def zonefs_mounts_are_judged():
    "zonefs without explicit-open: one warning; mounted read-only: refused to writers, read by others; none: refused"
    device = fresh(drives.MAIN.serial)
    with zonefs.mounted(device, options="errors=repair") as place:
        volume.zonefs(place).zenfs("mkfs")
        done = store(place)
        assert len(done.err.splitlines()) == 1 and "explicit-open" in done.err, f"not one warning: {done.err}"
    with zonefs.mount(device) as place:
        done = store(place)
        assert not done.err, f"a warning: {done.err}"
        volume.zonefs(place).zenfs("check", "--read-data")
    with zonefs.mount(device, options="ro,explicit-open") as place:
        refuses(volume.zonefs(place), "read-only", "mkfs", "--force")
        volume.zonefs(place).zenfs("list")
        volume.zonefs(place).zenfs("check")
    refuses(volume.zonefs("/run/tmp"), "/run/tmp.*zonefs")
    refuses(volume.zonefs("/run/tmp/nowhere"), "/run/tmp/nowhere")


@case(needs=ZENFS, kernels=("6.1",))
def wrong_scheduler_is_named_and_set():
    "before zone write plugging another scheduler than mq-deadline is refused with the fix, and mkfs sets it if asked"
    with small_disk() as disk:
        scheduler = pathlib.Path("/sys/block", disk.name, "queue", "scheduler")
        scheduler.write_text("none")
        refuses(volume.block(disk.name), "mq-deadline")
        assert "[none]" in scheduler.read_text()
        volume.block(disk.name).zenfs("mkfs", "--set-scheduler")
        assert "[mq-deadline]" in scheduler.read_text()
        volume.block(disk.name).zenfs("check")


@case(needs=ZENFS, kernels=("6.12",))
def no_scheduler_is_needed_with_write_plugging():
    "from 6.10 on a device with the scheduler none is as good as any"
    with small_disk() as disk:
        assert "[none]" in pathlib.Path("/sys/block", disk.name, "queue", "scheduler").read_text()
        volume.block(disk.name).zenfs("mkfs")
        volume.block(disk.name).zenfs("check")


@case(needs=ZENFS)
def refused_ioctl_is_said():
    "a kernel or container that refuses the zone report: one line"
    with small_disk() as disk:
        refuses(volume.block(disk.name), disk.name, before=refusal.of_ioctl(refusal.BLKREPORTZONE))


@case(needs=ZENFS)
def fewer_zones_than_at_mkfs_are_refused():
    "half of a device, by a linear device mapper target: a volume of the whole is not mounted"
    device = fresh(drives.PLAIN.serial)
    volume.block(device).zenfs("mkfs")
    modprobe("dm_mod")
    sectors = drives.PLAIN.zones // 2 * drives.PLAIN.zone_size // zones.SECTOR
    run("dmsetup", "create", "half", "--noudevsync", "--noudevrules", "--table", f"0 {sectors} linear /dev/{device} 0")
    try:
        half = next(path.parents[1].name for path in pathlib.Path("/sys/block").glob("dm-*/dm/name")
                    if path.read_text().strip() == "half")
        refuses(volume.block(half), "zones", "check")
    finally:
        run("dmsetup", "remove", "--noudevsync", "--noudevrules", "half")


@case(needs=ZENFS)
def zonefs_volume_is_told_from_its_disk():
    "a volume made through zonefs, named by its disk: refused with what to do, nothing lost; through zonefs it is whole"
    device = fresh(drives.PLAIN.serial)
    with zonefs.mounted(device) as place:
        volume.zonefs(place).zenfs("mkfs")
        store(place)
    refuses(volume.block(device), "a zonefs has other zones than the disk below it", "check")
    refuses(volume.block(device), "Existing filesystem found.*a zonefs has other zones.*--force")
    with zonefs.mount(device) as place:
        volume.zonefs(place).zenfs("check", "--read-data")
        assert "file" in volume.zonefs(place).zenfs("list")


@case(needs=ZENFS)
def read_only_option_is_heeded():
    "a URI with ?ro is not formatted"
    device = fresh(drives.PLAIN.serial)
    refuses(volume.Volume(f"--uri=zenfs://dev:{device}?ro", None), "ro")
