"""libzenfs.so for another RocksDB."""
from tooling.places import BUILD_ROOT, ROOT, compiler_cache

from .run import run


def build(host):
    """The library for the RocksDB in the directory `host`, in the folder where scripts/bench has it too."""
    directory = BUILD_ROOT / f"rocksdb-{host.name}"
    what = f"libzenfs.so for RocksDB {host.name}"
    log = directory / "build.log"
    if not (directory / "build.ninja").exists():
        run(["cmake", "--preset", "release", "-S", ROOT, "-B", directory, f"-DZENFS_ROCKSDB={host}", "-DZENFS_TESTS=OFF",
             *compiler_cache()], what, log, cwd=ROOT)
    run(["ninja", "-C", directory, "zenfs_plugin"], what, log)
    return directory / "libzenfs.so"
