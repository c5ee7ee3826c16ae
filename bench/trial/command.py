"""The command line of scripts/bench."""
import argparse
import os
import pathlib
import shlex
import shutil
import sys
import tempfile
import time

from tooling import command
from tooling.command import at_least_one
from tooling.places import BUILD_ROOT, ToolError
from tooling.report import write_json
from tooling.screen import Screen

import plots
from trial import candidates, ideal, machine, programs, results, sets, summary, table
from trial.page import Page
from trial.places import is_tmpfs
from trial.run import Run

DEFAULT = ("posix-tmpfs", "zenfs-none", "zenfs-zn540", "ideal-zn540")
PROG = "bench"


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog=PROG, formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measures ZenFS against other places for a RocksDB database; docs/use/bench.md tells the rest.",
        epilog="A command of its own: scripts/bench peers, against Linux's file systems for zoned drives.")
    parser.add_argument("sets", nargs="*", metavar="SET", help="what to run (default: quick); --list shows them")
    parser.add_argument("--list", action="store_true", help="say which sets and candidates there are, and run none")
    parser.add_argument("--candidate", action="append", metavar="NAME[=URI]", default=[],
                        help="one of --list, NAME=zenfs-PROFILE?OPTION:VALUE,..., NAME=zenfs://... or NAME=posix:DIRECTORY "
                        f"(repeatable; the first is what the others are compared with; default: {' '.join(DEFAULT)})")
    parser.add_argument("--case", action="append", metavar="NAME", default=[],
                        help="only this case of the sets (repeatable; --list --json=- names them)")
    parser.add_argument("--repetitions", type=at_least_one, default=3, metavar="N", help="of each case (default 3)")
    parser.add_argument("--num", type=at_least_one, metavar="N", help="keys of each case, in place of what the set says")
    parser.add_argument("--seconds", type=at_least_one, default=5, metavar="S", help="of each read phase (default 5)")
    parser.add_argument("--place", metavar="DIR", default=os.environ.get("ZENFS_BENCH_DIR", "/dev/shm"),
                        help="a tmpfs for everything in memory (default $ZENFS_BENCH_DIR or /dev/shm)")
    parser.add_argument("--disk", metavar="DIR", default="/var/tmp", help="of the candidate posix-disk (default /var/tmp)")
    parser.add_argument("--rocksdb", choices=(programs.RELEASE, programs.DEBIAN), default=programs.RELEASE,
                        help=f"release {programs.RELEASE}, or Debian's {programs.DEBIAN}, which has assertions on")
    parser.add_argument("--db-bench", metavar="FILE", help="this db_bench instead")
    parser.add_argument("--build", metavar="DIR", help="zenfs, libzenfs.so and libideal.so as they are there, and build nothing")
    parser.add_argument("--no-build", action="store_true", help="measure what was built the last time")
    parser.add_argument("--patience", type=at_least_one, default=600, metavar="S",
                        help="a phase that has not ended by then has failed (default 600)")
    parser.add_argument("--out", metavar="DIR", help="for results.json and index.html (default: below build/bench)")
    parser.add_argument("--json", metavar="FILE", help="results.json there too; with --list the list, '-' for the output")
    parser.add_argument("--page", metavar="RESULTS", help="draw index.html beside this results.json anew, and run nothing")
    parser.add_argument("--svg", metavar="FILE", help="with --page: also the plots of the throughput as one image")
    return parser.parse_args(arguments)


def builtin(found, options, place):
    """{name: factory}, in the order of --list. `place`: a directory of this run on a tmpfs."""
    makers = {"posix-tmpfs": lambda: candidates.PosixCandidate("posix-tmpfs", options.place),
              "posix-disk": lambda: candidates.PosixCandidate("posix-disk", options.disk)}
    for profile in candidates.PROFILES:
        makers[f"zenfs-{profile}"] = lambda profile=profile: candidates.EmulatedCandidate(found, profile, place)
    for profile in ideal.PROFILES:
        makers[f"ideal-{profile}"] = lambda profile=profile: ideal.IdealCandidate(found, profile, place)
    return makers


def chosen_candidates(options, found, place):
    makers = builtin(found, options, place)
    emulated = {f"zenfs-{profile}": profile for profile in candidates.PROFILES}
    chosen = []
    for text in options.candidate or DEFAULT:
        name, given, uri = text.partition("=")
        if not given and name in makers:
            chosen.append(makers[name]())
        elif not given:
            raise ToolError(f"there is no candidate '{name}'; --list shows them, NAME=URI adds one")
        elif name in makers or not name:
            raise ToolError(f"--candidate {text}: give it a name of its own before the '='")
        elif uri.startswith("posix:"):
            chosen.append(candidates.PosixCandidate(name, uri.removeprefix("posix:")))
        elif uri.startswith("zenfs://"):
            chosen.append(candidates.NamedCandidate(found, name, uri, place))
        elif uri.partition("?")[0] in emulated:
            base, _, mount_options = uri.partition("?")
            chosen.append(candidates.EmulatedCandidate(found, emulated[base], place, name, mount_options))
        else:
            raise ToolError(f"--candidate {text}: neither {', '.join(emulated)} with options, zenfs://... nor posix:DIRECTORY")
    names = [one.name for one in chosen]
    for name in names:
        if names.count(name) > 1:
            raise ToolError(f"candidate '{name}' is given twice")
    return chosen


