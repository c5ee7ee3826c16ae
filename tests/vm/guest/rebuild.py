"""Run as a program: gives an empty drive the zones that another had, as much of each as a plan says.

    rebuild.py SOURCE TARGET PLAN    block devices (nvme1n1 nvme0n1); a line of the plan: ZONE BYTES, then what is
                                     done to the zone behind them: close, finish, nothing
"""
import fcntl
import mmap
import os
import pathlib
import struct
import sys

COMMANDS = {"close": 0x40101287, "finish": 0x40101288}  # BLKCLOSEZONE, BLKFINISHZONE of linux/blkzoned.h
SECTOR = 512
CHUNK = 256 << 10  # one command of the drive


def rebuild(source, target, plan, zone_size):
    buffer = mmap.mmap(-1, CHUNK)  # aligned, as direct I/O wants it
    for zone, length, end in plan:
        start = zone * zone_size
        for offset in range(start, start + length, CHUNK):
            piece = memoryview(buffer)[:min(CHUNK, start + length - offset)]
            assert os.preadv(source, [piece], offset) == len(piece)
            assert os.pwrite(target, piece, offset) == len(piece)
        if end in COMMANDS:
            fcntl.ioctl(target, COMMANDS[end], struct.pack("QQ", start // SECTOR, zone_size // SECTOR))
    os.fsync(target)


def main(source, target, plan):
    lines = [line.split() for line in pathlib.Path(plan).read_text().splitlines()]
    sectors = int(pathlib.Path("/sys/block", target, "queue", "chunk_sectors").read_text())
    rebuild(os.open(f"/dev/{source}", os.O_RDONLY | os.O_DIRECT), os.open(f"/dev/{target}", os.O_RDWR | os.O_DIRECT),
            [(int(zone), int(length), end) for zone, length, end in lines], sectors * SECTOR)


if __name__ == "__main__":
    main(*sys.argv[1:])
