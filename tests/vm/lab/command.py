"""The command line of scripts/vm-test."""
import argparse
import os
import pathlib
import random

from tooling import command
from tooling.places import ToolError
from tooling.report import counts, write_json

from lab import kernels
from lab.case import all_cases
from lab.screen import Screen
from lab.shell_job import shell_job
from lab.suite import Suite, check_binaries


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="vm-test", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Runs ZenFS on real kernels with real zoned devices, in QEMU; docs/testing/lab.md says how.")
    parser.add_argument("--full", action="store_true", help="all cases; without it a selection that takes minutes")
    parser.add_argument("--kernel", choices=kernels.LINES, action="append", help="only this kernel line (repeatable)")
    parser.add_argument("--case", metavar="NAME", action="append", help="only this case (repeatable)")
    parser.add_argument("--list", action="store_true", help="say which cases there are, and run none")
    command.add_json(parser)
    parser.add_argument("--verbose", action="store_true", help="show what every case printed, not only those that fail")
    parser.add_argument("--parallel", type=int, choices=(1, 2), default=1, help="guests at a time (default 1)")
    parser.add_argument("--accelerator", choices=("tcg", "kvm"), default="tcg", help="kvm where it works (default tcg)")
    parser.add_argument("--processors", type=int, default=1, help="of each guest (default 1)")
    parser.add_argument("--seed", type=int, help="of the cases that leave things to chance (default: always another)")
    parser.add_argument("--shell-job", metavar="FILE", help="run a script of yours in a guest with the standard "
                        "drives, and show what it prints")
    parser.add_argument("--seconds", type=int, default=600, help="with --shell-job: kill it then (default 600)")
    return parser.parse_args(arguments)


def selected(options):
    cases = all_cases()
    if options.case:
        unknown = set(options.case) - {one.name for one in cases}
        if unknown:
            raise ToolError(f"there is no case '{sorted(unknown)[0]}'; --list shows them")
        return [one for one in cases if one.name in options.case]
    return [one for one in cases if one.short or options.full]


def is_everywhere(options):
    """Whether each case runs on every line that it is for, also where the short selection leaves one out."""
    return bool(options.full or options.case or options.kernel)


def show_list(cases):
    for one in cases:
        print(f"{one.name:34} {','.join(one.short) or 'full':9}  {','.join(one.kernels):9}  {one.shows}")


def find_kernels(lines, screen):
    """Those there are; one that is missing is said loudly, and is an error where CI=true and Debian has it."""
    found, failed = [], []
    for line in lines:
        screen.working(f"getting the kernel of the {line} line")
        try:
            found.append(kernels.get(line))
        except kernels.NoSuchLine as none:
            screen.line(f"!!! {line}: NOT RUN: {none}")
        except ToolError as error:
            screen.line(f"!!! {line}: NOT RUN: {error}")
            failed.append(error)
    if failed and (os.environ.get("CI") == "true" or not found):
        raise failed[0]
    if not found:
        raise ToolError("there is no kernel to run")
    return found


def report(results):
    found = [{"case": result.case, "kernel": result.kernel, "passed": result.ok, "seconds": result.seconds,
              "reason": result.reason} for result in results]
    return {"results": found, **counts(results, lambda result: result.ok)}


def work(options):
    screen = Screen(options.verbose)
    guest_options = {"processors": options.processors, "accelerator": options.accelerator}
    if options.shell_job:
        return shell_job(pathlib.Path(options.shell_job), kernels.get((options.kernel or ["6.12"])[0]), options.seconds,
                         guest_options)
    cases = selected(options)
    if options.list:
        show_list(cases if options.case or options.full else all_cases())
        return 0
    check_binaries(cases)
    found = find_kernels(options.kernel or kernels.LINES, screen)
    seed = random.getrandbits(32) if options.seed is None else options.seed
    suite = Suite(screen, guest_options, options.full, seed)
    results = suite.run(cases, found, options.parallel, is_everywhere(options))
    found = report(results)
    write_json(options.json, found)
    screen.line(f"{found['passed']} passed, {found['failed']} failed")
    return 1 if found["failed"] or not results else 0


def main(arguments):
    options = parse(arguments)
    return command.run("vm-test", lambda: work(options))
