"""scripts/rocksdb-sdk: its arguments, and what it prints."""
import argparse
import sys

from . import sdk
from .releases import RELEASES, describe
from .run import Failed


def parsed(arguments, usage):
    if not arguments or {"-h", "--help"} & set(arguments):
        print(usage.strip())
        sys.exit(0 if arguments else 1)
    parser = argparse.ArgumentParser(prog="rocksdb-sdk", add_help=False)
    parser.add_argument("versions", nargs="*", metavar="VERSION")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--print", choices=("include", "jar", "lib", "source"), dest="part")
    return parser.parse_args(arguments)


def shown(directory, part):
    """`directory`, or its `part`: of libraries and jars the file itself."""
    if part is None:
        return directory
    place = directory / part
    if not place.exists():
        raise Failed(f"there is no {part} of RocksDB {directory.name}")
    return next(file for file in place.iterdir() if file.suffix in (".jar", ".so")) if part in ("jar", "lib") else place


def main(arguments, usage):
    options = parsed(arguments, usage)
    if options.list:
        for release in RELEASES.values():
            print(f"{release.name:14}  {describe(release)}")
    try:
        for version in options.versions:
            if version not in RELEASES:
                raise Failed(f"RocksDB {version} can't be had; {', '.join(RELEASES)} can")
            print(shown(sdk.make(RELEASES[version]), options.part), flush=True)
    except Failed as failure:
        print(f"rocksdb-sdk: {failure}", file=sys.stderr)
        return 1
    return 0
