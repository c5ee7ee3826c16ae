"""A zoned namespace on another machine: the kernel's NVMe/TCP target and initiator, both in the guest."""
import contextlib
import pathlib
import re
import time

from guest import volume
from guest.devices import fresh
from guest.shell import modprobe, run
from lab import drives
from lab.case import case

TARGET = pathlib.Path("/sys/kernel/config/nvmet")
NAME = "nqn.2014-08.org.zenfs:lab"


@contextlib.contextmanager
def exported(device):
    """Exports the device on 127.0.0.1 and imports it; the name of the imported one."""
    modprobe("-a", "nvmet", "nvmet_tcp", "nvme_tcp")
    subsystem, port = TARGET / "subsystems" / NAME, TARGET / "ports" / "1"
    namespace = subsystem / "namespaces" / "1"
    for folder in (subsystem, namespace, port):
        folder.mkdir()
    (subsystem / "attr_allow_any_host").write_text("1")
    (namespace / "device_path").write_text(f"/dev/{device}")
    (namespace / "enable").write_text("1")
    for attribute, value in (("trtype", "tcp"), ("adrfam", "ipv4"), ("traddr", "127.0.0.1"), ("trsvcid", "4420")):
        (port / f"addr_{attribute}").write_text(value)
    link = port / "subsystems" / NAME
    link.symlink_to(subsystem)
    run("nvme", "connect", "-t", "tcp", "-a", "127.0.0.1", "-s", "4420", "-n", NAME)
    try:
        yield imported()
    finally:
        run("nvme", "disconnect", "-n", NAME)
        link.unlink()
        for folder in (port, namespace, subsystem):
            folder.rmdir()


def imported():
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for found in pathlib.Path("/sys/class/nvme-subsystem").iterdir():
            if (found / "subsysnqn").read_text().strip() == NAME:
                for disk in found.glob("nvme*n*"):
                    if pathlib.Path("/dev", disk.name).is_block_device() and "c" not in disk.name:
                        return disk.name
        time.sleep(0.05)
    raise AssertionError("the imported namespace does not come up")


@case(needs=("zenfs", "libzenfs.so"), seconds=180)
def nvme_over_tcp_carries_a_volume():
    "a volume on an NVMe/TCP namespace: made, filled, read, checked, and the same when read from the drive itself"
    local = fresh(drives.MAIN.serial)
    with exported(local) as name:
        remote = volume.block(name)
        remote.zenfs("mkfs")
        listed = run(volume.BINARIES / "zenfs", "devices")  # not the hidden nvme4c4n1 beside nvme4n1
        limits = remote.json("fs-info", "--json")  # on 6.1 only the path below the multipath head has them
        assert (limits["max_open"], limits["max_active"]) == (drives.MAIN.max_open, drives.MAIN.max_active), limits
        assert name in listed and not re.search(r"nvme\d+c\d", listed), listed
        database = volume.database_of(remote.db_bench("fillrandom", "--num=8000", "--seed=3"))
        assert "(4000 of 4000 found)" in remote.db_bench("readrandom", "--use_existing_db", "--num=8000", "--reads=4000",
                                                         "--seed=3")
        remote.zenfs("check", "--read-data")
        content = remote.scan(database)
    volume.block(local).zenfs("check", "--read-data")
    assert content == volume.block(local).scan(database)
