"""scripts/rocksdb-versions: its arguments, and its table."""
import time

from rocksdb_sdk.releases import RELEASES
from tooling import command
from tooling.places import BUILD_ROOT, ToolError
from tooling.places import build as build_here
from tooling.report import STANDARD_OUTPUT, counts, write_json

from .build import INSTALLED, build
from .smoke import expect_declined, may_meet, smoke
from .steps import Steps

COLUMNS = (("RocksDB", "version", 14), ("library", "library", 27), ("std::string", "strings", 12), ("RTTI", "rtti", 5),
           ("built in", "build_seconds", 9), ("ran in", "run_seconds", 8), ("", "result", 0))


def try_version(version, zenfs, built_before):
    """A row of the table. `built_before` is what was built for others, and gets this one."""
    row = {"version": version, "library": "", "strings": "", "rtti": "", "build_seconds": None, "run_seconds": None,
           "result": "passed"}
    log = BUILD_ROOT / "test-logs" / f"rocksdb-{version}.log"
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
    except ToolError as failure:
        row["result"] = f"FAILED: {failure}"
    return row


def line_of(row):
    cells = []
    for _, name, width in COLUMNS:
        value = row[name]
        if name.endswith("seconds"):
            value = "" if value is None else f"{value} s"
        cells.append(f"{value:<{width}}")
    return "  ".join(cells).rstrip()


def try_versions(options):
    unknown = [version for version in options.versions if version not in RELEASES]
    if unknown:
        raise ToolError(f"RocksDB {unknown[0]} can't be had; {', '.join(RELEASES)} can")
    # The installed one first: the others find its objects in the cache.
    versions = sorted(options.versions, key=lambda version: version != INSTALLED)
    zenfs = build_here("release", "zenfs_cli") / "zenfs"  # makes and checks the devices
    rows = []
    built_before = []
    shows_table = options.json != STANDARD_OUTPUT
    if shows_table:
        print("  ".join(f"{title:<{width}}" for title, _, width in COLUMNS).rstrip())
    for version in versions:
        rows.append(try_version(version, zenfs, built_before))
        if shows_table:
            print(line_of(rows[-1]), flush=True)
    found = counts(rows, lambda row: row["result"] == "passed")
    write_json(options.json, {**found, "versions": rows})
    return 1 if found["failed"] else 0


def main(arguments, usage):
    parser = command.parser("rocksdb-versions", arguments, usage)
    command.add_json(parser)
    parser.add_argument("versions", nargs="*", metavar="VERSION", default=list(RELEASES))
    options = parser.parse_args(command.lone_json(arguments))
    return command.run("rocksdb-versions", lambda: try_versions(options), could_not_run=1)
