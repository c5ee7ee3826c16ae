"""scripts/rocksdb-sdk: its arguments, and what it prints."""
import argparse
import pathlib
import sys

from tooling import command
from tooling.places import ToolError

from . import plugin, sdk
from .releases import RELEASES, describe, release_of


def parsed(arguments, usage):
    if not arguments or {"-h", "--help"} & set(arguments):
        print(usage.strip())
        sys.exit(0 if arguments else 1)
    parser = argparse.ArgumentParser(prog="rocksdb-sdk", add_help=False)
    parser.add_argument("versions", nargs="*", metavar="VERSION")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--print", choices=("include", "jar", "lib", "plugin", "source"), dest="part")
    parser.add_argument("--source", type=pathlib.Path)
    return parser.parse_args(arguments)


def shown(directory, part):
    """`directory`, or its `part`: of libraries and jars the file itself."""
    if part is None:
        return directory
    place = directory / part
    if not place.exists():
        raise ToolError(f"there is no {part} of RocksDB {directory.name}")
    return next(file for file in place.iterdir() if file.suffix in (".jar", ".so")) if part in ("jar", "lib") else place


def get(options):
    if options.list:
        for release in RELEASES.values():
            print(f"{release.name:14}  {describe(release)}")
    if options.source and len(options.versions) != 1:
        raise ToolError("--source is for one version")
    for version in options.versions:
        directory = sdk.make(release_of(version), options.source)
        print(plugin.build(directory) if options.part == "plugin" else shown(directory, options.part), flush=True)
    return 0


def main(arguments, usage):
    options = parsed(arguments, usage)
    return command.run("rocksdb-sdk", lambda: get(options), could_not_run=1)
