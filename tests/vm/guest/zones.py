"""What two independent programs say of a device's zones, in one form."""
import dataclasses
import re

from guest.shell import run

SECTOR = 512
CONDITIONS = {0: "not-write-pointer", 1: "empty", 2: "implicitly-open", 3: "explicitly-open", 4: "closed",
              13: "read-only", 14: "full", 15: "offline"}
WITH_POINTER = ("empty", "implicitly-open", "explicitly-open", "closed")


@dataclasses.dataclass(frozen=True)
class Zone:
    """Bytes. `written` is what lies below the write pointer; None where a zone has no valid one."""
    start: int
    size: int
    capacity: int
    condition: str
    written: int | None


def zone(start, size, capacity, number, written):
    condition = CONDITIONS[number]
    return Zone(start, size, capacity, condition, written if condition in WITH_POINTER else None)


def by_zbd(device):
    """libzbd's report."""
    lines = run("zbd", "report", "-csv", f"/dev/{device}", shown=False).splitlines()
    fields = [[word.strip() for word in line.split(",")] for line in lines if re.match(r"\d", line)]
    return [zone(int(start), int(size), int(capacity), int(condition, 16), int(pointer) - int(start))
            for _, _, start, size, capacity, pointer, condition, _, _ in fields]


def by_blkzone(device):
    """util-linux' report, straight from the kernel."""
    pattern = re.compile(r"start: (0x\w+), len (0x\w+), cap (0x\w+), wptr (0x\w+).*zcond: *(\d+)\(")
    report = run("blkzone", "report", f"/dev/{device}", shown=False)
    found = [[int(word, 0) for word in match.groups()] for match in pattern.finditer(report)]
    return [zone(start * SECTOR, size * SECTOR, capacity * SECTOR, condition, pointer * SECTOR)
            for start, size, capacity, pointer, condition in found]


def reset_all(device):
    run("blkzone", "reset", f"/dev/{device}")
