"""scripts/fuzz: builds the targets, makes seeds, runs each target, reports the results."""
import argparse
import os
import shutil
import subprocess
import sys
import time

from tooling.command import add_json_or_table, at_least_one, run
from tooling.places import ROOT, ToolError, build
from tooling.report import STANDARD_OUTPUT, counts, write_json

from . import places
from .run import Run
from .screen import HEADER, Screen
from .targets import TARGETS


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="fuzz", description="Fuzzes ZenFS with libFuzzer and the sanitizers (docs/testing/fuzzing.md). "
        "Exit status 1 if anything was found, 2 if it could not run.")
    parser.add_argument("--time", type=at_least_one, metavar="SECONDS", help="for each target (default 60, without --runs)")
    parser.add_argument("--runs", type=at_least_one, metavar="N", help="executions of each target")
    parser.add_argument("--target", nargs="+", action="extend", choices=TARGETS, metavar="NAME",
                        help=f"only these of: {', '.join(TARGETS)}")
    parser.add_argument("--light", action="store_true",
                        help="without the address sanitizer: more than twice as many executions a second")
    parser.add_argument("--jobs", type=at_least_one, default=1, metavar="N", help="targets at a time (default 1)")
    add_json_or_table(parser)
    parser.add_argument("--no-build", action="store_true", help="the targets are built, and their seeds made")
    chosen = parser.parse_args(arguments)
    if chosen.time is None and chosen.runs is None:
        chosen.time = 60
    return chosen


def make(built):
    """The targets and their seeds."""
    if shutil.which("clang++-19") is None:
        raise ToolError("NOT RUN, there is no clang++-19 (scripts/setup installs it)")
    build(built.preset, "zenfs_fuzzers")
    shutil.rmtree(built.seeds, ignore_errors=True)
    made = subprocess.run([built.folder / "zenfs_fuzz_seeds", built.seeds], check=False, stderr=subprocess.PIPE)
    if made.returncode != 0:
        raise ToolError(f"the seeds can't be made: {made.stderr.decode(errors='replace').strip()}")


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
            screen.progress(working)
    finally:
        for run in working:
            run.stop()


def report(runs):
    return {**counts(runs, lambda run: run.ok), "targets": [run.as_json() for run in runs]}


def fuzz(chosen, screen):
    built = places.Built("fuzz-light" if chosen.light else "asan")
    if not chosen.no_build:
        make(built)
    os.chdir(ROOT)
    runs = [Run(target, chosen.time, chosen.runs, built) for target in chosen.target or TARGETS]
    screen.line(HEADER)
    run_all(runs, chosen.jobs, screen)
    screen.failures(runs)
    result = report(runs)
    write_json(chosen.json, result)
    screen.line(f"{result['passed']} targets found nothing, {result['failed']} did")
    return 1 if result["failed"] else 0


def main(arguments):
    chosen = parse(arguments)
    screen = Screen(sys.stderr if chosen.json == STANDARD_OUTPUT else sys.stdout)
    return run("fuzz", lambda: fuzz(chosen, screen), screen.line)
