"""Where things are, and the error that a person is told in one line."""
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "rocksdb_suites"
BUILD = pathlib.Path(os.environ.get("BUILD_ROOT", ROOT / "build")).resolve()


class SuiteError(Exception):
    """The run can't go on; the text is for the person who started it."""


def installed_rocksdb():
    """(version of the source package, version of RocksDB) that the installed librocksdb-dev was built from."""
    done = subprocess.run(["dpkg-query", "-W", "-f=${source:Version}", "librocksdb-dev"], capture_output=True, text=True,
                          check=False)
    package = done.stdout.strip()
    if done.returncode != 0 or not package:
        raise SuiteError("librocksdb-dev is not installed; scripts/setup installs it")
    return package, re.match(r"(?:\d+:)?([\d.]+)", package)[1]


def suites_directory():
    """Below build/, of the RocksDB that is installed: its source, and what is built and run from it."""
    return BUILD / "rocksdb" / installed_rocksdb()[1]
