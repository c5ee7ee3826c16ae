"""Two servers, one the replica of the other, each with its tables on a device of its own."""
import time

from .acknowledged import TABLE, Writer, expect_rows
from .case import expect
from .network import PrivateNetwork

PRIMARY_PORT, REPLICA_PORT = 3306, 3307  # in a private network
WRITERS = 4
# With these no acknowledged transaction is missing on a replica that takes the primary's place: the binary log and the
# engine's log are synced with each commit, and a commit is acknowledged after the replica has received it. While no replica
# is connected, commits do not wait for one.
BOTH = ["--log-bin=binlog", "--relay-log=relay", "--binlog-format=ROW", "--log-slave-updates=ON", "--gtid-strict-mode=ON",
        "--gtid-pos-auto-engines=rocksdb", "--sync-binlog=1", "--rocksdb-flush-log-at-trx-commit=1",
        "--rpl-semi-sync-master-enabled=ON", "--rpl-semi-sync-master-wait-point=AFTER_SYNC",
        "--rpl-semi-sync-master-timeout=600000", "--rpl-semi-sync-master-wait-no-slave=OFF",
        "--rpl-semi-sync-slave-enabled=ON", "--master-retry-count=0", "--slave-net-timeout=10"]


def make_server(kit, network, name, number, port):
    device = kit.device(f"{name}.img")
    return kit.server(device.uri, name=name, network=network, port=port,
                      options=[*BOTH, f"--server-id={number}"]).start(), device


def connect(replica, port):
    replica.query(f"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='replica', "
                  "MASTER_PASSWORD='replica', MASTER_CONNECT_RETRY=1, MASTER_USE_GTID=slave_pos; START SLAVE")


def slave_status(replica):
    """What SHOW SLAVE STATUS says; empty while a server that has just started does not know yet."""
    names, *values = replica.query("SHOW SLAVE STATUS", names=True).split("\n")
    return dict(zip(names.split("\t"), values[0].split("\t"), strict=True)) if values else {}


def wait_until(true, what, seconds=60):
    end = time.monotonic() + seconds
    while not true():
        expect(time.monotonic() < end, f"{what}: not within {seconds} s")
        time.sleep(0.05)


def catch_up(primary, replica):
    """Waits until the replica has all that the primary has committed. Seconds."""
    begin = time.monotonic()
    position = primary.query("SELECT @@gtid_binlog_pos")
    found = replica.query(f"SELECT MASTER_GTID_WAIT('{position}', 60)")
    expect(found == "0", f"the replica has not reached {position} within 60 s: {slave_status(replica).get('Last_Error')}")
    return time.monotonic() - begin


def write(server, counts, rows):
    """`rows` more of each writer. The writers, which go on."""
    writers = [Writer(server, writer, first=count) for writer, count in counts.items()]
    for writer in writers:
        writer.wait_for(rows)
    return writers


def end(writers):
    return {writer.writer: writer.end() for writer in writers}


def promote(replica):
    """Makes the replica a primary, after it has applied all that it has received."""
    wait_until(lambda: slave_status(replica).get("Slave_IO_Running") != "Yes", "the replica notices the primary's end")
    wait_until(lambda: slave_status(replica).get("Slave_SQL_Running_State", "").startswith("Slave has read all relay log"),
               "the replica applies what it has received")
    replica.query("STOP SLAVE; RESET SLAVE ALL")


def show_replication(kit, steps, rows=500):
    """`steps` tells a person what happens. Raises CaseFailed if anything is missing."""
    with PrivateNetwork() as network:
        try:
            follow(kit, steps, network, rows)
        finally:
            for server in kit.servers:
                server.kill()


def follow(kit, steps, network, rows):
    steps.step("Two servers, each with its tables in zones of its own device",
               "They talk in a network of their own: no port of this machine is open.")
    primary, primary_device = make_server(kit, network, "primary", 1, PRIMARY_PORT)
    replica, replica_device = make_server(kit, network, "replica", 2, REPLICA_PORT)
    primary.query("CREATE USER 'replica'@'127.0.0.1' IDENTIFIED BY 'replica';"
                  f"GRANT REPLICATION SLAVE ON *.* TO 'replica'@'127.0.0.1'; {TABLE}")
    connect(replica, PRIMARY_PORT)

    steps.step("Rows arrive at the replica", f"{WRITERS} clients insert at the primary; the commits wait for the replica.")
    writers = write(primary, dict.fromkeys(range(WRITERS), 0), rows)
    acknowledged = end(writers)
    seconds = catch_up(primary, replica)
    found = expect_rows(replica, acknowledged)
    steps.text(f"{sum(acknowledged.values())} rows acknowledged, {sum(found.values())} at the replica {seconds:.2f} s later.")

    steps.step("The replica is killed and comes back", "kill -9 while the clients insert; they go on without it.")
    writers = write(primary, found, rows)
    replica.kill()
    for writer in writers:
        writer.wait_for(2 * rows)
    replica.start()
    wait_until(lambda: slave_status(replica).get("Slave_IO_Running") == "Yes", "the replica connects again")
    acknowledged = end(writers)
    seconds = catch_up(primary, replica)
    found = expect_rows(replica, acknowledged)
    steps.text(f"{sum(acknowledged.values())} rows acknowledged, all at the replica; it had caught up in {seconds:.2f} s.")

    steps.step("The primary is killed, the replica takes its place",
               "kill -9 while the clients insert; the replica applies what it has received and is promoted.")
    wait_until(lambda: primary.status("Rpl_semi_sync_master_status").get("Rpl_semi_sync_master_status") == "ON",
               "commits wait for the replica again")
    writers = write(primary, found, rows)
    primary.kill()
    acknowledged = end(writers)
    promote(replica)
    found = expect_rows(replica, acknowledged)
    steps.text(f"{sum(acknowledged.values())} rows acknowledged by the dead primary, {sum(found.values())} at the new one: "
               "none is missing.")
    writers = write(replica, found, rows)
    expect_rows(replica, end(writers))
    steps.text("The new primary accepts writes.")
    replica.stop()
    for device in (primary_device, replica_device):
        device.expect_sound()
