"""Where things are, how they are built, and the error that ends a tool with one line."""
import os
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD_ROOT = (ROOT / os.environ.get("BUILD_ROOT", "build")).resolve()


class ToolError(Exception):
    """What a tool itself lacks or can't do, as one line for a person. Never a test that failed."""


def shown(path):
    """As a person would type it, here."""
    return os.path.relpath(path)


def build(preset, *targets):
    """Builds targets by scripts/build. The folder that they are in."""
    made = subprocess.run([ROOT / "scripts" / "build", preset, *targets], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    if made.returncode != 0:
        raise ToolError(f"scripts/build {' '.join([preset, *targets])} fails:\n{made.stdout[-4000:]}")
    return BUILD_ROOT / preset


def compiler_cache():
    """Arguments of cmake that make it compile through ccache, if there is one."""
    return ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []


def installed_rocksdb():
    """(version of the source package, version of RocksDB) that the installed librocksdb-dev was built from."""
    done = subprocess.run(["dpkg-query", "-W", "-f=${source:Version}", "librocksdb-dev"], capture_output=True, text=True,
                          check=False)
    package = done.stdout.strip()
    if done.returncode != 0 or not package:
        raise ToolError("librocksdb-dev is not installed; scripts/setup installs it")
    return package, re.match(r"(?:\d+:)?([\d.]+)", package)[1]


def rocksdb_directory(version=None):
    """Of one RocksDB, without a version the installed one: its headers, library and source, and what is built of them."""
    return BUILD_ROOT / "rocksdb" / (version or installed_rocksdb()[1])


def rocksdb_source(directory):
    """Unpacks the source of the installed RocksDB into `directory`, if it is not there."""
    package = installed_rocksdb()[0]
    done = subprocess.run([ROOT / "scripts" / "debian-source", f"rocksdb={package}", directory], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        raise ToolError(f"RocksDB's source can't be had: {(done.stderr.strip() or 'no reason given').splitlines()[-1]}")
    if f" {package} " not in done.stdout:
        raise ToolError(f"{directory} is not the source of the installed librocksdb {package}; remove it")
