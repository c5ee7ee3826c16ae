"""scripts/rocksdb-versions: its arguments, and its table."""
import argparse
import json
import pathlib
import sys
import time

from rocksdb_sdk.releases import RELEASES
from rocksdb_sdk.run import TREE, Failed, build_root

from .build import INSTALLED, build
from .smoke import expect_declined, may_meet, smoke
from .steps import StepFailed, Steps

COLUMNS = (("RocksDB", "version", 14), ("library", "library", 27), ("std::string", "strings", 12), ("RTTI", "rtti", 5),
           ("built in", "build_seconds", 9), ("ran in", "run_seconds", 8), ("", "result", 0))


def try_version(version, zenfs, built_before):
    """A row of the table. `built_before` is what was built for others, and gets this one."""
    row = {"version": version, "library": "", "strings": "", "rtti": "", "build_seconds": None, "run_seconds": None,
           "result": "passed"}
    log = build_root() / "test-logs" / f"rocksdb-{version}.log"
    try:
        steps = Steps(log)
        begin = time.monotonic()
        built = build(version, steps)
        row.update(library=built.library, strings="new" if built.cxx11_abi else "old", rtti="yes" if built.rtti else "no",
                   build_seconds=round(time.monotonic() - begin, 1))
        begin = time.monotonic()
        smoke(steps, built, zenfs)
        for other in [other for other in built_before if may_meet(built, other)][:1]:
            expect_declined(steps, built, other)
        built_before.append(built)
        row["run_seconds"] = round(time.monotonic() - begin, 1)
    except (StepFailed, Failed) as failure:
        row["result"] = f"FAILED: {failure}; see {log}"
    return row


def line_of(row):
    cells = []
    for _, name, width in COLUMNS:
        value = row[name]
        if name.endswith("seconds"):
            value = "" if value is None else f"{value} s"
        cells.append(f"{value:<{width}}")
    return "  ".join(cells).rstrip()


def build_command():
    """The command zenfs makes and checks the devices."""
    Steps(build_root() / "test-logs" / "rocksdb-versions.log").run(
        "the build of zenfs", TREE / "scripts" / "build", "release", "zenfs_cli")
    return build_root() / "release" / "zenfs"


def main(arguments, usage):
    if {"-h", "--help"} & set(arguments):
        print(usage.strip())
        return 0
    parser = argparse.ArgumentParser(prog="rocksdb-versions", add_help=False)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("versions", nargs="*", metavar="VERSION", default=list(RELEASES))
    options = parser.parse_args(["--json=-" if argument == "--json" else argument for argument in arguments])
    unknown = [version for version in options.versions if version not in RELEASES]
    if unknown:
        print(f"rocksdb-versions: RocksDB {unknown[0]} can't be had; {', '.join(RELEASES)} can", file=sys.stderr)
        return 1
    # The installed one first: the others find its objects in the cache.
    versions = sorted(options.versions, key=lambda version: version != INSTALLED)
    try:
        zenfs = build_command()
    except StepFailed as failure:
        print(f"rocksdb-versions: {failure}", file=sys.stderr)
        return 1
    rows = []
    built_before = []
    if options.json != "-":
        print("  ".join(f"{title:<{width}}" for title, _, width in COLUMNS).rstrip())
    for version in versions:
        rows.append(try_version(version, zenfs, built_before))
        if options.json != "-":
            print(line_of(rows[-1]), flush=True)
    passed = sum(row["result"] == "passed" for row in rows)
    if options.json:
        text = json.dumps({"passed": passed, "failed": len(rows) - passed, "versions": rows}, indent=2) + "\n"
        if options.json == "-":
            sys.stdout.write(text)
        else:
            pathlib.Path(options.json).write_text(text, encoding="utf-8")
    return 0 if passed == len(rows) else 1
