"""The programs that are measured: db_bench, the plugin and the ideal file system, all for one version of RocksDB."""
import os
import pathlib
import re
import subprocess

from trial.places import BUILD, ROOT, BenchError
from trial.zenfs_command import Zenfs

DEBIAN = "7.8.3"
RELEASE = "11.8.1"
DB_BENCH_SOURCES = ("tools/db_bench.cc", "tools/db_bench_tool.cc", "tools/tool_hooks.cc",
                    "tools/simulated_hybrid_file_system.cc", "test_util/testutil.cc")
DB_BENCH_FLAGS = ("-std=c++20", "-O2", "-fno-rtti", "-DNDEBUG", "-DROCKSDB_PLATFORM_POSIX", "-DROCKSDB_LIB_IO_POSIX",
                  "-DOS_LINUX", "-DGFLAGS=1")


class Programs:
    def __init__(self, rocksdb, db_bench, build):
        self.rocksdb = rocksdb
        self.db_bench = pathlib.Path(db_bench)
        self.plugin = build / "libzenfs.so"
        self.ideal = build / "libideal.so"
        self.zenfs = Zenfs(build / "zenfs")

    def check(self, candidates):
        kinds = {one.kind for one in candidates}
        needed = {self.db_bench: True, pathlib.Path(self.zenfs.program): True, self.plugin: "zenfs" in kinds,
                  self.ideal: "ideal" in kinds}
        for path, is_needed in needed.items():
            if is_needed and not path.exists():
                raise BenchError(f"{path} is missing; leave --no-build away")


def call(words, what):
    try:
        done = subprocess.run([str(word) for word in words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)
    except OSError as error:
        raise BenchError(f"{what}: {error}") from error
    if done.returncode != 0:
        raise BenchError(f"{what} failed:\n" + "\n".join(done.stdout.splitlines()[-25:]))
    return done.stdout


def build_folder(rocksdb):
    return BUILD / ("release" if rocksdb == DEBIAN else f"rocksdb-{rocksdb}")


def db_bench_path(rocksdb):
    return pathlib.Path("/usr/bin/db_bench") if rocksdb == DEBIAN else BUILD / "rocksdb" / rocksdb / "db_bench"


def find(rocksdb, build=None):
    """What was built before, for that RocksDB or in that folder."""
    return Programs(rocksdb, db_bench_path(rocksdb), pathlib.Path(build).absolute() if build else build_folder(rocksdb))


def build(rocksdb, screen):
    """All that is measured, in release builds; what is there already is only looked at."""
    screen.working("building")
    call(["scripts/setup"], "scripts/setup")
    folder = build_folder(rocksdb)
    words = ["cmake", "--preset", "release", "-B", folder, "-DZENFS_BENCH=ON"]
    if rocksdb != DEBIAN:
        sdk = BUILD / "rocksdb" / rocksdb
        screen.working(f"getting RocksDB {rocksdb}")
        call(["scripts/rocksdb-sdk", rocksdb], f"scripts/rocksdb-sdk {rocksdb}")
        screen.working(f"building db_bench {rocksdb}")
        build_db_bench(sdk, db_bench_path(rocksdb))
        words += [f"-DZENFS_ROCKSDB={sdk}", "-DZENFS_TESTS=OFF"]
    screen.working("building the plugin")
    call(words, "configuring")
    call(["cmake", "--build", folder, "--target", "zenfs_plugin", "zenfs_cli", "zenfs_ideal"], "building")
    return find(rocksdb)


def build_db_bench(sdk, target):
    """From the five files of the source tree that make it, against the release library of the Java package."""
    source, library = sdk / "source", sdk / "lib" / "librocksdbjni-linux64.so"
    if target.exists() and target.stat().st_mtime >= library.stat().st_mtime:
        return
    folder = sdk / "db_bench.objects"
    folder.mkdir(exist_ok=True)
    compiler = [word for word in ("ccache", "c++") if word != "ccache" or find_program("ccache")]
    includes = [f"-I{source}", f"-I{source}/include", f"-I{source}/third-party/gtest-1.8.1/fused-src"]
    running = []
    for name in DB_BENCH_SOURCES:
        thing = folder / (pathlib.Path(name).stem + ".o")
        running.append((name, thing, subprocess.Popen(
            [*compiler, *DB_BENCH_FLAGS, *includes, "-c", str(source / name), "-o", str(thing)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)))
    for name, _, process in running:
        output, _ = process.communicate()
        if process.returncode != 0:
            raise BenchError(f"compiling {name} failed:\n" + "\n".join(output.splitlines()[-25:]))
    fresh = target.with_suffix(".new")
    call(["c++", *[thing for _, thing, _ in running], "-o", fresh, f"-L{library.parent}", f"-l:{library.name}",
          f"-Wl,-rpath,{library.parent}", "-lgflags", "-lpthread", "-ldl"], "linking db_bench")
    os.replace(fresh, target)


def find_program(name):
    return any(os.access(os.path.join(folder, name), os.X_OK) for folder in os.environ.get("PATH", "").split(":"))


def version_of(programs):
    """What the programs say of themselves, for the record."""
    said = subprocess.run([str(programs.db_bench), "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"version ([\d.]+)", said)
    return {"db_bench": str(programs.db_bench), "rocksdb": found[1] if found else programs.rocksdb,
            "zenfs": programs.zenfs("version").strip().splitlines()[0]}
