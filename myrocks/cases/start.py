"""What a server does at its start, on devices of all kinds, and at its end."""
import os
import pathlib
import shutil

from harness.case import case, expect, expect_equal


def refusal(server, *more):
    """Starts a server that must come up without the engine. The one line that this adds to its log about ZenFS."""
    before = len(server.log_lines(r"ZenFS: "))
    server.start(*more, engine=False)
    lines = server.log_lines(r"ZenFS: ")[before:]
    server.stop()
    expect_equal(len(lines), 1, f"lines about ZenFS in the log {lines}")
    return lines[0]


def expect_down(server):
    """A server that must not run without the engine ends by itself, after the same line."""
    before = len(server.log_lines(r"\[ERROR\] ZenFS: "))
    server.launch("--rocksdb=FORCE")
    status = server.ends()
    expect(status != 0, "a server with --rocksdb=FORCE ended with status 0")
    expect_equal(len(server.log_lines(r"\[ERROR\] ZenFS: ")), before + 1, "lines about ZenFS in the log")


def expect_refused(server, *texts):
    line = refusal(server)
    for text in ("[ERROR]", "rocksdb_fs_uri=", *texts):
        expect(text in line, f"the line in the log has no {text!r}: {line}")
    expect_down(server)


@case(short=True)
def a_new_database_is_made_and_found_again(kit):
    """a database is made in zones, stopped, found again; nothing of it is on the host; nothing is left at the end"""
    device = kit.device()
    server = kit.server(device.uri).start()
    server.query("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY, b TEXT) ENGINE=rocksdb;"
                 "INSERT INTO d.t VALUES (1, 'one'), (2, 'two')")
    server.stop()
    expect(any("is unmounted" in line for line in server.log_lines("ZenFS: ")), "the log does not tell of the unmount")
    expect(any(name.endswith(".sst") for name in device.names()), "there are no tables in .rocksdb on the device")
    expect_equal(os.listdir(server.data / ".rocksdb"), [], "files in rocksdb_datadir on the host")
    device.expect_sound()
    server.start()
    expect_equal(server.query("SELECT * FROM d.t"), "1\tone\n2\ttwo", "the rows after a restart")
    expect_equal(server.query("CHECK TABLE d.t").split("\t")[-1], "OK", "CHECK TABLE")
    server.stop()


@case(short=True)
def status_variables_tell_of_the_volume(kit):
    """SHOW STATUS LIKE 'zenfs%' tells of zones and latencies; 100 commits cost 100 syncs and 100 device writes"""
    device = kit.device()
    server = kit.server(device.uri).start()
    server.query("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY AUTO_INCREMENT, b TEXT) ENGINE=rocksdb")
    before = server.status("zenfs%")
    server.query("".join(f"INSERT INTO d.t (b) VALUES ('{number}');" for number in range(100)))
    after = server.status("zenfs%")
    grown = {name: int(after[name]) - int(before[name]) for name in ("Zenfs_wal_syncs", "Zenfs_device_writes")}
    expect_equal(grown, {"Zenfs_wal_syncs": 100, "Zenfs_device_writes": 100}, "syncs and device writes of 100 commits")
    expect_equal(after["Zenfs_health"], "OK", "health")
    expect_equal(int(after["Zenfs_zones"]), 64, "zones")
    expect(0 < int(after["Zenfs_zones_open"]) <= int(after["Zenfs_zones_active"]) <= 14, f"open zones: {after}")
    expect(float(after["Zenfs_write_amplification"]) >= 1, "write amplification is below 1")
    expect(float(after["Zenfs_sync_latency_median_us"]) > 0, "there is no latency of syncs")
    server.stop()


@case(short=True)
def without_a_uri_files_are_on_the_host(kit):
    """with rocksdb_fs_uri empty the library is Debian's engine, and shows no variable of a volume"""
    server = kit.server(engine="ha_rocksdb_fs.so").start()
    server.query("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY) ENGINE=rocksdb; INSERT INTO d.t VALUES (1)")
    expect_equal(server.status("zenfs%"), {}, "variables of a volume")
    expect((server.data / ".rocksdb" / "CURRENT").exists(), "there is no database on the host")
    server.stop()


@case(short=True)
def an_empty_device_is_refused(kit):
    """a device without a file system: one line in the log; the server runs without the engine, or ends if forced"""
    device = kit.unformatted_device()
    expect_refused(kit.server(device.uri), str(device.path))


@case(short=True)
def a_missing_device_is_refused(kit):
    """a device that does not exist, and a URI that is none"""
    expect_refused(kit.server(f"zenfs://emu:{kit.directory}/none.img"), "none.img", "No such file")
    line = refusal(kit.server("zenfs://floppy:a", name="second"))
    expect("floppy" in line, f"the line does not name the URI: {line}")


@case(short=True)
def a_foreign_device_is_refused(kit):
    """a file that is no emulated device"""
    path = kit.directory / "foreign.img"
    path.write_bytes(b"not a device" * 100000)
    expect_refused(kit.server(f"zenfs://emu:{path}"), str(path))


@case(short=True)
def a_busy_device_is_refused(kit):
    """a device that another server has mounted; that one is not disturbed"""
    device = kit.device()
    first = kit.server(device.uri, name="first").start()
    first.query("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY) ENGINE=rocksdb; INSERT INTO d.t VALUES (1)")
    expect_refused(kit.server(device.uri, name="second"), str(device.path))
    expect_equal(first.query("SELECT * FROM d.t"), "1", "the rows of the first server")
    first.stop()
    device.expect_sound()


@case(short=True)
def a_damaged_device_is_refused(kit):
    """a device whose superblocks and metadata are overwritten"""
    device = kit.device()
    server = kit.server(device.uri).start()
    server.stop()
    damage(device.path)
    expect_refused(server, str(device.path))


def damage(path: pathlib.Path):
    """Overwrites the first three zones with other bytes."""
    size = path.stat().st_size
    with open(path, "r+b") as image:
        for zone in range(3):
            # The contents of zones follow the emulator's own description in the file.
            image.seek(size - (64 - zone) * (16 << 20))
            image.write(os.urandom(1 << 20))


@case()
def a_read_only_mount_is_refused(kit):
    """the option ro: the engine can't work without writing"""
    device = kit.device()
    server = kit.server(device.uri + "?ro")
    expect("read-only" in refusal(server), "the line does not say that the mount is read-only")


@case()
def a_copied_volume_is_another_device(kit):
    """a backup restored to a second device: the server starts there with the same rows"""
    device, second = kit.device(), kit.device("second.img")
    server = kit.server(device.uri).start()
    server.query("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY) ENGINE=rocksdb; INSERT INTO d.t VALUES (7)")
    server.stop()
    backup = kit.directory / "backup"
    device.on_it("backup", f"--path={backup}")
    second.on_it("restore", f"--path={backup}")
    shutil.rmtree(backup)
    server.uri = second.uri
    server.start()
    expect_equal(server.query("SELECT * FROM d.t"), "7", "the rows on the second device")
    server.stop()
