"""scripts/fuzz: builds the targets, makes seeds, runs each target, says what came out."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import time

from . import places
from .run import Run
from .screen import HEADER, Screen
from .targets import TARGETS


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="fuzz", description="Fuzzes ZenFS with libFuzzer and the sanitizers (docs/fuzzing.md). "
        "Exit status 1 if anything was found, 2 if it could not run.")
    parser.add_argument("--time", type=int, metavar="SECONDS", help="for each target (default 60, without --runs)")
    parser.add_argument("--runs", type=int, metavar="N", help="executions of each target")
    parser.add_argument("--target", nargs="+", action="extend", choices=TARGETS, metavar="NAME",
                        help=f"only these of: {', '.join(TARGETS)}")
    parser.add_argument("--light", action="store_true",
                        help="without the address sanitizer: more than twice as many executions a second")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="targets at a time (default 1)")
    parser.add_argument("--json", nargs="?", const="-", metavar="FILE",
                        help="what came out as JSON, into FILE or in place of the table")
    parser.add_argument("--no-build", action="store_true", help="the targets are built, and their seeds made")
    chosen = parser.parse_args(arguments)
    if chosen.time is None and chosen.runs is None:
        chosen.time = 60
    if min(chosen.jobs, chosen.time or 1, chosen.runs or 1) < 1:
        parser.error("--time, --runs and --jobs are at least 1")
    return chosen


def build(built, screen):
    """False if it failed."""
    if shutil.which("clang++-19") is None:
        screen.line("!!! fuzz: NOT RUN, there is no clang++-19 (scripts/setup installs it)")
        return False
    if subprocess.run([places.SOURCE / "scripts" / "build", built.preset, "zenfs_fuzzers"], check=False).returncode != 0:
        screen.line("fuzz: the targets do not build")
        return False
    shutil.rmtree(built.seeds, ignore_errors=True)
    made = subprocess.run([built.folder / "zenfs_fuzz_seeds", built.seeds], check=False, stderr=subprocess.PIPE)
    if made.returncode != 0:
        screen.line(f"fuzz: the seeds can't be made: {made.stderr.decode(errors='replace').strip()}")
    return made.returncode == 0


def run_all(runs, jobs, screen):
    waiting, working = list(runs), []
    try:
        while waiting or working:
            while waiting and len(working) < jobs:
                working.append(waiting.pop(0))
                working[-1].start()
            time.sleep(0.2)
            for run in [run for run in working if run.over()]:
                working.remove(run)
                screen.row(run)
            screen.working(working)
    finally:
        for run in working:
            run.stop()


def report(runs):
    failed = sum(not run.ok for run in runs)
    return {"passed": len(runs) - failed, "failed": failed, "targets": [run.as_json() for run in runs]}


def main(arguments):
    chosen = parse(arguments)
    built = places.Built("fuzz-light" if chosen.light else "asan")
    screen = Screen(sys.stderr if chosen.json == "-" else sys.stdout)
    if not chosen.no_build and not build(built, screen):
        return 2
    os.chdir(places.SOURCE)
    runs = [Run(target, chosen.time, chosen.runs, built) for target in chosen.target or TARGETS]
    screen.line(HEADER)
    try:
        run_all(runs, chosen.jobs, screen)
    except KeyboardInterrupt:
        screen.line("interrupted")
        return 2
    screen.failures(runs)
    result = report(runs)
    if chosen.json == "-":
        print(json.dumps(result, indent=2))
    elif chosen.json:
        with open(chosen.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=2)
    screen.line(f"{result['passed']} targets found nothing, {result['failed']} did")
    return 1 if result["failed"] else 0
