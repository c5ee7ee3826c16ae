"""The plugin and the program, compiled for one RocksDB."""
import dataclasses
import pathlib
import shutil

from rocksdb_sdk import sdk
from rocksdb_sdk.releases import RELEASES
from rocksdb_sdk.run import TREE, build_root

INSTALLED = "7.8.3"
TARGETS = ("zenfs_plugin", "zenfs_rocksdb_smoke")


@dataclasses.dataclass
class Built:
    """What came out, and what the library was found to be like."""
    version: str
    plugin: pathlib.Path
    program: pathlib.Path
    library: str
    rtti: bool
    cxx11_abi: bool


def configure_and_build(steps, directory, *flags):
    # The layers below the adapter are the same for all RocksDBs of one ABI: ccache need not see where they are built.
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    if not (directory / "build.ninja").exists():
        steps.run("cmake", "cmake", "--preset", "release", "-S", TREE, "-B", directory, *launcher, *flags)
    steps.run("the build", "ninja", "-C", directory, *TARGETS, CCACHE_NOHASHDIR="true")


def build(version, steps):
    """Errors: StepFailed; Failed of rocksdb_sdk."""
    host = sdk.make(RELEASES[version])
    library = next((host / "lib").glob("*.so"))
    if version == INSTALLED:
        directory = build_root() / "release"
        configure_and_build(steps, directory)
    else:
        directory = build_root() / f"rocksdb-{version}"
        configure_and_build(steps, directory, f"-DZENFS_ROCKSDB={host}")
    symbols = library.read_bytes()
    return Built(version=RELEASES[version].version, plugin=directory / "libzenfs.so",
                 program=directory / "zenfs_rocksdb_smoke", library=library.name,
                 rtti=b"\0_ZTIN7rocksdb10FileSystemE\0" in symbols,
                 cxx11_abi=b"\0_ZN7rocksdb23GetRocksVersionAsStringB5cxx11Eb\0" in symbols)
