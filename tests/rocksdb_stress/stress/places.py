"""Where files are found and kept, and the error that ends the program with one line."""
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD_ROOT = (ROOT / os.environ.get("BUILD_ROOT", "build")).resolve()
SHARED_MEMORY = pathlib.Path("/dev/shm")


def rocksdb_directory(version):
    return BUILD_ROOT / "rocksdb" / version


class StressError(Exception):
    """What the test itself lacks or can't do, as one line for a person. Never a run that failed."""
