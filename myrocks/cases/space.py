"""Devices that become full, and space that comes back."""
import time

from harness.case import case, expect, expect_equal

from .crash import DIRECT

SMALL = ("--zones=32", "--zone-size=4M", "--zone-capacity=3M", "--max-open=14", "--max-active=14")
FEW_BYTES = ["--rocksdb-default-cf-options=write_buffer_size=1M;target_file_size_base=1M;max_bytes_for_level_base=4M",
             "--rocksdb-max-total-wal-size=2M", *DIRECT]
ROWS = "INSERT INTO d.t (b) SELECT CONCAT(SHA2(RAND(), 512), SHA2(RAND(), 512), SHA2(RAND(), 512)) FROM seq_1_to_1000"


def make_table(server):
    server.query("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY AUTO_INCREMENT, b VARCHAR(400)) ENGINE=rocksdb")


def figure(server, name):
    return int(server.status(name)[name])


def wait_for(true, seconds, what):
    end = time.monotonic() + seconds
    while not true():
        expect(time.monotonic() < end, f"{what}: not within {seconds} s")
        time.sleep(0.2)


@case()
def space_of_dropped_tables_comes_back(kit):
    """tables are filled and dropped until the device has been written 1.5 times: no restart, and no space is lost"""
    device = kit.device(shape=SMALL)
    server = kit.server(device.uri, options=FEW_BYTES).start()
    server.query("CREATE DATABASE d")
    for _ in range(6):
        server.query("DROP DATABASE d")
        make_table(server)
        for _ in range(60):
            server.query(ROWS)
        expect(figure(server, "Zenfs_live_bytes") > 15 << 20, "the table takes no space")
        server.query("DROP TABLE d.t; SET GLOBAL rocksdb_force_flush_memtable_now=1")
        wait_for(lambda: figure(server, "Zenfs_live_bytes") < 2 << 20, 60, "the data of a dropped table are gone")
    written, total = (figure(server, f"Zenfs_{name}_bytes") for name in ("device_written", "total"))
    expect(written > 1.5 * total, f"only {written} bytes were written")
    server.stop()
    device.expect_sound()


def fill(server):
    """Inserts until a statement fails. How many did not, and the message."""
    for count in range(1000):
        done = server.run_client(ROWS)
        if done.returncode != 0:
            return count, done.stderr.strip().splitlines()[-1]
    expect(False, "the device does not become full")
    return None


@case()
def a_full_device_loses_nothing(kit):
    """full under load: the engine ends the server and can't start; on a larger device all is there, and room is made"""
    device = kit.device(shape=SMALL, options="space_wait_s:3")
    server = kit.server(device.uri, options=FEW_BYTES).start()
    make_table(server)
    count, message = fill(server)
    print(f"    full after {count} statements of 1000 rows: {message}")
    server.ends()
    expect(server.log_lines(r"\[ERROR\] .*is full: .*delete files to make room"), "the log does not tell what is full")
    server.start(engine=False)  # recovery writes tables, for which there is no room
    server.stop()
    device.expect_sound()

    larger = move(device, kit.device("larger.img"), kit.directory / "backup")
    server.uri = larger.uri
    # The write that found the device full may have left the first part of a record in the log, as on any file system.
    server.options.append("--rocksdb-wal-recovery-mode=2")
    server.start()
    rows = int(server.query("SELECT COUNT(*) FROM d.t"))
    expect(rows in (1000 * count, 1000 * (count + 1)), f"{1000 * count} rows were acknowledged, {rows} are there")
    expect_equal(server.query("CHECK TABLE d.t EXTENDED").split("\t")[-1], "OK", "CHECK TABLE")
    server.query("DROP TABLE d.t; SET GLOBAL rocksdb_force_flush_memtable_now=1")
    wait_for(lambda: figure(server, "Zenfs_live_bytes") < 2 << 20, 60, "the data of the dropped table are gone")
    server.stop()

    device.run("mkfs", f"--emu={device.path}", "--force")
    server.uri = move(larger, device, kit.directory / "back").uri
    server.start()
    server.query("CREATE TABLE d.t (a INT PRIMARY KEY AUTO_INCREMENT, b VARCHAR(400)) ENGINE=rocksdb")
    server.query(ROWS)
    expect_equal(server.query("SELECT COUNT(*) FROM d.t"), "1000", "rows after room was made")
    server.stop()
    device.expect_sound()


def move(device, other, directory):
    """Everything by a backup in `directory` to `other`, which is returned."""
    device.on_it("backup", f"--path={directory}")
    other.on_it("restore", f"--path={directory}")
    return other
