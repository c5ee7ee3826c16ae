"""A network of its own for servers that have to talk to each other: nobody outside reaches it, and no port of the host is
taken. MariaDB's replicas connect by TCP only."""
import os
import subprocess
import sys

from tooling.places import ToolError

# Runs in the new network: switches its loopback interface on, then lives until its input ends.
HOLDER = """
import fcntl, socket, struct, sys
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", IFF_UP))
print("ready", flush=True)
sys.stdin.read()
"""


class PrivateNetwork:
    """A context manager. `enter`: the words before a command that is to run in this network."""

    def __init__(self):
        self.holder = None
        self.enter = []

    def __enter__(self):
        as_user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        # In a session of its own, so that an interrupt from a terminal does not end it before the servers.
        self.holder = subprocess.Popen(["unshare", *as_user, "--net", sys.executable, "-c", HOLDER], text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       process_group=0)
        if self.holder.stdout.readline() != "ready\n":
            reason = self.holder.stderr.read().strip().splitlines()[-1:] or ["no reason given"]
            self.holder.wait()
            raise ToolError(f"there is no private network for the servers: {reason[0]}")
        self.enter = ["nsenter", f"--target={self.holder.pid}", *(["--user", "--preserve-credentials"] if as_user else []),
                      "--net"]
        return self

    def __exit__(self, *_):
        self.holder.stdin.close()
        self.holder.wait()
        self.holder.stdout.close()
        self.holder.stderr.close()
