"""The suite that every backend must pass (tests/conformance), over devices of the kernel's."""
import contextlib
import os
import re

from guest import volume, zonefs
from guest.devices import character_node, fresh, null_blk
from guest.shell import attempt
from lab.case import case

PROGRAM = "zenfs_conformance_test"
BLOCK = ("BlockByLibzbd", "BlockByIoctl", "BlockWithoutRing")
WITH_COMMANDS = ("BlockWithCommands", "BlockWithCommandsWithoutRing")
NVME = ("NvmeCommands", "NvmeCommandsWithoutRing")
ZONEFS = ("Zonefs", "ZonefsWithoutRing")


# null_blk refuses to open a closed zone, for a write or a finish, while the most zones are open and the most are active,
# although none more would be active (null_check_open in drivers/block/null_blk/zoned.c asks null_check_active).
NOT_FOR_NULL_BLK = ("Backend/Limits.WritingOneZoneMoreClosesAnotherImplicitly/*",
                    "Backend/Limits.ActiveLimitIsBusyUntilAZoneIsFinishedOrReset/*")


def conform(backends, without=(), **devices):
    """Runs the suite of each backend over the devices PLAIN=..., LIMITED=..., CONVENTIONAL=..., but not the tests that
    match one of `without`."""
    if os.uname().release.startswith("6.1."):  # where synchronous writes to zonefs are broken
        backends = [name for name in backends if name != "ZonefsWithoutRing"]
    patterns = ":".join(f"*/{name}" for name in backends) + "-" + ":".join(without)
    done = attempt(volume.BINARIES / PROGRAM, f"--gtest_filter={patterns}", "--gtest_brief=1",
                   environment={f"ZENFS_LAB_{kind}": device for kind, device in devices.items()})
    failed = re.findall(r"^\[  FAILED  \] (\S+)", done.out, re.M)
    assert done.status == 0, f"{len(set(failed))} tests failed, e.g. {failed[0] if failed else done.err.strip()}"
    passed = int(re.search(r"^\[  PASSED  \] (\d+) tests?", done.out, re.M).group(1))
    assert passed >= 20 * len(backends), f"only {passed} tests ran"


@contextlib.contextmanager
def three_disks():
    """The three that the suite wants, as null_blk."""
    shape = {"size": 48, "zone_size": 2, "zone_capacity": 1}
    with null_blk("plain", **shape) as plain, null_blk("mixed", **shape, zone_nr_conv=2) as mixed, \
            null_blk("limited", **shape, zone_max_open=3, zone_max_active=4) as limited:
        yield plain.name, limited.name, mixed.name


@case(needs=(PROGRAM,), seconds=180)
def nvme_conforms():
    "the conformance suite over NVMe ZNS drives, by libzbd, by ioctl, and without io_uring"
    conform(BLOCK, PLAIN=f"dev:{fresh('plain')}", LIMITED=f"dev:{fresh('limited')}")


@case(needs=(PROGRAM,), seconds=180)
def nvme_with_commands_conforms():
    "the same with appends, copies and random write areas by NVMe commands"
    conform(WITH_COMMANDS, **{kind: f"dev:{fresh(kind.lower())}" for kind in ("PLAIN", "LIMITED", "RANDOM")})


@case(needs=(PROGRAM,), seconds=180)
def nvme_commands_conform():
    "the same by NVMe commands, with io_uring and without"
    conform(NVME, **{kind: f"nvme:{character_node(fresh(kind.lower()))}" for kind in ("PLAIN", "LIMITED", "RANDOM")})


@case(needs=(PROGRAM,), seconds=180)
def null_blk_conforms():
    "the same over null_blk, also with conventional zones"
    with three_disks() as (plain, limited, mixed):
        conform(BLOCK, NOT_FOR_NULL_BLK, PLAIN=f"dev:{plain}", LIMITED=f"dev:{limited}", CONVENTIONAL=f"dev:{mixed}")


@case(needs=(PROGRAM,), seconds=180)
def zonefs_on_nvme_conforms():
    "the same over zonefs on NVMe"
    with zonefs.mounted(fresh("plain")) as plain, zonefs.mounted(fresh("limited")) as limited:
        conform(ZONEFS, PLAIN=f"zonefs:{plain}", LIMITED=f"zonefs:{limited}")


@case(needs=(PROGRAM,), seconds=180)
def zonefs_on_null_blk_conforms():
    "the same over zonefs on null_blk, also with conventional zones"
    with three_disks() as (plain, limited, mixed), zonefs.mounted(plain) as plain_place, \
            zonefs.mounted(limited) as limited_place, zonefs.mounted(mixed) as mixed_place:
        conform(ZONEFS, PLAIN=f"zonefs:{plain_place}", LIMITED=f"zonefs:{limited_place}",
                CONVENTIONAL=f"zonefs:{mixed_place}")
