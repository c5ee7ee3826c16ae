"""The udev rule that is installed with ZenFS, under the real udev."""
import contextlib
import os
import pathlib
import shutil

from guest.devices import null_blk
from guest.shell import run
from lab.case import case

RULES = pathlib.Path(__file__).resolve().parents[3] / "packaging" / "udev" / "60-zenfs.rules"
DAEMON = "/usr/lib/systemd/systemd-udevd"


def udevadm(*words):
    run("udevadm", *words, environment={"SYSTEMD_IGNORE_CHROOT": "1"})


@contextlib.contextmanager
def udev():
    """Runs udev with our rules; /run/udev is the guest's."""
    folder = pathlib.Path("/run/udev/rules.d")
    folder.mkdir(parents=True)
    shutil.copy(RULES, folder)
    run(DAEMON, "--daemon")
    try:
        yield
    finally:
        udevadm("control", "--exit")


@case(alone=True)
def udev_rule_sets_the_scheduler():
    "a zoned disk gets mq-deadline where the kernel needs it; 6.12 and disks without zones are left as they are"
    wanted = "mq-deadline" if os.uname().release.startswith("6.1.") else "none"
    with null_blk("lab0", size=32, zone_size=1) as disk, udev():
        scheduler = pathlib.Path("/sys/block", disk.name, "queue", "scheduler")
        scheduler.write_text("none")
        udevadm("trigger", "--settle", "--subsystem-match=block")
        assert f"[{wanted}]" in scheduler.read_text(), f"a zoned disk: {scheduler.read_text()}"
        with null_blk("lab1", size=32, zoned=0) as regular:
            scheduler = pathlib.Path("/sys/block", regular.name, "queue", "scheduler")
            scheduler.write_text("none")
            udevadm("trigger", "--settle", "--subsystem-match=block")
            assert "[none]" in scheduler.read_text(), f"a disk without zones: {scheduler.read_text()}"
