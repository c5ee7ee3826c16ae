"""The programs of a run: ZenFS's, and db_stress, compiled from Debian's source package against the installed library."""
import concurrent.futures
import dataclasses
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess

from tooling.places import BUILD_ROOT, ToolError, installed_rocksdb, rocksdb_directory, rocksdb_source

# As Debian builds the library: with assertions, sync points and all compressions.
FLAGS = ["-std=c++17", "-O1", "-w", "-DGFLAGS=1", "-DROCKSDB_PLATFORM_POSIX", "-DROCKSDB_LIB_IO_POSIX", "-DOS_LINUX",
         "-DSNAPPY", "-DZSTD", "-DZLIB", "-DLZ4", "-DBZIP2"]
LIBRARIES = ["-lrocksdb", "-lgflags", "-lzstd", "-lsnappy", "-lpthread"]
SLOWEST = ("db_stress_test_base", "no_batched_ops_stress", "multi_ops_txns_stress")  # compiled first


@dataclasses.dataclass(frozen=True)
class Programs:
    zenfs: pathlib.Path
    plugin: pathlib.Path
    db_stress: pathlib.Path
    crash_test: pathlib.Path  # RocksDB's db_crashtest.py
    runtime: tuple = ()  # what has to be preloaded before the plugin: a sanitizer's libraries


def sources_of(source):
    listed = (source / "db_stress_tool" / "CMakeLists.txt").read_text()
    return sorted(re.findall(r"\b(\w+)\.cc\b", listed), key=lambda name: (name not in SLOWEST, name))


def run_compiler(command, what):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ToolError(f"{what} does not compile:\n{done.stderr[-3000:]}")


def build_db_stress(version, screen):
    """The program, built anew only when the version or the way to build it has changed."""
    directory = rocksdb_directory(version)
    source, objects, program = directory / "source", directory / "stress-objects", directory / "db_stress"
    rocksdb_source(source)
    names = sources_of(source)
    compiler = [*(["ccache"] if shutil.which("ccache") else []), "g++", *FLAGS, f"-I{source}", f"-I{source}/include"]
    wanted = hashlib.sha256(repr((version, compiler, LIBRARIES, names)).encode()).hexdigest()
    stamp = objects / "built"
    if program.exists() and stamp.exists() and stamp.read_text() == wanted:
        return program
    objects.mkdir(parents=True, exist_ok=True)
    screen.working(f"compiling db_stress {version}")

    def compile_one(name):
        run_compiler([*compiler, "-c", source / "db_stress_tool" / f"{name}.cc", "-o", objects / f"{name}.o"],
                     f"db_stress_tool/{name}.cc")

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, names))
    run_compiler(["g++", "-o", program, *(objects / f"{name}.o" for name in names), *LIBRARIES], "db_stress")
    stamp.write_text(wanted)
    return program


def sanitizer_runtime():
    """Of Clang's address sanitizer, which has that of undefined behaviour in it."""
    name = f"libclang_rt.asan-{platform.machine()}.so"
    found = subprocess.run(["clang++-19", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    return (os.path.realpath(found.stdout.strip()),)


def find_programs(binaries, sanitized, screen):
    """`binaries`: a directory that has zenfs, libzenfs.so and perhaps db_stress; None: what scripts/build made."""
    version = installed_rocksdb()[1]
    place = pathlib.Path(binaries).resolve() if binaries else BUILD_ROOT / ("asan" if sanitized else "release")
    for name in ("zenfs", "libzenfs.so"):
        if not (place / name).exists():
            raise ToolError(f"there is no {place / name}; scripts/build {'asan' if sanitized else 'release'} makes it")
    for tool in ("stdbuf", "env"):
        if shutil.which(tool) is None:
            raise ToolError(f"there is no {tool}; it is part of coreutils")
    source = rocksdb_directory(version) / "source"
    if (place / "db_stress").exists():
        rocksdb_source(source)
        db_stress = place / "db_stress"
    else:
        db_stress = build_db_stress(version, screen)
    return Programs(place / "zenfs", place / "libzenfs.so", db_stress, source / "tools" / "db_crashtest.py",
                    sanitizer_runtime() if sanitized else ())
