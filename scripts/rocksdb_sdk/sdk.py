"""One RocksDB in one directory: made once, whole or not at all."""
import fcntl
import json
import re
import shutil
import sys

from tooling.places import BUILD_ROOT, ToolError

from . import crate, debian, maven
from .releases import DEBIAN, MARIADB, MAVEN, describe

MADE_AS = 1  # raise it when a directory made by an older form of this program won't do any more


def version_of(include):
    """"11.8.1", as the headers say."""
    text = (include / "rocksdb" / "version.h").read_text(encoding="utf-8")
    return ".".join(re.search(rf"#define ROCKSDB_{part}\s+(\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def marks(release):
    """What sdk.json must say for a directory to be of use."""
    return {"made_as": MADE_AS} | ({"mariadb": debian.version_of_mariadb()} if release.library == MARIADB else {})


def is_whole(directory, release):
    try:
        told = json.loads((directory / "sdk.json").read_text())
        return marks(release).items() <= told.items() and version_of(directory / "include") == release.version
    except (OSError, ValueError):
        return False


def fill(directory, work, release, source):
    if source:
        (directory / "source").symlink_to(source.resolve())
        (directory / "include").symlink_to("source/include")
    elif release.crate:
        crate.fetch_source(release, work, directory / "source")
        (directory / "include").symlink_to("source/include")
    elif release.library == DEBIAN:
        debian.link_installed(release, directory)
    else:
        debian.fetch_headers_of_mariadb(release, work, directory / "include")
    if release.library == MARIADB:
        debian.fetch_plugin_of_mariadb(work, directory / "lib")
    if release.library == MAVEN:
        maven.take_library(maven.fetch_jar(release, work, directory / "jar"), directory / "lib")
    try:
        found = version_of(directory / "include")
    except OSError as error:
        raise ToolError(f"no source of RocksDB: {error}") from error
    if found != release.version:
        raise ToolError(f"the headers that came for RocksDB {release.version} are of {found}")
    (directory / "sdk.json").write_text(json.dumps(
        {**marks(release), "version": release.version, "from": describe(release, source)}, indent=2) + "\n")


def make(release, source=None):
    """The directory of `release`, made unless it is there, with the headers of the tree `source` if that is given. Safe beside other
    calls, in other processes too."""
    root = BUILD_ROOT / "rocksdb"
    root.mkdir(parents=True, exist_ok=True)
    directory = root / release.name
    with open(root / f".{release.name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_whole(directory, release):
            return directory
        print(f"rocksdb-sdk: getting RocksDB {release.name}: {describe(release, source)}", file=sys.stderr, flush=True)
        partial = root / f".{release.name}.partial"
        for leftover in (partial, directory):
            shutil.rmtree(leftover, ignore_errors=True)
        work = partial / "work"
        work.mkdir(parents=True)
        try:
            fill(partial, work, release, source)
        except OSError as error:
            raise ToolError(f"can't make {directory}: {error}") from error
        shutil.rmtree(work)
        partial.rename(directory)
    return directory
