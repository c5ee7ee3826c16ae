"""Users that are not root, and kernels that refuse io_uring."""
import os
import pathlib
import shutil

from guest import refusal, volume, zonefs
from guest.devices import fresh, null_blk
from guest.shell import attempt, run
from lab import drives
from lab.case import case

PROGRAMS = ("zenfs", "libzenfs.so")
USER = 4711


def reachable_binaries():
    """A folder with the programs that any user can get to: the build may lie in a home of mode 700."""
    folder = pathlib.Path("/run/tmp/bin")
    folder.mkdir(exist_ok=True)
    for name in PROGRAMS:
        shutil.copy(volume.BINARIES / name, folder / name)
        (folder / name).chmod(0o755)
    return folder


def use(device):
    """Everything that a user does, as far as it asks for permissions."""
    device.zenfs("mkfs")
    device.db_bench("fillrandom,readrandom", "--num=3000")
    device.zenfs("list", "--recursive")
    device.zenfs("df")
    device.zenfs("check", "--read-data")


@case(needs=PROGRAMS, seconds=120)
def node_permission_is_enough():
    "a user who may read and write the node of a device makes, fills and checks a volume on it: NVMe and null_blk"
    folder = reachable_binaries()
    with null_blk("lab0", size=128, zone_size=4, zone_max_open=14, zone_max_active=14) as disk:
        for name in (fresh(drives.MAIN.serial), disk.name):
            os.chmod(f"/dev/{name}", 0o600)
            refused = volume.block(name, user=USER, folder=folder).attempt("mkfs")
            assert refused.status == 1 and len(refused.err.splitlines()) == 1 and "permission" in refused.err.lower()
            os.chmod(f"/dev/{name}", 0o666)
            use(volume.block(name, user=USER, folder=folder))
            os.chmod(f"/dev/{name}", 0o444)
            volume.block(name, user=USER, folder=folder).zenfs("list")
            os.chmod(f"/dev/{name}", 0o600)


@case(needs=PROGRAMS, seconds=120)
def zonefs_owner_is_enough():
    "the owner of a zonefs' files, by uid and gid in its superblock, needs no permission on the device"
    folder = reachable_binaries()
    device = fresh(drives.MAIN.serial)
    os.chmod(f"/dev/{device}", 0o600)
    with zonefs.mounted(device, uid=USER, gid=USER, perm=0o600) as place:
        use(volume.zonefs(place, user=USER, folder=folder))
        other = volume.zonefs(place, user=USER + 1, folder=folder).attempt("list")
        assert other.status == 1 and "permission" in other.err.lower(), other.err


@case(needs=PROGRAMS, seconds=120)
def refused_io_uring_is_done_without():
    "where the kernel refuses io_uring, plain reads and writes do the same, on block devices and (6.12) on zonefs"
    device = fresh(drives.MAIN.serial)
    refused = refusal.of_call(refusal.IO_URING_SETUP)

    def work(one):
        one.zenfs("mkfs", before=refused)
        run(*one.bench_command("fillrandom,readrandom", "--num=3000"), environment=one.preload(), before=refused)
        one.zenfs("check", "--read-data")

    work(volume.block(device))
    if not os.uname().release.startswith("6.1."):  # where synchronous writes to zonefs are broken
        with zonefs.mounted(device) as place:
            work(volume.zonefs(place))


@case(needs=("zenfs",))
def reading_needs_no_more_than_reading():
    "list, df, zones, check, ls-uuid and devices work for a user who may only read"
    folder = reachable_binaries()
    name = fresh(drives.PLAIN.serial)
    volume.block(name).zenfs("mkfs")
    os.chmod(f"/dev/{name}", 0o444)
    for verb in ("list", "df", "zones", "check", "fs-info", "dump"):
        volume.block(name, user=USER, folder=folder).zenfs(verb)
    for verb in ("ls-uuid", "devices"):
        done = attempt(folder / "zenfs", verb, user=USER)
        assert done.status == 0 and name in done.out, f"{verb} does not show {name}"
    os.chmod(f"/dev/{name}", 0o600)
