"""A system call that the kernel refuses to a program, as containers and hardened hosts do: a seccomp filter.

    attempt(..., before=refusal.of_ioctl(BLKREPORTZONE))
"""
import ctypes
import errno
import struct

SECCOMP_DATA_NUMBER, SECCOMP_DATA_ARGUMENT_1 = 0, 24  # offsets in struct seccomp_data: nr, args[1]
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06           # BPF_LD|BPF_W|BPF_ABS, BPF_JMP|BPF_JEQ|BPF_K, BPF_RET|BPF_K
ALLOW, REFUSE = 0x7FFF0000, 0x00050000                # SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2

IOCTL, IO_URING_SETUP = 16, 425  # x86-64
BLKREPORTZONE = 0xC0101282       # linux/blkzoned.h: _IOWR(0x12, 130, struct blk_zone_report)


def install(instructions):
    program = b"".join(struct.pack("<HBBI", *instruction) for instruction in instructions)
    memory = ctypes.create_string_buffer(program)
    header = struct.pack("<HxxxxxxQ", len(instructions), ctypes.addressof(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    for call in ((PR_SET_NO_NEW_PRIVS, 1, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header)):
        if libc.prctl(call[0], call[1], call[2], 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


def of_call(number, error=errno.EPERM):
    """To be run in the child before the program: the system call of that number fails."""
    return lambda: install([(LOAD, 0, 0, SECCOMP_DATA_NUMBER), (JUMP_EQUAL, 0, 1, number),
                            (RETURN, 0, 0, REFUSE | error), (RETURN, 0, 0, ALLOW)])


def of_ioctl(request, error=errno.EPERM):
    return lambda: install([(LOAD, 0, 0, SECCOMP_DATA_NUMBER), (JUMP_EQUAL, 0, 3, IOCTL),
                            (LOAD, 0, 0, SECCOMP_DATA_ARGUMENT_1), (JUMP_EQUAL, 0, 1, request),
                            (RETURN, 0, 0, REFUSE | error), (RETURN, 0, 0, ALLOW)])
