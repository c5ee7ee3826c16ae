"""Drives that a guest sees: an image file in the directory of the run, and the arguments that QEMU takes for it.

A drive's image is made when a guest starts and it is not there yet, so several guests that follow one another in one
directory have the same bytes. Zone states are another matter: QEMU 7.2 keeps them in memory. They survive a reset of
the guest, and are all EMPTY again when QEMU starts anew.
"""
import dataclasses

MiB = 1 << 20


@dataclasses.dataclass(frozen=True)
class ZnsDrive:
    """An NVMe drive with one zoned namespace. Sizes in bytes, limits of 0 mean none."""
    serial: str  # a job finds the drive by it
    zones: int
    zone_size: int
    zone_capacity: int
    max_open: int = 0
    max_active: int = 0
    block: int = 4096
    random_zones: int = 0  # so many may have a random write area
    copy_ranges: str = ""  # the arguments for copies inside the drive; empty: QEMU's, at most 128 blocks of one range

    def create(self, path):
        with open(path, "xb") as image:
            image.truncate(self.zones * self.zone_size)

    def arguments(self, path):
        return [*file_of(self, path), "-device", f"nvme,serial={self.serial},id={self.serial},zoned.zasl=5",
                "-device", f"nvme-ns,drive=file-{self.serial},bus={self.serial},nsid=1,"
                f"logical_block_size={self.block},physical_block_size={self.block},zoned=true,"
                f"zoned.zone_size={self.zone_size},zoned.zone_capacity={self.zone_capacity},"
                f"zoned.max_open={self.max_open},zoned.max_active={self.max_active}{self.random_areas()}{self.copy_ranges}"]

    def random_areas(self):
        return f",zoned.numzrwa={self.random_zones},zoned.zrwas=64K,zoned.zrwafg=16K" if self.random_zones else ""


@dataclasses.dataclass(frozen=True)
class RegularDrive:
    """An NVMe drive without zones, as most are."""
    serial: str
    size: int
    block: int = 512

    def create(self, path):
        with open(path, "xb") as image:
            image.truncate(self.size)

    def arguments(self, path):
        return [*file_of(self, path), "-device", f"nvme,serial={self.serial},drive=file-{self.serial},"
                f"logical_block_size={self.block},physical_block_size={self.block}"]


def file_of(drive, path):
    # Commas are doubled as QEMU wants it. unsafe: the image dies with the run, so nothing has to reach a disk.
    name = str(path).replace(",", ",,")
    return ["-drive", f"file={name},id=file-{drive.serial},format=raw,if=none,cache=unsafe,discard=unmap"]


# What every guest of the selection has. `main` is for databases; the small ones have zones of 1 MiB, for suites that
# reset and fill many; `limited` has limits that a test reaches quickly. `main` and `random` have random write areas,
# which only commands of the drive can use. `plain` copies at most 36 blocks, of ranges of at most 8.
MAIN = ZnsDrive("main", zones=64, zone_size=16 * MiB, zone_capacity=12 * MiB, max_open=14, max_active=14,
                random_zones=2)
PLAIN = ZnsDrive("plain", zones=24, zone_size=MiB, zone_capacity=768 << 10, copy_ranges=",mssrl=8,mcl=36")
LIMITED = ZnsDrive("limited", zones=24, zone_size=MiB, zone_capacity=768 << 10, max_open=3, max_active=4)
RANDOM = ZnsDrive("random", zones=24, zone_size=MiB, zone_capacity=768 << 10, random_zones=2)
REGULAR = RegularDrive("regular", 64 * MiB)
STANDARD = (MAIN, PLAIN, LIMITED, RANDOM, REGULAR)
