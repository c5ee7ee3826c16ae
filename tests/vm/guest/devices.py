"""The devices of a guest: QEMU's NVMe drives by serial number, null_blk disks made at will."""
import contextlib
import os
import pathlib

from guest.shell import modprobe
from guest import zones

NULL_BLK = pathlib.Path("/sys/kernel/config/nullb")


def nvme(serial):
    """The block device of one of lab/drives.py. The order in which the kernel numbers them is not fixed."""
    return os.environ[f"LAB_{serial.upper()}"]


def pci_slot(name):
    """The folder in /sys of the PCI device behind an NVMe namespace; its file `remove` unplugs it."""
    controller = pathlib.Path("/sys/block", name, "device")
    return (controller / "device").resolve()


def character_node(name):
    """The character device of an NVMe namespace, by which programs send it commands: ng0n1 for nvme0n1."""
    return name.replace("nvme", "ng", 1)


def fresh(serial):
    """The same, with all zones empty."""
    name = nvme(serial)
    zones.reset_all(name)
    return name


class NullBlk:
    """A null_blk disk; `name` is that of its device."""

    def __init__(self, name):
        self.name = name
        self.settings = NULL_BLK / name

    def set(self, attribute, value):
        print(f"{self.name}: {attribute}={value}", flush=True)
        (self.settings / attribute).write_text(f"{value}\n")


@contextlib.contextmanager
def null_blk(name, **attributes):
    """A zoned disk in memory. Sizes (size, zone_size, zone_capacity) in MiB, as the kernel takes them."""
    modprobe("null_blk", "nr_devices=0")
    disk = NullBlk(name)
    disk.settings.mkdir()
    try:
        for attribute, value in ({"zoned": 1, "memory_backed": 1, "blocksize": 4096} | attributes).items():
            disk.set(attribute, value)
        disk.set("power", 1)
        yield disk
    finally:
        disk.set("power", 0)
        disk.settings.rmdir()
