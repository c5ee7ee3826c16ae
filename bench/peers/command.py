"""The command line of scripts/bench peers."""
import argparse
import pathlib
import sys

import plots
from peers import cases, outside, packages, programs
from peers.boots import Boots
from peers.results import Results, units_of
from peers.tables import BASE, Tables
from tooling import command
from tooling.command import at_least_one
from tooling.places import BUILD_ROOT, ToolError
from tooling.screen import Screen
from trial import machine
from trial.programs import DEBIAN, RELEASE
from trial.zenfs_command import Zenfs

# The tool that makes the file system of a candidate.
CANDIDATES = {BASE: None, "zenfs-zonefs": "mkzonefs", "xfs": "mkfs.xfs", "f2fs": "mkfs.f2fs", "btrfs": "mkfs.btrfs"}
CASES = {case.name: case.title for case in cases.CASES}


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="bench peers", description="Measures ZenFS and Linux's own file systems for zoned drives by turns, each on the same "
        "emulated drive in a QEMU guest; docs/use/peers.md tells the rest. A run that was interrupted goes on where it was.")
    parser.add_argument("--candidate", action="append", choices=list(CANDIDATES), help=f"(repeatable; {BASE} is always measured)")
    parser.add_argument("--case", action="append", choices=list(CASES), help="only this case (repeatable)")
    parser.add_argument("--turns", type=at_least_one, default=2, metavar="N", help="of each case (default 2)")
    parser.add_argument("--boots", type=at_least_one, metavar="N", help="end after so many guests of about eight minutes")
    parser.add_argument("--rocksdb", choices=(RELEASE, DEBIAN), default=RELEASE,
                        help=f"release {RELEASE}, or Debian's {DEBIAN}, which has assertions on")
    parser.add_argument("--no-build", action="store_true", help="measure what was built the last time")
    parser.add_argument("--retry", action="store_true", help="also what has failed")
    parser.add_argument("--out", metavar="DIR", help="for results.json, table.md and throughput.svg (default: below build/peers)")
    return parser.parse_args(arguments)


def available(options, tools, screen):
    """The candidates whose tools there are."""
    wanted = [name for name in CANDIDATES if not options.candidate or name == BASE or name in options.candidate]
    found = []
    for name in wanted:
        tool = CANDIDATES[name]
        if tool and not packages.tool(tools, tool):
            screen.line(f"bench: {name} is skipped: {packages.TOOLS_SUITE} has no {tool}")
        else:
            found.append(name)
    return found


def measure(options, screen):
    kernel, tools, versions = packages.get(screen)
    built = programs.get(options.rocksdb, options.no_build, screen)
    setup = {"kernel": kernel.version, "packages": versions, "rocksdb": options.rocksdb, "programs": programs.identity(built),
             "zenfs": Zenfs(built["zenfs"])("version").strip().splitlines()[0], "processor": machine.processor(),
             "drives": [repr(drive) for drive in cases.DRIVES], "scheduler": cases.SCHEDULER, "clock": cases.CLOCK,
             "cases": {case.name: repr(case.phases) for case in cases.CASES}}
    out = pathlib.Path(options.out) if options.out else BUILD_ROOT / "peers" / f"results-{options.rocksdb}"
    out.mkdir(parents=True, exist_ok=True)
    results = Results(out / "results.json", setup)
    if options.retry:
        results.forget_failures()
    candidates = available(options, tools, screen)
    names = [name for name in CASES if not options.case or name in options.case]
    try:
        Boots(kernel, {**built, "tools": str(tools)}, results, screen).run(units_of(options.turns, names, candidates), options.boots)
        compare_outside(results, built, names, screen)
    finally:
        screen.clear()
    tables = Tables(results.document(), candidates, CASES)
    (out / "table.md").write_text(tables.text())
    (out / "throughput.svg").write_text(plots.svg(tables.figure()), encoding="utf-8")
    print(tables.text())
    print("\n".join(str(out / name) for name in ("results.json", "table.md", "throughput.svg")))
    return 1 if results.failures else 0


def compare_outside(results, built, names, screen):
    missing = [name for name in names if name not in {one["case"] for one in results.outside}]
    try:
        results.outside += outside.measure(built, missing, screen)
    except ToolError as error:
        screen.line(f"bench: not compared with the same outside of the guest: {error}")
    results.write()


def main(arguments):
    options = parse(arguments)
    screen = Screen(sys.stderr)
    return command.run("bench", lambda: measure(options, screen), screen.line)
