"""The command line of scripts/simulate."""
import argparse
import dataclasses
import os

from tooling import command
from tooling.places import build
from tooling.report import counts, write_json

from simulator import mutants, workers
from simulator.screen import Screen


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="simulate", description="ZenFS on a simulated device, with threads, faults and crashes as a seed decides: "
        "after each crash the volume must mount, show what it promised, and be sound. docs/testing/crashes.md says more.")
    parser.add_argument("--seeds", metavar="N", type=int, help="so many seeds (default: as many as the time allows)")
    parser.add_argument("--time", metavar="S", type=int, help="begin no seed after so many seconds (default 60, without "
                        "--seeds)")
    parser.add_argument("--first", metavar="SEED", type=int, default=1, help="the first seed (default 1)")
    parser.add_argument("--seed", metavar="S", type=int, help="this seed alone, and what it does")
    parser.add_argument("--steps", default="", help="with --seed: only these steps of its clients (a failure prints them)")
    parser.add_argument("--crash-after", metavar="N", type=int, help="with --seed: crash the last round after so many "
                        "commands of the device")
    parser.add_argument("--ask", metavar="NAMES", default="", help="also these questions of tests/simulation/questions.h, "
                        "separated by commas, or all: those that await the mend of a fault")
    parser.add_argument("--no-shrink", action="store_true", help="don't look for fewer steps that fail as well")
    parser.add_argument("--jobs", metavar="N", type=int, default=os.cpu_count(), help="so many at once (default: cores)")
    parser.add_argument("--preset", default="release", help="how it is built: release, checked (with assertions), asan or tsan "
                        "(default release)")
    parser.add_argument("--mutants", nargs="*", metavar="NAME", help="break each of the rules in "
                        "tests/simulation/simulator/mutations.py once, or only those named, and count the seeds until the "
                        "simulator finds it")
    command.add_json(parser)
    return parser.parse_args(arguments)


def shrink(program, seed, options, screen):
    screen.working("looking for fewer steps")
    asks = [f"--ask={options.ask}"] if options.ask else []
    arguments = [f"--seed={seed}", "--shrink", *asks] + ([f"--steps={options.steps}"] if options.steps else [])
    small = workers.ask(program, *arguments)
    outcome = None
    if small and small.get("failure"):
        again = [f"--seed={seed}", *asks] + ([f"--steps={small['steps']}"] if small["steps"] else [])
        again += [f"--crash-after={small['crash_after']}"] if "crash_after" in small else []
        outcome = workers.ask(program, *again)
    screen.shrunk(small, outcome, options)
    return small


def one_seed(program, options, screen):
    arguments = [f"--seed={options.seed}"] + ([f"--steps={options.steps}"] if options.steps else [])
    arguments += [f"--ask={options.ask}"] if options.ask else []
    arguments += [f"--crash-after={options.crash_after}"] if options.crash_after is not None else []
    outcome = workers.ask(program, *arguments)
    write_json(options.json, outcome)
    if outcome is not None and not outcome.get("failure"):
        screen.line(f"seed {options.seed}: {outcome['crashes']} crashes, {outcome['commands']} commands, "
                    f"{outcome['faults']} faults, {outcome['steps']} calls; all is well (fingerprint "
                    f"{outcome['fingerprint']})")
        return 0
    failure = workers.Failure(options.seed, "the simulator dies; run it in a debugger")
    if outcome is not None:
        failure = workers.Failure.said(program, outcome)
    screen.failure(failure, options)
    if outcome is not None:
        screen.line(outcome["history"])
    return 1


def many_seeds(program, options, screen):
    seconds = options.time if options.time or options.seeds else 60
    totals, failure = workers.run(program, first=options.first, seeds=options.seeds, seconds=seconds, jobs=options.jobs,
                                  on_progress=screen.progress, ask=options.ask)
    if failure:
        screen.failure(failure, options)
        if not options.no_shrink:
            shrink(program, failure.seed, options, screen)
    screen.totals(totals)
    write_json(options.json, {"passed": 0 if failure else 1, "failed": 1 if failure else 0,
                              "seconds": round(screen.seconds(), 1), **dataclasses.asdict(totals),
                              "failure": dataclasses.asdict(failure) if failure else None})
    return 1 if failure else 0


def work(options):
    screen = Screen()
    if options.mutants is not None:
        results = mutants.run(options.mutants, options.seeds or 20000, options.jobs, screen)
        write_json(options.json, {**counts(results, lambda it: it["found"]), "mutants": results})
        return 0 if all(it["found"] for it in results) else 1
    screen.working("building")
    program = build(options.preset, "zenfs_simulate") / "zenfs_simulate"
    return one_seed(program, options, screen) if options.seed is not None else many_seeds(program, options, screen)


def main(arguments):
    options = parse(arguments)
    return command.run("simulate", lambda: work(options))