def chosen_cases(options):
    names = list(dict.fromkeys(options.sets or ["quick"]))
    for name in names:
        if name not in sets.ALL:
            raise ToolError(f"there is no set '{name}'; --list shows them")
    cases = [case for name in names for case in sets.with_keys(sets.ALL[name][1](), options.num)]
    for name in options.case:
        if name not in [case.name for case in cases]:
            raise ToolError(f"--case {name}: no case of {', '.join(names)}; --list --json=- names the cases of every set")
    if options.case:
        cases = [case for case in cases if case.name in options.case]
    return names, "; ".join(sets.ALL[name][0] for name in names), cases


def show_list(options):
    found = programs.find(options.rocksdb, options.build)
    makers = builtin(found, options, pathlib.Path(options.place))
    listed = {"sets": [{"name": name, "title": title, "cases": [case.name for case in make()]}
                       for name, (title, make) in sets.ALL.items()],
              "candidates": [{"name": name, "description": make().description} for name, make in makers.items()]}
    if options.json:
        write_json(options.json, listed)
        return 0
    print("sets")
    for one in listed["sets"]:
        print(f"  {one['name']:18} {one['title']}")
    print("candidates")
    for one in listed["candidates"]:
        print(f"  {one['name']:18} {one['description']}")
    print("  NAME=zenfs://...   a volume of yours: a fresh directory on it, removed again; never formatted")
    print("  NAME=posix:DIR     RocksDB's own file system in a directory of yours")
    return 0


def document(run, names, title, cases, started, seconds):
    rows = summary.summarise(run.samples, run.candidates[0].name)
    return {
        "schema": results.SCHEMA, "set": "+".join(names), "title": title,
        "started": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(started)), "seconds": round(seconds, 1),
        "command": "scripts/bench " + shlex.join(sys.argv[1:]), "base": run.candidates[0].name,
        "machine": run.machine, "programs": programs.version_of(run.programs),
        "options": {"repetitions": run.options.repetitions, "seconds": run.options.seconds},
        "candidates": [{"name": one.name, "kind": one.kind, "description": one.description} for one in run.candidates],
        "cases": [{"name": case.name, "title": case.title, "keys": case.keys, "value_bytes": case.value_bytes,
                   "phases": [phase.name for phase in case.phases]} for case in cases],
        "commands": run.commands, "samples": run.samples, "summary": rows, "failures": run.failures,
    }


def out_folder(options, names, started):
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(started))
    folder = pathlib.Path(options.out) if options.out else BUILD_ROOT / "bench" / f"{'+'.join(names)}-{stamp}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ToolError(f"--out: {error}") from error
    return folder


def programs_of(options, screen):
    if options.no_build or options.build:
        found = programs.find(options.rocksdb, options.build)
    else:
        found = programs.build(options.rocksdb, screen)
    if options.db_bench:
        found.db_bench = pathlib.Path(options.db_bench)
    return found


def measure(options, screen):
    names, title, cases = chosen_cases(options)
    if not pathlib.Path(options.place).is_dir() or not is_tmpfs(options.place):
        raise ToolError(f"--place: {options.place} is not on a tmpfs; a disk below an emulated device would be measured instead")
    started = time.time()
    folder = out_folder(options, names, started)
    found = programs_of(options, screen)
    if any(case.engine == "ycsb" for case in cases):
        screen.working("building the client of YCSB")
        found.ycsb = programs.build_ycsb(options.rocksdb)
    place = pathlib.Path(tempfile.mkdtemp(prefix="zenfs-bench-", dir=options.place))
    try:
        run = Run(found, options, chosen_candidates(options, found, place), place, screen)
        found.check(run.candidates)
        run.machine = machine.describe()
        run.run(cases)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    written = document(run, names, title, cases, started, time.time() - started)
    results.check(written)
    results.write(folder / "results.json", written)
    if options.json:
        results.write(options.json, written)
    (folder / "index.html").write_text(Page(written).render())
    screen.clear()
    print(table.text(written))
    print(f"\n{folder}/results.json\n{folder}/index.html")
    return 1 if run.failures else 0


def redraw(path, svg):
    path = pathlib.Path(path)
    try:
        page = Page(results.read(path))
        text, image = page.render(), plots.svg(page.figure())
    except (OSError, ValueError) as error:
        raise ToolError(f"--page: {path}: {error}") from error
    (path.parent / "index.html").write_text(text)
    print(path.parent / "index.html")
    if svg:
        try:
            pathlib.Path(svg).write_text(image, encoding="utf-8")
        except OSError as error:
            raise ToolError(f"--svg: {error}") from error
        print(svg)
    return 0


def main(arguments):
    options = parse(arguments)
    screen = Screen(sys.stderr)

    def work():
        if options.list:
            return show_list(options)
        return redraw(options.page, options.svg) if options.page else measure(options, screen)

    return command.run(PROG, work, screen.line)
