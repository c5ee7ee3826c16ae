"""scripts/myrocks-demo: MyRocks on an emulated zoned device, and the same on the host's file system."""
import pathlib
import subprocess
import time

from tooling import command
from tooling.places import ROOT, ToolError

from .kit import Kit, Programs, require_programs
from .legs import WORKLOADS, Leg, default_parent, is_on_tmpfs
from .replica import show_replication
from .sysbench import Size


class Steps:
    def __init__(self):
        self.count = 0
        self.begin = time.monotonic()

    def step(self, title, what):
        self.count += 1
        print(f"\n{self.count}. {title}\n   {what}\n", flush=True)

    def text(self, lines, head=None):
        lines = lines.splitlines() if isinstance(lines, str) else lines
        shown = lines if head is None or len(lines) <= head else [*lines[:head], "         ..."]
        print("\n".join("   " + line for line in shown), flush=True)

    def seconds(self):
        return time.monotonic() - self.begin


def setup():
    if subprocess.run([ROOT / "scripts" / "setup"], check=False).returncode != 0:
        raise ToolError("scripts/setup failed")
    require_programs()
    print("Building (the first time takes some minutes) ...", flush=True)
    return Programs()


def show_volume(steps, device):
    steps.text("$ zenfs list --emu=device.img --path=.rocksdb")
    steps.text(device.on_it("list", "--path=.rocksdb"), head=8)
    steps.text("$ zenfs zones --emu=device.img")
    steps.text(device.on_it("zones"))


def run_workloads(steps, leg, size):
    measured = {}
    for workload in WORKLOADS:
        measured[workload] = leg.measure(workload, size)
        figures = measured[workload].figures
        steps.text(f"{workload:18} {figures.per_second:9.0f} transactions/s, 95 % within {figures.latency_95:.2f} ms")
    return measured


def table(zenfs, host):
    """The two side by side."""
    yield f"{'':18} {'transactions/s':>23}        {'95 % within, ms':>17} {'bytes/transaction':>19}"
    yield f"{'':18} {'ZenFS':>9} {'host':>9} {'ratio':>7} {'ZenFS':>8} {'host':>8} {'ZenFS':>9} {'host':>9}"
    for workload, ours in zenfs.items():
        theirs = host[workload]
        ratio = ours.figures.per_second / max(0.01, theirs.figures.per_second)
        yield (f"{workload:18} {ours.figures.per_second:9.0f} {theirs.figures.per_second:9.0f} {ratio:7.2f} "
               f"{ours.figures.latency_95:8.2f} {theirs.figures.latency_95:8.2f} "
               f"{ours.bytes_per_transaction:9.0f} {theirs.bytes_per_transaction:9.0f}")


def compare(kit, steps, size, options):
    tmpfs = is_on_tmpfs(kit.directory)
    steps.step("A zoned device with a file system",
               "64 zones of 16 MiB in one sparse file" + ("." if tmpfs else "; each sync reaches the disk (hostsync)."))
    device = kit.device(options="" if tmpfs else "hostsync")
    steps.text("$ zenfs emu create device.img ...; zenfs mkfs --emu=device.img")

    steps.step("A private MariaDB server loads tables in zones",
               f"myrocks/conf/bulkload.cnf, rocksdb_fs_uri={device.uri.replace(str(kit.directory), '.')}; {size.tables} "
               f"tables of {size.rows} rows.")
    leg = Leg(kit, "zenfs", device)
    leg.load(size)
    show_volume(steps, device)

    steps.step("sysbench", f"myrocks/conf/workload.cnf; {size.threads} threads, {size.seconds} s each; each commit is synced.")
    zenfs = run_workloads(steps, leg, size)
    show_volume(steps, device)
    status = leg.server.status("zenfs%")
    steps.text(["$ mariadb -e \"SHOW GLOBAL STATUS LIKE 'zenfs%'\""])
    steps.text([f"{name:32} {value.replace(str(kit.directory) + '/', '')}" for name, value in status.items()])
    leg.server.stop()
    device.expect_sound()
    steps.text(["", "The server is stopped, the volume unmounted; zenfs check --read-data finds no fault."])

    steps.step("The same on the host's file system", "Debian's engine alone, the same configuration and load.")
    host_leg = Leg(kit, "host")
    host_leg.load(size)
    host = run_workloads(steps, host_leg, size)
    host_leg.server.stop()

    steps.step("Side by side", f"Both on {'tmpfs' if tmpfs else 'the same disk, with syncs'} in "
                               f"{pathlib.Path(options.dir).resolve()}.")
    steps.text(list(table(zenfs, host)))
    steps.text(["", "Bytes: with ZenFS all that went to the device; on the host what the engine wrote to its files, without",
                "what the host's file system adds. One run each: for figures see docs/use/myrocks.md."])


def demonstrate(options):
    programs = setup()
    size = Size(options.tables, options.rows, options.threads, options.seconds)
    steps = Steps()
    with Kit(programs, parent=options.dir, keep=options.keep) as kit:
        if options.replica:
            show_replication(kit, steps)
        else:
            compare(kit, steps, size, options)
        print(f"\nAll {steps.count} steps succeeded in {steps.seconds():.0f} seconds."
              + (f" The files are in {kit.directory}." if options.keep else ""))
    return 0


def main(arguments, usage):
    parser = command.parser("myrocks-demo", arguments, usage)
    parser.add_argument("--replica", action="store_true")
    parser.add_argument("--dir", default=default_parent())
    parser.add_argument("--keep", action="store_true")
    for name, value in (("tables", 4), ("rows", 25000), ("threads", 4), ("seconds", 5)):
        parser.add_argument(f"--{name}", type=command.at_least_one, default=value)
    options = parser.parse_args(arguments)
    if not pathlib.Path(options.dir).is_dir():
        parser.error(f"--dir: there is no directory {options.dir}")
    return command.run("myrocks-demo", lambda: demonstrate(options), could_not_run=1)
