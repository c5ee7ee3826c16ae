"""What a program is run on: files of the host, or a ZenFS that is made for it and looked at afterwards."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from tooling.places import BUILD_ROOT, ToolError


# Far more space than any of the tests uses at a time; the file is sparse. The limits are those of a common drive.
DEVICE = ("--zones=4096", "--zone-size=16M", "--zone-capacity=16M", "--max-open=14", "--max-active=14")
COMMITS_OF_A_MOUNT = 8  # at most, of one that nothing was written to


def clean_environment(directory):
    """Without anything that selects a file system; TEST_TMPDIR is where tests put files of the host."""
    hidden = ("TEST_ENV_URI", "TEST_FS_URI", "LD_PRELOAD", "ZENFS_DEFAULT_FS_URI", "ENCRYPTED_ENV", "MEM_ENV",
              "GTEST_FILTER", "GTEST_OUTPUT")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    return environment | {"TEST_TMPDIR": str(directory)}


class Posix:
    """Files of the host, in a directory that is removed afterwards: below `tests`, or on tmpfs if that is None."""

    name = "posix"

    def __init__(self, work, tests, program):
        self.work, self.tests, self.program = work, tests, program

    def parent(self):
        tmpfs = pathlib.Path("/dev/shm")
        return self.tests or (tmpfs if tmpfs.is_dir() else self.work)

    def __enter__(self):
        parent = self.parent()
        parent.mkdir(parents=True, exist_ok=True)
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix=f"zenfs-suites-{self.program.name}-", dir=parent))
        (self.directory / "host").mkdir()
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.directory, ignore_errors=True)

    def environment(self):
        return clean_environment(self.directory / "host")

    def verdict(self):
        """What is wrong with the files as a whole after the run; empty if nothing is."""
        return ""


class Zenfs(Posix):
    """A fresh emulated device below `work`. What a flush leaves in shared memory is in a directory of its own, removed too."""

    name = "zenfs"

    def parent(self):
        return self.work

    def __enter__(self):
        super().__enter__()
        self.device = self.directory / "device.img"
        self.shared = tempfile.mkdtemp(prefix="zenfs-suites-", dir="/dev/shm")
        self.command("emu", "create", self.device, *DEVICE)
        self.command("mkfs", f"--emu={self.device}")
        return self

    def __exit__(self, *exception):
        shutil.rmtree(self.shared, ignore_errors=True)
        super().__exit__(*exception)

    @staticmethod
    def command(*arguments, check=True):
        done = subprocess.run([BUILD_ROOT / "release" / "zenfs", *arguments], capture_output=True, text=True, check=False)
        if check and done.returncode != 0:
            raise ToolError(f"zenfs {arguments[0]}: {done.stderr.strip() or done.stdout.strip()}")
        return done

    def environment(self):
        uri = f"zenfs://emu:{self.device}?flush_dir:{self.shared}"
        libraries = [str(BUILD_ROOT / "release" / "libzenfs.so")]
        selection = {}
        if self.program.way in ("uri", "both"):
            selection["TEST_FS_URI"] = uri
        if self.program.way in ("default", "both"):
            selection["ZENFS_DEFAULT_FS_URI"] = uri
            libraries.insert(0, str(BUILD_ROOT / "release" / "libzenfs_default_env.so"))
        return super().environment() | selection | {"LD_PRELOAD": " ".join(libraries)}

    def verdict(self):
        info = self.command("fs-info", "--json", f"--emu={self.device}", check=False)
        if info.returncode != 0:
            return f"zenfs fs-info: {info.stderr.strip()}"
        if json.loads(info.stdout)["last_commit"] <= COMMITS_OF_A_MOUNT:
            return "the device was not written: the program used another file system"
        check = self.command("check", f"--emu={self.device}", check=False)
        return "" if check.returncode == 0 else f"zenfs check: {(check.stdout + check.stderr).strip()}"
