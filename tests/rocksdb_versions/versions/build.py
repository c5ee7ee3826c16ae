"""The plugin and the program, compiled for one RocksDB."""
import dataclasses
import pathlib

from rocksdb_sdk import sdk
from rocksdb_sdk.releases import RELEASES
from tooling.places import BUILD_ROOT, ROOT, compiler_cache

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
    if not (directory / "build.ninja").exists():
        steps.run("cmake", "cmake", "--preset", "release", "-S", ROOT, "-B", directory, *compiler_cache(), *flags)
    steps.run("the build", "ninja", "-C", directory, *TARGETS, CCACHE_NOHASHDIR="true")


def build(version, steps):
    """Errors: StepFailed; ToolError of rocksdb_sdk."""
    host = sdk.make(RELEASES[version])
    library = next((host / "lib").glob("*.so"))
    if version == INSTALLED:
        directory = BUILD_ROOT / "release"
        configure_and_build(steps, directory)
    else:
        directory = BUILD_ROOT / f"rocksdb-{version}"
        configure_and_build(steps, directory, f"-DZENFS_ROCKSDB={host}")
    symbols = library.read_bytes()
    return Built(version=RELEASES[version].version, plugin=directory / "libzenfs.so",
                 program=directory / "zenfs_rocksdb_smoke", library=library.name,
                 rtti=b"\0_ZTIN7rocksdb10FileSystemE\0" in symbols,
                 cxx11_abi=b"\0_ZN7rocksdb23GetRocksVersionAsStringB5cxx11Eb\0" in symbols)
