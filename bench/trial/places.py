"""Free space on the host's file systems."""
import os
import pathlib

from tooling.places import ToolError

MIB = 1 << 20
GIB = 1 << 30


def free_bytes(directory):
    found = os.statvfs(directory)
    return found.f_bavail * found.f_frsize


def is_tmpfs(directory):
    """From /proc/mounts: the longest mount point above `directory`."""
    path = os.path.realpath(directory)
    best, kind = "", ""
    for line in pathlib.Path("/proc/mounts").read_text().splitlines():
        _, point, found, *_ = line.split(" ")
        point = point.encode().decode("unicode_escape")
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, found
    return kind in ("tmpfs", "ramfs")


def available_memory():
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def check_room(directory, needed, what):
    """Refuses a benchmark that would run out of space, or take the last memory of the host."""
    free = free_bytes(directory)
    if is_tmpfs(directory):
        free = min(free, available_memory())
    if free < needed:
        raise ToolError(f"{what}: {directory} has room for {free / GIB:.1f} GiB and {needed / GIB:.1f} GiB may be needed; "
                         "take a smaller --num or another --place")
