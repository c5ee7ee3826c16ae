"""Where the lab finds and keeps its files, and the error that ends it with one line."""
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD_ROOT = (ROOT / os.environ.get("BUILD_ROOT", "build")).resolve()
BINARIES = BUILD_ROOT / "release"
CACHE = BUILD_ROOT / "vm" / "kernels"
RUNS = BUILD_ROOT / "vm" / "runs"
VM = ROOT / "tests" / "vm"


class LabError(Exception):
    """What the lab itself lacks or can't do, as one line for a person. Never a failed case."""
