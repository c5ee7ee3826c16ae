"""scripts/rocksdb-in-tree: ZenFS as a plugin in RocksDB's tree."""
import json
import re
import shutil
import tempfile

from rocksdb_sdk import sdk
from rocksdb_sdk.releases import RELEASES
from tooling import command
from tooling.places import BUILD_ROOT, ROOT, ToolError, compiler_cache

from .smoke import Device
from .steps import StepFailed, Steps

PLUGIN = "plugin/zenfs/"
ADAPTER = PLUGIN + "src/rocksdb_plugin/"
QUICKLY = "-O0 -DNDEBUG"
WHOLE = 3 * 3600  # seconds for all of RocksDB on a slow or busy machine
# What is printed here: the make variable of the plugin's sources, without any of RocksDB's own rules.
PRINT_SOURCES = "OBJ_DIR = .\ninclude plugin/zenfs/zenfs.mk\nall: ; @echo $(zenfs_SOURCES)\n"


def lay_out(release):
    """RocksDB's source with a copy of this checkout as plugin/zenfs: make puts objects beside the sources."""
    tree = BUILD_ROOT / "rocksdb-tree" / release.version
    if not (tree / "CMakeLists.txt").exists():
        partial = tree.with_name(tree.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        shutil.copytree(sdk.make(release) / "source", partial, symlinks=True)
        partial.rename(tree)
    plugin = tree / "plugin" / "zenfs"
    for folder in ("src", "cmake"):  # times are kept, so that only what changed is compiled again
        shutil.copytree(ROOT / folder, plugin / folder, dirs_exist_ok=True)
    for file in ("CMakeLists.txt", "zenfs.mk"):
        shutil.copy2(ROOT / file, plugin / file)
    return tree


def sources_of_plugin(steps):
    """What libzenfs.so is compiled from, as CMake's own lists have it."""
    script = ["include(cmake/sources.cmake)", "include(cmake/backend_sources.cmake)",
              "include(cmake/plugin_sources.cmake)", "get_cmake_property(all VARIABLES)",
              "foreach(name ${all})", "  if(name MATCHES \"^ZENFS_SOURCES_\")", "    message(\"${name}=${${name}}\")",
              "  endif()", "endforeach()"]
    with tempfile.NamedTemporaryFile("w", suffix=".cmake") as file:
        # Included files are found beside the tree's root.
        file.write("\n".join(line.replace("include(cmake/", f"include({ROOT}/cmake/") for line in script))
        file.flush()
        told = steps.run("cmake -P", "sh", "-c", f"cmake -P {file.name} 2>&1")
    lists = dict(line.split("=", 1) for line in told.splitlines() if line.startswith("ZENFS_SOURCES_"))
    return {f"src/{source}" for name, files in lists.items() for source in files.split(";")
            if name.removeprefix("ZENFS_SOURCES_") not in ("cli", "backup", "repair", "testing")}


def expect_same(what, found, expected):
    if found != expected:
        raise StepFailed(f"{what}: too many {sorted(found - expected)}, missing {sorted(expected - found)}")


def configure(steps, tree):
    """By RocksDB's CMake. The build directory; the objects of our files in it, by source."""
    directory = tree.with_name(tree.name + "-cmake")
    steps.run("cmake", "cmake", "-G", "Ninja", "-S", tree, "-B", directory, "-DROCKSDB_PLUGINS=zenfs",
              "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_FLAGS_RELEASE={QUICKLY}", "-DPORTABLE=1", "-DWITH_TESTS=OFF",
              "-DWITH_BENCHMARK_TOOLS=OFF", "-DROCKSDB_BUILD_SHARED=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
              *compiler_cache())
    objects = {}
    for command in json.loads((directory / "compile_commands.json").read_text()):
        source = command["file"].removeprefix(f"{tree}/")
        if source.startswith(PLUGIN):
            if source in objects:
                raise StepFailed(f"RocksDB's CMake compiles {source} twice")
            objects[source] = re.search(r" -o (\S+)", command["command"])[1]
    return directory, objects


def check_cheaply(steps, tree):
    expected = sources_of_plugin(steps)
    with tempfile.NamedTemporaryFile("w", suffix=".mk") as file:
        file.write(PRINT_SOURCES)
        file.flush()
        listed = steps.run("make", "make", "-s", "-C", tree, "-f", file.name).split()
    expect_same("zenfs.mk", {source for source in listed if source.endswith(".cc")}, expected)
    directory, objects = configure(steps, tree)
    expect_same("RocksDB's CMake", {source.removeprefix(PLUGIN) for source in objects}, expected)
    if '{"zenfs", zenfs_register_builtin}' not in (directory / "build_version.cc").read_text():
        raise StepFailed(f"RocksDB's CMake does not call the registration: see {directory}/build_version.cc")
    adapter = [output for source, output in objects.items() if source.startswith(ADAPTER)]
    steps.run("ninja", "ninja", "-C", directory, *adapter, CCACHE_NOHASHDIR="true")
    make(steps, tree, f"{ADAPTER}registration.o")
    return directory


def make(steps, tree, *targets):
    steps.run("RocksDB's make", "make", "-s", "-C", tree, "-j2", "ROCKSDB_PLUGINS=zenfs", "SKIP_DEPENDS=1", "PORTABLE=1",
              "DEBUG_LEVEL=0", "AUTO_CLEAN=1", f"OPT={QUICKLY}", *targets, patience=WHOLE, CCACHE_NOHASHDIR="true")


def open_database(steps, ldb, name):
    """By a program of RocksDB's own, with nothing preloaded."""
    zenfs = BUILD_ROOT / "release" / "zenfs"
    with tempfile.TemporaryDirectory(prefix="zenfs-in-tree-") as directory:
        device = Device(steps, zenfs, directory, name)
        uri = f"--fs_uri={device.uri}"
        steps.run("ldb", ldb, uri, "--db=/in-tree", "--create_if_missing", "put", "key", "value")
        if steps.run("ldb", ldb, uri, "--db=/in-tree", "get", "key").strip() != "value":
            raise StepFailed("ldb did not find what it wrote")
        device.expect_sound()


def check_fully(steps, tree, directory):
    steps.run("the build of zenfs", ROOT / "scripts" / "build", "release", "zenfs_cli")
    steps.run("ninja", "ninja", "-C", directory, "ldb", patience=WHOLE, CCACHE_NOHASHDIR="true")
    open_database(steps, directory / "tools" / "ldb", "cmake.img")
    make(steps, tree, "ldb")
    open_database(steps, tree / "ldb", "make.img")


def main(arguments, usage):
    parser = command.parser("rocksdb-in-tree", arguments, usage)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("version", nargs="?", metavar="VERSION", default="11.8.1")
    options = parser.parse_args(arguments)
    log = BUILD_ROOT / "test-logs" / f"rocksdb-in-tree-{options.version}.log"
    return command.run("rocksdb-in-tree", lambda: check(options, log), could_not_run=1)


def check(options, log):
    release = RELEASES.get(options.version)
    if release is None or not release.crate:
        raise ToolError(f"there is no source tree of RocksDB {options.version}: see scripts/rocksdb-sdk --list")
    steps = Steps(log)
    tree = lay_out(release)
    directory = check_cheaply(steps, tree)
    if options.full:
        check_fully(steps, tree, directory)
    how = "ldb opens a database in zones" if options.full else "sources, registration, and what knows RocksDB compiles"
    print(f"RocksDB {options.version} with ZenFS in its tree, by CMake and by make: {how}")
    return 0
