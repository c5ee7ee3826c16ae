"""Where the lab finds and keeps its files."""
from tooling.places import BUILD_ROOT, ROOT

BINARIES = BUILD_ROOT / "release"
CACHE = BUILD_ROOT / "vm" / "kernels"
RUNS = BUILD_ROOT / "vm" / "runs"
VM = ROOT / "tests" / "vm"
