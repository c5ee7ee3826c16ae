"""Builds RocksDB's test programs from its source, against the librocksdb that is installed.

Nothing of RocksDB is rebuilt: what its tests share (helpers, its own GoogleTest) becomes one archive, each test one
object and one program. What is built already is kept, until the installed package or the flags change.
"""
import concurrent.futures
import hashlib
import os
import re
import shlex
import shutil
import subprocess

from tooling.places import ToolError, installed_rocksdb, rocksdb_directory, rocksdb_source


GTEST = "third-party/gtest-1.8.1/fused-src"
# Only what the library does not hold itself: a global object defined in both would be destroyed twice.
HELPERS = ("db/db_test_util.cc", "db/db_with_timestamp_test_util.cc", "monitoring/thread_status_updater_debug.cc",
           "test_util/mock_time_env.cc",
           "test_util/testharness.cc", "utilities/agg_merge/test_agg_merge.cc", "utilities/cassandra/test_utils.cc",
           "table/mock_table.cc", GTEST + "/gtest/gtest-all.cc")
# As Debian builds the library: assertions on, run-time types, all compressions. What a definition switches on in a
# header must be what it was there, or the layouts of classes differ.
FLAGS = ("-std=c++17 -O0 -g0 -w -pipe -faligned-new -DROCKSDB_PLATFORM_POSIX -DROCKSDB_LIB_IO_POSIX -DOS_LINUX "
         "-DROCKSDB_USE_RTTI -DGFLAGS=1 -DSNAPPY -DLZ4 -DZLIB -DBZIP2 -DZSTD -DROCKSDB_FALLOCATE_PRESENT "
         "-DROCKSDB_RANGESYNC_PRESENT -DROCKSDB_SCHED_GETCPU_PRESENT -DROCKSDB_AUXV_GETAUXVAL_PRESENT "
         "-DROCKSDB_PTHREAD_ADAPTIVE_MUTEX -DROCKSDB_BACKTRACE -DHAVE_FULLFSYNC=0 -I. -Iinclude -I" + GTEST).split()
LIBRARIES = "-lrocksdb -lgflags -lzstd -lsnappy -llz4 -lbz2 -lz -lpthread -ldl".split()


class Builder:
    """Threads: one. `say` is told what is being done."""

    def __init__(self, say):
        self.say = say
        self.package, self.version = installed_rocksdb()
        self.source = rocksdb_directory() / "source"
        self.place = rocksdb_directory() / "suites"
        self.compiler = shlex.split(os.environ.get("CXX", "g++"))
        self.cache = ["ccache"] if shutil.which("ccache") else []

    def prepare(self):
        """Gets the source, and drops what was built for another library or with other flags."""
        self.say(f"getting the source of RocksDB {self.package}")
        rocksdb_source(self.source)
        key = hashlib.sha256(" ".join([self.package, *FLAGS, *HELPERS, *LIBRARIES]).encode()).hexdigest()
        stamp = self.place / "built-with"
        if not stamp.exists() or stamp.read_text() != key:
            for directory in ("objects", "programs"):
                shutil.rmtree(self.place / directory, ignore_errors=True)
                (self.place / directory).mkdir(parents=True)
            stamp.write_text(key)

    def path_of(self, name):
        """The source of the test `name`, relative to the tree."""
        listed = re.findall(rf"^\s*(\S*\b{name}\.cc)\s", (self.source / "src.mk").read_text(), re.M)
        if not listed:
            raise ToolError(f"RocksDB {self.version} has no test {name}")
        return listed[0]

    def run(self, command, what):
        done = subprocess.run(command, cwd=self.source, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode != 0:
            lines = (done.stderr or done.stdout).strip().splitlines()
            reason = next((line for line in lines if "error" in line or "undefined" in line), "no reason given")
            raise ToolError(f"{what} can't be built: {reason}")

    def compile(self, path):
        built = self.place / "objects" / (str(path).replace("/", "__") + ".o")
        if not built.exists():
            fresh = built.with_suffix(".new.o")
            self.run([*self.cache, *self.compiler, *FLAGS, "-c", str(path), "-o", fresh], path)
            fresh.rename(built)
        return built

    def archive(self):
        built = self.place / "objects" / "helpers.a"
        if built.exists():
            return
        self.say("building what RocksDB's tests share")
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(self.compile, [path for path in HELPERS if (self.source / path).exists()]))
        self.run(["ar", "rcs", built, *objects], "the helpers' archive")

    def program(self, name):
        """The program of the test `name`, built now if it has to be. Threads: any, once archive() has returned."""
        built = self.place / "programs" / name
        if not built.exists():
            compiled = self.compile(self.path_of(name))
            fresh = built.with_suffix(".new")
            self.run([*self.compiler, compiled, self.place / "objects" / "helpers.a", *LIBRARIES, "-o", fresh], name)
            fresh.rename(built)
            compiled.unlink()
        return built
