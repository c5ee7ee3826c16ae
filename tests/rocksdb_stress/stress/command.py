"""The command line of scripts/rocksdb-stress."""
import argparse
import dataclasses
import random

from tooling import command
from tooling.places import ToolError
from tooling.report import counts, write_json

from stress import kinds
from stress.programs import find_programs
from stress.run import Plan, Run
from stress.screen import Screen


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="rocksdb-stress", description="RocksDB's db_stress and db_crashtest.py on ZenFS, each run on a fresh "
        "emulated device: killed, mounted again, verified; docs/testing/rocksdb.md says more.")
    parser.add_argument("--kind", metavar="NAME", action="append", help="only this kind (repeatable)")
    parser.add_argument("--full", action="store_true", help="all kinds; without it a selection that takes a minute")
    parser.add_argument("--list", action="store_true", help="say which kinds there are, and run none")
    parser.add_argument("--duration", metavar="S", type=int, default=6, help="seconds of each run (default 6)")
    parser.add_argument("--interval", metavar="S", type=int, default=2,
                        help="seconds from one kill to the next, on average (default 2)")
    parser.add_argument("--rounds", type=int, default=1, help="times that all is run, each with other seeds (default 1)")
    parser.add_argument("--seconds", metavar="S", type=int, help="begin no run after so many seconds")
    parser.add_argument("--seed", type=int, help="of what is left to chance (default: always another)")
    parser.add_argument("--binaries", metavar="DIR", help="where zenfs, libzenfs.so and perhaps db_stress are "
                        "(default: what scripts/build made)")
    parser.add_argument("--posix", action="store_true", help="the same on the host's files, without ZenFS: is a failure "
                        "RocksDB's own?")
    parser.add_argument("--sanitized", action="store_true", help="the binaries were built by scripts/build asan")
    command.add_json(parser)
    return parser.parse_args(arguments)


def selected(options):
    if not options.kind:
        return [kind for kind in kinds.KINDS if (kind.short or options.full) and not (options.posix and kind.must_fail)]
    for name in options.kind:
        if kinds.named(name) is None:
            raise ToolError(f"there is no kind '{name}'; --list shows them")
    return [kinds.named(name) for name in options.kind]


def show_list():
    for kind in kinds.KINDS:
        print(f"{kind.name:20} {'short' if kind.short else 'full ':5}  {kind.shows}")
    print("\nheld back, of db_stress's flags:")
    for name, reason in kinds.HELD_BACK.items():
        print(f"{name:27}  {reason}")


def again(options, kind, seed):
    words = ["scripts/rocksdb-stress", f"--kind={kind.name}", f"--seed={seed}", f"--duration={options.duration}",
             f"--interval={options.interval}"]
    words += ["--posix"] if options.posix else []
    words += ["--sanitized"] if options.sanitized else []
    return " ".join(words + ([f"--binaries={options.binaries}"] if options.binaries else []))


def report(results):
    return {"results": [dataclasses.asdict(result) for result in results], **counts(results, lambda result: result.ok)}


def work(options):
    if options.list:
        show_list()
        return 0
    chosen = selected(options)
    screen = Screen()
    programs = find_programs(options.binaries, options.sanitized, screen)
    seeds = random.Random(options.seed)
    results = []
    screen.head()
    for round_number in range(options.rounds):
        for kind in chosen:
            seed = seeds.getrandbits(31)
            if options.seed is not None and round_number == 0 and options.kind and len(chosen) == 1:
                seed = options.seed  # the one that a failed run named
            if options.seconds and results and screen.seconds() >= options.seconds:
                break
            plan = Plan(options.duration, options.interval, seed, options.posix)
            results.append(Run(programs, kind, plan, screen, again(options, kind, seed)).carry_out())
            screen.result(results[-1])
            write_json(options.json, report(results))
    screen.total(results)
    return 1 if any(not result.ok for result in results) else 0


def main(arguments):
    options = parse(arguments)
    return command.run("rocksdb-stress", lambda: work(options))
