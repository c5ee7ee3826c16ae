"""What Debian has: its own RocksDB, and the headers of the one inside MariaDB."""
import pathlib
import re
import shutil
import subprocess

from tooling.places import ROOT, ToolError

from .releases import MARIADB
from .run import run


def link_installed(release, to):
    """Links to the headers and the library of librocksdb-dev, from the directory `to`."""
    paths = subprocess.run(["dpkg-query", "-L", "librocksdb-dev"], capture_output=True, text=True, check=False).stdout
    library = re.search(r"^.*/librocksdb\.so$", paths, re.M)
    header = re.search(r"^(.*/rocksdb)/version\.h$", paths, re.M)
    if not library or not header:
        raise ToolError(f"RocksDB {release.version} is Debian's librocksdb-dev, which is not installed (scripts/setup "
                     "installs it)")
    (to / "include").mkdir()
    (to / "include" / "rocksdb").symlink_to(header[1])
    (to / "lib").mkdir()
    (to / "lib" / "librocksdb.so").symlink_to(library[0])


def version_of_mariadb():
    """The version of the installed mariadb-server-core; empty without one."""
    done = subprocess.run(["dpkg-query", "-W", "-f=${db:Status-Status} ${Version}", "mariadb-server-core"],
                          capture_output=True, text=True, check=False)
    state, _, version = done.stdout.partition(" ")
    return version if state == "installed" else ""


def fetch_packages(names, work, to):
    """What the binary packages hold, unpacked into `to`; nothing is installed."""
    for name in names:
        run(["apt-get", "download", name], f"the package {name}", work / "apt-get.log", cwd=work)
    for package in sorted(work.glob("*.deb")):
        run(["dpkg-deb", "-x", str(package), str(to)], f"what is in {package.name}", work / "dpkg-deb.log")


def fetch_plugin_of_mariadb(work, to):
    """MariaDB's storage engine with its RocksDB, and the server as a library, which the engine takes functions from.

    A server loads only the engine of its own version. If one is installed, the engine has that version.
    """
    depends = subprocess.run(["apt-cache", "depends", "libmariadbd-dev"], capture_output=True, text=True,
                             check=False).stdout
    server = re.search(r"Depends: (libmariadbd\d\S*)", depends)
    if not server:
        raise ToolError("can't get MariaDB's library: this machine's package sources name no libmariadbd")
    unpacked = work / "packages"
    version = version_of_mariadb()
    fetch_packages([f"{name}={version}" if version else name for name in ("mariadb-plugin-rocksdb", server[1])], work,
                   unpacked)
    to.mkdir()
    for pattern in ("ha_rocksdb.so", "libmariadbd.so.*"):
        for found in unpacked.rglob(pattern):
            shutil.copy(found, to)


def fetch_headers_of_mariadb(release, work, to):
    """The headers of the RocksDB in MariaDB's source package, into the new directory `to`.

    For the engine in MariaDB also those of its plugin interface.
    """
    tree = work / "mariadb"
    run([str(ROOT / "scripts" / "debian-source"), "mariadb", str(tree)], f"the headers of RocksDB {release.version}",
        work / "debian-source.log", cwd=work)
    found = sorted(pathlib.Path(tree).glob("**/storage/rocksdb/rocksdb/include"))
    if not found:
        raise ToolError(f"MariaDB's source package has no storage/rocksdb/rocksdb/include: see {work}")
    shutil.copytree(found[0], to)
    if release.library == MARIADB:
        shutil.copytree(tree / "include" / "mysql", to / "mysql")
        for name in ("my_alloca.h", "mysql_time.h"):
            shutil.copy(tree / "include" / name, to)
