"""The programs that are measured: db_bench, the plugin and the ideal file system, all for one version of RocksDB."""
import os
import pathlib
import re
import subprocess

from tooling.places import BUILD_ROOT, ROOT, ToolError

from trial.zenfs_command import Zenfs

DEBIAN = "7.8.3"
RELEASE = "11.8.1"
DB_BENCH_SOURCES = ("tools/db_bench.cc", "tools/db_bench_tool.cc", "tools/tool_hooks.cc",
                    "tools/simulated_hybrid_file_system.cc", "test_util/testutil.cc")
DB_BENCH_FLAGS = ("-std=c++20", "-O2", "-fno-rtti", "-DNDEBUG", "-DROCKSDB_PLATFORM_POSIX", "-DROCKSDB_LIB_IO_POSIX",
                  "-DOS_LINUX", "-DGFLAGS=1")
LIBRARIES = ["zenfs_plugin", "zenfs_ideal"]


class Programs:
    def __init__(self, rocksdb, db_bench, build, zenfs):
        self.rocksdb = rocksdb
        self.db_bench = pathlib.Path(db_bench)
        self.plugin = build / "libzenfs.so"
        self.ideal = build / "libideal.so"
        self.zenfs = Zenfs(zenfs)
        self.ycsb = None  # the folder of the built client, if a set needs it

    def check(self, candidates):
        kinds = {one.kind for one in candidates}
        needed = {self.db_bench: True, pathlib.Path(self.zenfs.program): True, self.plugin: "zenfs" in kinds,
                  self.ideal: "ideal" in kinds}
        for path, is_needed in needed.items():
            if is_needed and not path.exists():
                raise ToolError(f"{path} is missing; leave --no-build away")
        call([self.db_bench, "--version"], self.db_bench)  # may lack a library


def call(words, what):
    try:
        done = subprocess.run([str(word) for word in words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)
    except OSError as error:
        raise ToolError(f"{what}: {error}") from error
    if done.returncode != 0:
        raise ToolError(f"{what} failed:\n" + "\n".join(done.stdout.splitlines()[-25:]))
    return done.stdout


def build_folder(rocksdb):
    return BUILD_ROOT / ("release" if rocksdb == DEBIAN else f"rocksdb-{rocksdb}")


def db_bench_path(rocksdb):
    return pathlib.Path("/usr/bin/db_bench") if rocksdb == DEBIAN else BUILD_ROOT / "rocksdb" / rocksdb / "db_bench"


def find(rocksdb, build=None):
    """Programs built earlier, for that RocksDB or in that folder."""
    if build:
        folder = pathlib.Path(build).absolute()
        return Programs(rocksdb, db_bench_path(rocksdb), folder, folder / "zenfs")
    return Programs(rocksdb, db_bench_path(rocksdb), build_folder(rocksdb), BUILD_ROOT / "release" / "zenfs")


def build(rocksdb, screen):
    """Builds all measured programs as release builds; only checks existing ones."""
    screen.working("building")
    call(["scripts/setup"], "scripts/setup")
    build_targets(BUILD_ROOT / "release", [], ["zenfs_cli"] + (LIBRARIES if rocksdb == DEBIAN else []))
    if rocksdb != DEBIAN:
        sdk = BUILD_ROOT / "rocksdb" / rocksdb
        screen.working(f"getting RocksDB {rocksdb}")
        call(["scripts/rocksdb-sdk", rocksdb], f"scripts/rocksdb-sdk {rocksdb}")
        screen.working(f"building db_bench {rocksdb}")
        build_db_bench(sdk, db_bench_path(rocksdb))
        screen.working("building the plugin")
        build_targets(build_folder(rocksdb), [f"-DZENFS_ROCKSDB={sdk}"], LIBRARIES)
    return find(rocksdb)


def build_ycsb(rocksdb):
    """The folder of the client."""
    if rocksdb == DEBIAN:
        raise ToolError(f"the set ycsb needs RocksDB {RELEASE}: there is no Java for {DEBIAN}")
    return pathlib.Path(call(["scripts/java-project", "bench/ycsb"], "scripts/java-project").strip().splitlines()[-1])


def build_targets(folder, settings, targets):
    call(["cmake", "--preset", "release", "-B", folder, "-DZENFS_BENCH=ON", *settings], "configuring")
    call(["cmake", "--build", folder, "--target", *targets], "building")


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
            raise ToolError(f"compiling {name} failed:\n" + "\n".join(output.splitlines()[-25:]))
    fresh = target.with_suffix(".new")
    call(["c++", *[thing for _, thing, _ in running], "-o", fresh, f"-L{library.parent}", f"-l:{library.name}",
          f"-Wl,-rpath,$ORIGIN/{library.parent.name}", "-lgflags", "-lpthread", "-ldl"], "linking db_bench")
    os.replace(fresh, target)


def find_program(name):
    return any(os.access(os.path.join(folder, name), os.X_OK) for folder in os.environ.get("PATH", "").split(":"))


def version_of(programs):
    """The versions that the programs report, for the record."""
    said = subprocess.run([str(programs.db_bench), "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"version ([\d.]+)", said)
    return {"db_bench": str(programs.db_bench), "rocksdb": found[1] if found else programs.rocksdb,
            "zenfs": programs.zenfs("version").strip().splitlines()[0]}
