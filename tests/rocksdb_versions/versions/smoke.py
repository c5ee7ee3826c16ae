"""A database of one RocksDB on an emulated device: written, killed, read, checked."""
import pathlib
import tempfile

from .steps import StepFailed

DIRECT = "use_direct_reads=true;use_direct_io_for_flush_and_compaction=true;fast_sst_open=true"


class Device:
    """A new file system on an emulated device in `directory`."""

    def __init__(self, steps, zenfs, directory, name):
        self.steps = steps
        self.zenfs = zenfs
        self.path = pathlib.Path(directory) / name
        self.uri = f"zenfs://emu:{self.path}"
        steps.run("zenfs", zenfs, "emu", "create", self.path, "--zones=64", "--zone-size=16M", "--zone-capacity=12M",
                  "--max-open=14", "--max-active=14")
        steps.run("zenfs", zenfs, "mkfs", f"--emu={self.path}")

    def expect_tables(self, database):
        """The tables are here and not in a file system of the host."""
        listed = self.steps.run("zenfs list", self.zenfs, "list", f"--emu={self.path}", f"--path={database}")
        if ".sst" not in listed or pathlib.Path("/", database).exists():
            raise StepFailed(f"the tables of {database} are not on the device")

    def expect_sound(self):
        self.steps.run("zenfs check", self.zenfs, "check", "--read-data", f"--emu={self.path}")


def may_meet(built, other):
    """Whether the plugin of `other` can come into a process of `built`: its needed library has the same name there."""
    return (built.library, built.cxx11_abi) == (other.library, other.cxx11_abi) and built.version != other.version


def expect_declined(steps, built, other):
    """In a program that runs another RocksDB a plugin says so in one line, and `zenfs://` stays unknown."""
    told = steps.run("the program with another plugin", built.program, "work", "zenfs://emu:/nowhere", "",
                     preload=other.plugin, status=1, errors_too=True).splitlines()
    expected = f"zenfs: built for RocksDB {other.version}, but this process runs RocksDB {built.version}; "
    if len(told) != 2 or not told[0].startswith(expected) or not told[1].startswith("smoke: "):
        raise StepFailed(f"with the plugin for {other.version} preloaded it said {told}")


def smoke(steps, built, zenfs):
    """Errors: StepFailed."""
    def program(*arguments, **keywords):
        return steps.run("the program", built.program, *arguments, preload=built.plugin, **keywords)

    with tempfile.TemporaryDirectory(prefix="zenfs-versions-") as directory:
        buffered = Device(steps, zenfs, directory, "buffered.img")
        program("work", buffered.uri, "")
        buffered.expect_tables("smoke")
        count = program("kill", buffered.uri, status=-9).strip()
        program("found", buffered.uri, count)
        buffered.expect_sound()
        direct = Device(steps, zenfs, directory, "direct.img")
        program("work", direct.uri, DIRECT)
        direct.expect_tables("copy")
        direct.expect_sound()
