"""The command lines of the tools: what their arguments have in common, and how they end."""
import argparse
import signal
import sys

from tooling.places import ToolError
from tooling.report import STANDARD_OUTPUT

COULD_NOT_RUN = 2
INTERRUPTED = 130


def parser(name, arguments, usage):
    """For the flags that `usage` explains. If these arguments ask for it, it is printed, and the program ends."""
    if {"-h", "--help"} & set(arguments):
        print(usage.strip())
        sys.exit(0)
    return argparse.ArgumentParser(prog=name, add_help=False)


def at_least_one(text):
    """The type of an argument."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def add_json(parser):
    parser.add_argument("--json", metavar="FILE", help="also write the results there")


def add_json_or_table(parser):
    """--json=FILE as add_json; --json alone: in place of the table. With positional arguments, see lone_json."""
    parser.add_argument("--json", nargs="?", const=STANDARD_OUTPUT, metavar="FILE",
                        help="what came out as JSON, into FILE or in place of the table")


def lone_json(arguments):
    """The arguments with a --json that has no file made whole, so that it takes no positional argument behind it."""
    return [f"--json={STANDARD_OUTPUT}" if argument == "--json" else argument for argument in arguments]


def interrupt(*_):
    raise KeyboardInterrupt


def run(name, work, complain=None, could_not_run=COULD_NOT_RUN):
    """The exit status of work(), or what ends it: a tool that could not run or was interrupted says so in one line."""
    def to_stderr(text):
        print(text, file=sys.stderr)

    complain = complain or to_stderr
    signal.signal(signal.SIGTERM, interrupt)
    try:
        return work()
    except ToolError as error:
        complain(f"{name}: {error}")
        return could_not_run
    except KeyboardInterrupt:
        complain(f"{name}: interrupted")
        return INTERRUPTED
