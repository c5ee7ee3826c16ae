"""What users do with tables."""
import re
import shutil
import subprocess

from harness import sysbench
from harness.case import case, expect, expect_equal
from tooling.places import ROOT

from .crash import BUFFERED, BUSY, DIRECT

SIZE = sysbench.Size(tables=2, rows=10000, threads=4, seconds=5)


def checked(server, table):
    expect_equal(server.query(f"CHECK TABLE {table} EXTENDED").split("\t")[-1], "OK", f"CHECK TABLE {table}")
    return server.query(f"CHECKSUM TABLE {table}").split("\t")[-1]


def expect_same_after_restart(kit, server, device, tables):
    before = {table: checked(server, table) for table in tables}
    server.stop()
    device.expect_sound()
    server.start()
    for table, checksum in before.items():
        expect_equal(checked(server, table), checksum, f"the checksum of {table} after a restart")
    server.stop()


@case()
def tables_are_the_same_with_and_without_direct_io(kit):
    """sysbench with direct and with buffered I/O: no errors, the same checksums after a restart with the other one"""
    device = kit.device()
    server = kit.server(device.uri, options=BUSY)
    for options in (DIRECT, BUFFERED):
        server.options = [option for option in server.options if "direct" not in option] + options
        server.start()
        if options is DIRECT:
            sysbench.prepare(server, SIZE)
        for workload in ("oltp_write_only", "oltp_read_write"):
            expect(sysbench.measure(server, workload, SIZE).transactions > 0, f"{workload}: no transactions")
        expect_same_after_restart(kit, server, device, ["sbtest.sbtest1", "sbtest.sbtest2"])


@case()
def bulk_load_fills_tables(kit):
    """rows loaded with rocksdb_bulk_load are there, also after a kill that follows the load"""
    device = kit.device()
    server = kit.server(device.uri, options=DIRECT).start()
    server.query("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY, b CHAR(200)) ENGINE=rocksdb;"
                 "SET rocksdb_bulk_load=1; INSERT INTO d.t SELECT seq, REPEAT('x', 200) FROM seq_1_to_100000;"
                 "SET rocksdb_bulk_load=0")
    before = checked(server, "d.t")
    server.kill()
    server.start()
    expect_equal(server.query("SELECT COUNT(*) FROM d.t"), "100000", "rows after a kill")
    expect_equal(checked(server, "d.t"), before, "the checksum after a kill")
    server.stop()
    device.expect_sound()


@case()
def an_index_is_added_and_dropped_online(kit):
    """ALTER TABLE ... ADD INDEX, ALGORITHM=INPLACE; then queries by the index; then it is dropped"""
    device = kit.device()
    server = kit.server(device.uri, options=[*BUSY, *DIRECT]).start()
    sysbench.prepare(server, SIZE)
    plain = server.query("SELECT SUM(k), COUNT(*) FROM sbtest.sbtest1 WHERE k > 5000")
    server.query("ALTER TABLE sbtest.sbtest1 ADD INDEX k2 (k), ALGORITHM=INPLACE")
    by_index = server.query("SELECT SUM(k), COUNT(*) FROM sbtest.sbtest1 FORCE INDEX (k2) WHERE k > 5000")
    expect_equal(by_index, plain, "the sums by the index")
    expect_same_after_restart(kit, server, device, ["sbtest.sbtest1"])
    server.start()
    server.query("ALTER TABLE sbtest.sbtest1 DROP INDEX k2, ALGORITHM=INPLACE")
    checked(server, "sbtest.sbtest1")
    server.stop()


@case()
def partitions_are_separate(kit):
    """a partitioned table, each partition in a column family of its own; one is truncated, one dropped"""
    device = kit.device()
    server = kit.server(device.uri, options=DIRECT).start()
    server.query("CREATE DATABASE d; CREATE TABLE d.t (a INT, b INT, PRIMARY KEY (a, b) COMMENT "
                 "'p0_cfname=low;p1_cfname=middle;p2_cfname=high') ENGINE=rocksdb PARTITION BY RANGE (a) "
                 "(PARTITION p0 VALUES LESS THAN (1000), PARTITION p1 VALUES LESS THAN (2000), "
                 "PARTITION p2 VALUES LESS THAN MAXVALUE);"
                 "INSERT INTO d.t SELECT seq, seq FROM seq_0_to_2999; ALTER TABLE d.t TRUNCATE PARTITION p1;"
                 "ALTER TABLE d.t DROP PARTITION p0")
    expect_equal(server.query("SELECT COUNT(*), MIN(a) FROM d.t"), "1000\t2000", "rows of the partition that is left")
    expect_same_after_restart(kit, server, device, ["d.t"])


