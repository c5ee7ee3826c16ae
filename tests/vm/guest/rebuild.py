"""Run as a program: gives an empty drive the zones that another had, as much of each as a plan says.

    rebuild.py SOURCE TARGET PLAN BYTES    block devices (nvme1n1 nvme0n1). A line of the plan is
                                             ZONE BYTES END             END: what is done to the zone behind the bytes
                                                                        (close, finish, nothing), or area: it gets one
                                             block OFFSET AT TORN BEHIND  a block of an area: TORN bytes of the file BYTES
                                                                        from AT on, the rest of the block at BEHIND there
"""
import ctypes
import fcntl
import mmap
import os
import pathlib
import struct
import sys

COMMANDS = {"close": 0x40101287, "finish": 0x40101288}  # BLKCLOSEZONE, BLKFINISHZONE of linux/blkzoned.h
SECTOR = 512
BLOCK = 4096
NVME_IOCTL_IO_CMD = 0xC0484E43  # linux/nvme_ioctl.h
CHUNK = 256 << 10  # one command of the drive


def command(target, opcode, block, dword12=0, dword13=0, address=0, length=0):
    """An NVMe command to the block device's namespace (struct nvme_passthru_cmd)."""
    namespace = fcntl.ioctl(target, 0x4E40)  # NVME_IOCTL_ID
    fields = struct.pack("BBHI8xQQIIIIIIIIII", opcode, 0, 0, namespace, 0, address, 0, length,
                         block & 0xffffffff, block >> 32, dword12, dword13, 0, 0, 0, 0)
    status = fcntl.ioctl(target, NVME_IOCTL_IO_CMD, bytearray(fields))
    assert status == 0, f"command {opcode:#x} at block {block}: status {status:#x}"


def open_with_area(target, start):
    command(target, 0x79, start // BLOCK, dword13=3 | 1 << 9)


def write_block(target, offset, content):
    buffer = mmap.mmap(-1, BLOCK)
    buffer[:] = content
    command(target, 0x01, offset // BLOCK, address=ctypes.addressof(ctypes.c_char.from_buffer(buffer)), length=BLOCK)


def rebuild(source, target, plan, zone_size):
    buffer = mmap.mmap(-1, CHUNK)  # aligned, as direct I/O wants it
    # Zones that become full first: while they are written they need a slot of an active zone, and the others may take all.
    for zone, length, end in sorted(plan, key=lambda line: line[2] in ("close", "area")):
        start = zone * zone_size
        for offset in range(start, start + length, CHUNK):
            piece = memoryview(buffer)[:min(CHUNK, start + length - offset)]
            assert os.preadv(source, [piece], offset) == len(piece)
            assert os.pwrite(target, piece, offset) == len(piece)
        if end == "area":
            open_with_area(target, start)
        if end in COMMANDS:
            fcntl.ioctl(target, COMMANDS[end], struct.pack("QQ", start // SECTOR, zone_size // SECTOR))
    os.fsync(target)


def main(source, target, plan, content):
    lines = [line.split() for line in pathlib.Path(plan).read_text().splitlines()]
    sectors = int(pathlib.Path("/sys/block", target, "queue", "chunk_sectors").read_text())
    drive = os.open(f"/dev/{target}", os.O_RDWR | os.O_DIRECT)
    rebuild(os.open(f"/dev/{source}", os.O_RDONLY | os.O_DIRECT), drive,
            [(int(zone), int(length), end) for zone, length, end in (line for line in lines if line[0] != "block")],
            sectors * SECTOR)
    for offset, at, torn, behind in (map(int, line[1:]) for line in lines if line[0] == "block"):
        kept = pathlib.Path(content).read_bytes()
        write_block(drive, offset, kept[at:at + torn] + kept[behind + torn:behind + BLOCK])
    os.fsync(drive)


if __name__ == "__main__":
    main(*sys.argv[1:])
