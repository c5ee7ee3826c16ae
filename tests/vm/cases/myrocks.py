"""MyRocks on real zoned block devices, as a user without privileges."""
import os
import pathlib
import shutil
import sys

from guest import volume, zonefs
from guest.devices import fresh
from guest.shell import run
from lab import drives
from lab.case import case

MYSQL = 4712  # the number of the user; mysql is not in the list of users of every host
MINUTES = 60
PLUGINS = ("ha_rocksdb.so", "ha_rocksdb_fs.so")
ROWS = 2000


def reachable_plugins():
    """A folder with the plugin libraries that any user can get to: the build may lie in a home of mode 700."""
    folder = pathlib.Path("/run/tmp/plugins")
    folder.mkdir(exist_ok=True)
    for name in PLUGINS:
        shutil.copy(volume.BINARIES.parent / "myrocks" / "plugins" / name, folder / name)
        (folder / name).chmod(0o755)
    return folder


def use(device, name):
    """A server makes a database, is killed, and finds every committed row again."""
    root = pathlib.Path(__file__).resolve().parents[3]
    sys.path[:0] = [str(root / "scripts"), str(root / "myrocks")]
    from harness.kit import SMALL  # pylint: disable=import-outside-toplevel
    from harness.server import Server  # pylint: disable=import-outside-toplevel
    device.zenfs("mkfs")
    server = Server(f"/run/tmp/{name}", reachable_plugins(), device.uri, SMALL, name=name, user=MYSQL).install()
    server.start()
    server.query("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY, b CHAR(200)) ENGINE=rocksdb;"
                 f"INSERT INTO d.t SELECT seq, REPEAT('x', 200) FROM seq_1_to_{ROWS};"
                 "SET GLOBAL rocksdb_force_flush_memtable_now = 1; INSERT INTO d.t VALUES (0, 'the last one')")
    print(server.query("SHOW GLOBAL STATUS LIKE 'zenfs%'"))
    server.kill()
    server.start()
    assert server.query("SELECT COUNT(*) FROM d.t") == str(ROWS + 1)
    assert server.query("CHECK TABLE d.t EXTENDED").split("\t")[-1] == "OK"
    run("ps", "-o", "user,args", "-p", str(server.process.pid))
    server.stop()
    assert server.log_lines("is unmounted"), server.last_error()
    device.zenfs("check", "--read-data")
    assert ".sst" in device.zenfs("list", "--path=.rocksdb")
    server.close()


@case(short=(), needs=("zenfs", "../myrocks/plugins/ha_rocksdb_fs.so"), seconds=20 * MINUTES)
def myrocks_on_a_block_device():
    "a MariaDB server of an unprivileged user with its tables on an NVMe ZNS drive, by dev:; killed, and all is there"
    name = fresh(drives.MAIN.serial)
    os.chmod(f"/dev/{name}", 0o666)
    use(volume.block(name), "block")
    os.chmod(f"/dev/{name}", 0o600)


@case(short=(), needs=("zenfs", "../myrocks/plugins/ha_rocksdb_fs.so"), seconds=20 * MINUTES)
def myrocks_on_zonefs():
    "the same by zonefs:, whose files belong to that user; the device itself may only be opened by root"
    name = fresh(drives.MAIN.serial)
    os.chmod(f"/dev/{name}", 0o600)
    with zonefs.mounted(name, uid=MYSQL, gid=MYSQL, perm=0o600) as place:
        use(volume.zonefs(place), "zonefs")
