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
    "a disk that appears, and one that is there, gets mq-deadline where the kernel needs it; 6.12 is left as it is"
    wanted = "mq-deadline" if os.uname().release.startswith("6.1.") else "none"
    with null_blk("lab0", size=32, zone_size=1) as disk, udev():
        scheduler = pathlib.Path("/sys/block", disk.name, "queue", "scheduler")
        scheduler.write_text("none")
        udevadm("trigger", "--settle", "--subsystem-match=block")
        assert f"[{wanted}]" in scheduler.read_text(), f"there already: {scheduler.read_text()}"
        disk.set("power", 0)
        disk.set("no_sched", 1)  # the kernel gives it none by default
        disk.set("power", 1)
        udevadm("settle")
        assert f"[{wanted}]" in scheduler.read_text(), f"new: {scheduler.read_text()}"
        with null_blk("lab1", size=32, zoned=0, no_sched=1) as regular:
            udevadm("settle")
            text = pathlib.Path("/sys/block", regular.name, "queue", "scheduler").read_text()
            assert "[none]" in text, f"a disk without zones: {text}"
