"""Files in which mounts keep append buffers (docs/formats/shared-memory.md). Any user of the host can put something else beside them."""
import os
import re
import stat
import sys

HEADER = 352
IDENTITY = slice(96, HEADER)


def places():
    """The directories in which a mount may keep its buffers."""
    return sorted({"/dev/shm", os.environ.get("XDG_RUNTIME_DIR") or "/run", "/run"})


def files_of(device, directories=None):
    """The paths of the buffers of a device, a file. Skips what can't be read; says so of what is no regular file."""
    try:
        status = os.stat(device)
    except FileNotFoundError:
        return []
    identity = f"file:{status.st_dev:x}:{status.st_ino}".encode()
    return [path for directory in directories or places() for path in candidates(directory)
            if (header := header_of(path)) and re.sub(rb"\0+$", b"", header[IDENTITY]) == identity]


def candidates(directory):
    try:
        return [os.path.join(directory, name) for name in sorted(os.listdir(directory)) if name.startswith("zenfs-")]
    except OSError:
        return []


def header_of(path):
    """The first bytes of a regular file; None for anything else, which is not opened: that would wait for a pipe's writer."""
    try:
        place = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(place).st_mode):
                print(f"{path} is not a regular file: skipped", file=sys.stderr)
                return None
            with open(f"/proc/self/fd/{place}", "rb") as file:
                return file.read(HEADER)
        finally:
            os.close(place)
    except OSError:
        return None  # gone, or somebody else's