@case()
def transactions_roll_back(kit):
    """ROLLBACK, and a transaction that a kill interrupts: none of it is visible"""
    device = kit.device()
    server = kit.server(device.uri).start()
    server.query("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY) ENGINE=rocksdb;"
                 "BEGIN; INSERT INTO d.t VALUES (1); COMMIT; "
                 "BEGIN; INSERT INTO d.t VALUES (3); ROLLBACK")
    expect_equal(server.query("SELECT * FROM d.t"), "1", "rows")
    server.query("BEGIN; INSERT INTO d.t VALUES (4)")  # the client leaves without a commit
    server.kill()
    server.start()
    expect_equal(server.query("SELECT * FROM d.t"), "1", "rows after a kill")
    server.stop()


def type_the_page(word, here):
    """Types the commands of the block of docs/use/myrocks.md that has `word`, with what is in their place `here`."""
    block = next(block for block in (ROOT / "docs" / "use" / "myrocks.md").read_text().split("```") if f"\n{word} " in block)
    places = re.compile("|".join(rf"(?<![\w-]){re.escape(page)}(?![\w-])" for page in here))
    commands = places.sub(lambda found: str(here[found[0]]), block)
    done = subprocess.run(["bash", "-e", "-c", commands], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    expect_equal(done.returncode, 0, f"exit status of the commands of the page, which say {(done.stderr or done.stdout)[-500:]!r}")


@case()
def a_backup_beside_a_running_server_is_restored(kit):
    """checkpoint and definitions under a read lock, zenfs backup, removal; another server on another device has it all"""
    device, second = kit.device(), kit.unformatted_device("second.img")
    server, other = kit.server(device.uri).start(), kit.server(second.uri, name="other")
    sysbench.prepare(server, SIZE)
    expected = checked(server, "sbtest.sbtest1")
    server.query("FLUSH TABLES WITH READ LOCK; SET GLOBAL rocksdb_create_checkpoint = 'checkpoint';\n"
                 f"\\! cp -a {server.data}/sbtest {kit.directory}\nUNLOCK TABLES; DELETE FROM sbtest.sbtest1")
    backup = kit.directory / "backup"
    device.on_it("backup", f"--path={backup}", "--backup_path=checkpoint")
    server.query("SET GLOBAL rocksdb_fs_remove_checkpoint = 'checkpoint'")
    expect("checkpoint" not in device.names("/"), "the checkpoint is still there")
    server.stop()
    shutil.rmtree(other.data)
    type_the_page("mariadb-install-db", {
        "zenfs": kit.programs.zenfs, "--zbd=nvme1n1": f"--emu={second.path}", "/backup/tables": backup,
        "/backup/definitions/DATABASE": kit.directory / "sbtest", "/var/lib/mysql-new": other.data,
        "--user=mysql": f"{' '.join(other.as_user())} --auth-root-authentication-method=normal"})
    other.start()
    expect_equal(checked(other, "sbtest.sbtest1"), expected, "the checksum of the table in the checkpoint")
    other.stop()


@case(short=True)
def only_a_checkpoint_that_the_engine_made_is_removed(kit):
    """rocksdb_fs_remove_checkpoint refuses the live database, also with its LOCK in an aux directory, and any other directory"""
    aux = kit.directory / "aux"
    aux.mkdir(mode=0o700)
    device = kit.unformatted_device().format(f"--aux_path={aux}")
    other = kit.directory / "other"
    other.mkdir()
    (other / "000001.sst").write_bytes(b"a table")
    for directory in ("mine", "empty"):
        device.on_it("restore", f"--path={other}", f"--restore_path={directory}")
    device.on_it("delete", "--path=empty/000001.sst")
    server = kit.server(device.uri).start()
    server.query("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY) ENGINE=rocksdb; INSERT INTO d.t VALUES (1);"
                 "SET GLOBAL rocksdb_create_checkpoint = 'made';"
                 "SET GLOBAL rocksdb_create_checkpoint = '.rocksdb/inner'")
    expect((aux / ".rocksdb" / "LOCK").exists(), "the database has no LOCK in the aux directory")
    for wrong in (".rocksdb", "./.rocksdb/", "/.rocksdb", "made/../.rocksdb", "/", "", "..", "mine", "empty", "none",
                  "mine/000001.sst", "made/CURRENT"):
        before = [device.names(directory) for directory in ("/", "mine", "empty", "made", ".rocksdb/inner")]
        message = server.fails(f"SET GLOBAL rocksdb_fs_remove_checkpoint = '{wrong}'")
        expect("ZenFS: removing a checkpoint: " in message, f"for '{wrong}' the message says {message}")
        expect_equal([device.names(directory) for directory in ("/", "mine", "empty", "made", ".rocksdb/inner")], before,
                     f"names after the removal of '{wrong}'")
    for made in (".rocksdb/inner", "made"):
        server.query(f"SET GLOBAL rocksdb_fs_remove_checkpoint = '{made}'")
    expect("made" not in device.names("/") and "inner" not in device.names(), "a checkpoint is still there")
    server.query("SET GLOBAL rocksdb_force_flush_memtable_now = 1")
    expect_same_after_restart(kit, server, device, ["d.t"])
