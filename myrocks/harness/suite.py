"""scripts/myrocks-test: which cases run, and what came out."""
import importlib
import pathlib
import pkgutil
import time
import traceback

from tooling import command
from tooling.places import BUILD_ROOT, ToolError
from tooling.report import counts, write_json

from .case import declared
from .kit import Kit, Programs, require_programs


def load_cases():
    package = importlib.import_module("cases")
    for module in sorted(info.name for info in pkgutil.iter_modules(package.__path__)):
        importlib.import_module(f"cases.{module}")
    return declared()


def chosen(options):
    cases = load_cases()
    if options.names:
        known = {one.name: one for one in cases}
        unknown = [name for name in options.names if name not in known]
        if unknown:
            raise ToolError(f"there is no case {unknown[0]}; --list names them")
        return [known[name] for name in options.names]
    return [one for one in cases if one.short or options.full]


def run_case(one, programs, keep):
    """A row of the report. A case that failed leaves its directory if `keep`, and always the ends of its logs."""
    begin = time.monotonic()
    row = {"name": one.name, "result": "passed"}
    with Kit(programs, keep=keep) as kit:
        try:
            one.run(kit)
        except ToolError as failure:
            row["result"] = f"FAILED: {failure}"
        except Exception:  # pylint: disable=broad-exception-caught
            row["result"] = f"FAILED: {traceback.format_exc()}"
        if row["result"] != "passed":
            keep_logs(kit, one.name)
    row["seconds"] = round(time.monotonic() - begin, 1)
    return row


def keep_logs(kit, name):
    place = BUILD_ROOT / "test-logs" / "myrocks" / name
    place.mkdir(parents=True, exist_ok=True)
    for log in pathlib.Path(kit.directory).rglob("*.log"):
        if log.parent.name != "data":
            (place / f"{log.parent.name}-{log.name}").write_bytes(log.read_bytes())
    print(f"    logs: {place}")


def run_all(options):
    if options.list:
        for one in load_cases():
            print(f"{one.name:50} {'' if one.short else '--full  '}{one.shows}")
        return 0
    cases = chosen(options)
    require_programs()
    programs = Programs()
    rows = []
    for one in cases:
        print(f"{one.name}: {one.shows}", flush=True)
        rows.append(run_case(one, programs, options.keep))
        print(f"  {rows[-1]['result']} ({rows[-1]['seconds']} s)", flush=True)
    found = counts(rows, lambda row: row["result"] == "passed")
    write_json(options.json, {**found, "cases": rows})
    for row in rows:
        if row["result"] != "passed":
            print(f"FAILED {row['name']}: {row['result'].removeprefix('FAILED: ')}")
    print(f"{found['passed']} passed, {found['failed']} failed")
    return 1 if found["failed"] else 0


def main(arguments, usage):
    parser = command.parser("myrocks-test", arguments, usage)
    command.add_json(parser)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("names", nargs="*", metavar="CASE")
    options = parser.parse_args(arguments)
    return command.run("myrocks-test", lambda: run_all(options))
