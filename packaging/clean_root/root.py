"""A clean root of a Debian release that lives as long as the commands that run in it: made by mmdebstrap, as root or in a user namespace."""
import pathlib
import shlex
import shutil
import subprocess
import tempfile

from tooling.places import ToolError

SCRIPT = "/run-here"


class Root:
    """What mmdebstrap is told; nothing happens before run()."""

    def __init__(self, suite, packages=()):
        self.suite, self.packages, self.hooks, self.outputs = suite, list(packages), [], []

    def copy_in(self, source, folder):
        """A file into a folder of the root."""
        self.hooks += [f'mkdir -p "$1"{folder}', f"copy-in {shlex.quote(str(source))} {folder}"]

    def unpack_in(self, archive, folder):
        """The contents of a tar file into a folder of the root."""
        self.hooks += [f'mkdir -p "$1"{folder}', f"tar-in {shlex.quote(str(archive))} {folder}"]

    def copy_out(self, folder, target):
        """The files of a folder of the root, after all commands."""
        self.outputs.append(f"tar-out {folder} {shlex.quote(str(target))}")

    def run(self, script, log):
        """Runs a shell script in the root. What it prints goes to `log`. Raises ToolError with the last line of an error."""
        if not shutil.which("mmdebstrap"):
            raise ToolError("there is no mmdebstrap; install the package mmdebstrap")
        with tempfile.TemporaryDirectory(prefix="zenfs-root-") as work:
            file = pathlib.Path(work) / SCRIPT.lstrip("/")
            file.write_text(f"set -eu\n{script}\n")
            # ZenFS keeps what was flushed in a tmpfs.
            hooks = [*self.hooks, f"copy-in {file} /", 'mkdir -p "$1/dev/shm"', 'mountpoint -q "$1/dev/shm" || mount -t tmpfs none "$1/dev/shm"',
                     f'chroot "$1" /bin/sh {SCRIPT}', 'umount "$1/dev/shm" || true', *self.outputs]
            command = ["mmdebstrap", "--variant=apt", "--skip=cleanup/reproducible", "--components=main", f"--include={','.join(['ca-certificates', *self.packages])}",
                       *(f"--customize-hook={hook}" for hook in hooks), self.suite, "/dev/null"]
            with log.open("w") as said:
                done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            raise ToolError(f"{self.suite}: {reason_in(log.read_text(errors='replace').splitlines())}; see {log}")


def reason_in(lines):
    """The first error that a program in the root named so, or the last that it printed."""
    said = [line.strip() for line in lines if line.strip() and not line.startswith(("I: ", "E: setup failed", "E: mmdebstrap"))]
    return next((line for line in said if line.startswith("E: ")), said[-1] if said else "no reason given")
