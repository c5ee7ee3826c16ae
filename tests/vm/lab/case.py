"""A case: a device set up, a job, checks. Cases stand in tests/vm/cases; this module is what they are declared with.

    @case(seconds=30)
    def zone_reports_agree():
        "libzbd, blkzone and what we asked QEMU for name the same zones"
        ...

`short` names the kernel lines on which the short selection takes it: all; one, for what takes long and is the same on
both; or none.

The function runs inside a guest, as root, and fails by raising; its first line of documentation is what the case
shows. Its module is loaded on the host too, to know the cases, so a module does nothing when it is loaded.
"""
import dataclasses
import importlib
import pkgutil
from collections.abc import Callable

KERNELS = ("6.1", "6.12")
_declared = []


@dataclasses.dataclass(frozen=True)
class Case:
    name: str              # "zone-reports-agree"
    run: Callable
    shows: str
    short: tuple           # kernel lines on which the selection that runs without --full has it
    kernels: tuple         # lines on which it runs
    alone: bool            # gets a guest of its own: it leaves the kernel or its devices in a bad state
    seconds: int           # after which it counts as hung
    needs: tuple           # binaries of the build, e.g. "zenfs"
    host: bool             # runs on the host and starts guests itself: run(lab), lab of lab/suite.py


def case(*, short=KERNELS, kernels=KERNELS, alone=False, seconds=60, needs=(), host=False):
    def declare(function):
        shows = (function.__doc__ or "").strip().split("\n")[0]
        short_on = tuple(line for line in kernels if line in short)
        _declared.append(Case(function.__name__.replace("_", "-"), function, shows, short_on, tuple(kernels), alone,
                              seconds, tuple(needs), host))
        return function
    return declare


def all_cases():
    """Every case of tests/vm/cases, in the order of files and within a file as declared."""
    if not _declared:
        package = importlib.import_module("cases")
        for module in sorted(info.name for info in pkgutil.iter_modules(package.__path__)):
            importlib.import_module(f"cases.{module}")
    names = [one.name for one in _declared]
    assert len(names) == len(set(names)), "two cases have one name"
    return list(_declared)
