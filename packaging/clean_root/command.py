"""The command line of scripts/debian-packages."""
import argparse
import pathlib
import re
import shutil
import sys
import tarfile
import tempfile

from clean_root import sources, trial
from clean_root.root import Root
from tooling import command
from tooling.places import BUILD_ROOT, ToolError, shown
from tooling.screen import Screen

BUILD = """
cd /build/zenfs
export DEBIAN_FRONTEND=noninteractive
apt-get -q -y build-dep .
# The headers of the RocksDB inside MariaDB are in no package, only in its source, which a mirror may lack.
profiles=
if ZENFS_MARIADB=$(BUILD_ROOT=/build/sdk scripts/rocksdb-sdk 6.29.5-mariadb); then profiles=pkg.zenfs.myrocks; fi
ZENFS_MARIADB_VERSION=$(apt-cache show --no-all-versions mariadb-plugin-rocksdb | sed -n 's/^Version: //p')
export ZENFS_MARIADB ZENFS_MARIADB_VERSION
DEB_BUILD_OPTIONS=nocheck DEB_BUILD_PROFILES=$profiles dpkg-buildpackage -b -uc -us
cd ..
runuser -u nobody -- lintian --fail-on error,warning --info zenfs_*.changes
mkdir /packages
cp zenfs*_* libzenfs* /packages
"""


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="debian-packages", description="Builds Debian packages of ZenFS in a clean root of a Debian release, and with --test installs, "
        "uses, upgrades and removes them in another; docs/use/packages.md tells the rest. Changes nothing outside of --out.")
    parser.add_argument("--suite", default=None, metavar="NAME", help="bookworm, trixie, ... (default: the release of this host)")
    parser.add_argument("--out", metavar="DIR", help="for the packages (default: below build/debian)")
    parser.add_argument("--test", action="store_true", help="also try them")
    parser.add_argument("--no-build", action="store_true", help="with --test: the packages that are there")
    return parser.parse_args(arguments)


def suite_of_host():
    found = re.search(r"^VERSION_CODENAME=(\S+)", pathlib.Path("/etc/os-release").read_text(), re.M)
    if not found:
        raise ToolError("the release of this host is unknown; say --suite")
    return found[1]


def build(suite, out, screen):
    screen.working(f"building packages in a clean root of {suite}")
    with tempfile.TemporaryDirectory(prefix="zenfs-packages-") as work:
        archive, packages = pathlib.Path(work) / "tree.tar", pathlib.Path(work) / "packages.tar"
        sources.write(archive)
        root = Root(suite, ["build-essential", "lintian", "python3"])
        root.unpack_in(archive, "/build/zenfs")
        root.copy_out("/packages", packages)
        root.run(BUILD, out / "build.log")
        for old in out.glob("*.deb"):
            old.unlink()
        with tarfile.open(packages) as tar:
            for member in filter(tarfile.TarInfo.isfile, tar):
                member.name = pathlib.PurePath(member.name).name
                tar.extract(member, out, filter="data")


def work(options):
    screen = Screen(sys.stderr)
    suite = options.suite or suite_of_host()
    out = pathlib.Path(options.out).resolve() if options.out else BUILD_ROOT / "debian" / suite
    out.mkdir(parents=True, exist_ok=True)
    if not options.no_build:
        build(suite, out, screen)
    debs = sorted(out.glob("*.deb"))
    if not debs:
        raise ToolError(f"there are no packages in {shown(out)}")
    screen.clear()
    for deb in debs:
        print(shown(deb))
    if not any(map(trial.is_myrocks, debs)):
        screen.line(f"debian-packages: {suite}: no package for MyRocks, because MariaDB's source can't be had; see {shown(out / 'build.log')}")
    if options.test:
        trial.run(suite, debs, out / "test.log", screen)
    return 0


def main(arguments):
    options = parse(arguments)
    return command.run("debian-packages", lambda: work(options))
