"""Prometheus and promtool: those of this host, or unpacked from Debian's package.

The package is not installed: it would start a server of the system.
"""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

FOLDER = pathlib.Path(os.environ["BUILD"]) / "prometheus"


def program(name):
    """The path of `prometheus` or `promtool`. Skips the test if there is none."""
    found = shutil.which(name)
    if found:
        return found
    if not FOLDER.exists():
        unpack()
    return str(FOLDER / "usr" / "bin" / name)


def unpack():
    FOLDER.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER.parent) as work:
        done = subprocess.run(["apt-get", "-q", "download", "prometheus"], cwd=work, capture_output=True, text=True, check=False)
        packages = list(pathlib.Path(work).glob("*.deb"))
        if done.returncode != 0 or not packages:
            raise unittest.SkipTest("NOT RUN: there is no Prometheus, and apt-get download prometheus fails; run apt-get update")
        subprocess.run(["dpkg-deb", "-x", packages[0], f"{work}/tree"], check=True)
        os.rename(f"{work}/tree", FOLDER)


def promtool(*words, **run):
    """Its exit status and all that it printed."""
    done = subprocess.run([program("promtool"), *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **run)
    return done.returncode, done.stdout
