"""What a CRC-32C costs in the guest. QEMU carries out its instructions bit by bit, some 400 times as slow as a processor does, and
ZenFS computes one of each byte that it writes and of each frame that a mount reads."""
import ctypes
import time

LENGTH = 1 << 20


def nanoseconds_per_byte():
    """Of ISA-L, as ZenFS uses it: the least of a few attempts."""
    crc32c = ctypes.CDLL("libisal.so.2").crc32_iscsi
    data = ctypes.create_string_buffer(LENGTH)

    def once():
        started = time.process_time_ns()
        crc32c(data, LENGTH, 0)
        return time.process_time_ns() - started

    return min(once() for _ in range(8)) / LENGTH
