"""The superblock of zonefs, which Debian has no mkzonefs for: 4096 bytes at the start of the device.

Layout and checks as in Linux' fs/zonefs/zonefs.h (struct zonefs_super), little endian:
magic, crc, label[64], uuid[16], features, uid, gid, perm, zeroes.
"""
import struct
import zlib

MAGIC = 0x5A4F4653
LAYOUT = "<II64s16sQIII3988s"
AGGREGATE_CONVENTIONAL, HAS_UID, HAS_GID, HAS_PERM = 1, 2, 4, 8


def pack(*, label="", uuid=bytes(16), aggregate_conventional=False, uid=None, gid=None, perm=None):
    """The 4096 bytes. uid, gid and perm (an octal mode such as 0o660) are those of the zone files; None: root, 0640."""
    features = ((AGGREGATE_CONVENTIONAL if aggregate_conventional else 0) | (HAS_UID if uid is not None else 0) |
                (HAS_GID if gid is not None else 0) | (HAS_PERM if perm is not None else 0))

    def block(crc):
        return struct.pack(LAYOUT, MAGIC, crc, label.encode(), uuid, features, uid or 0, gid or 0, perm or 0, b"")

    return block(zlib.crc32(block(0)) ^ 0xFFFFFFFF)  # the kernel's crc32 lacks the last inversion of zlib's
