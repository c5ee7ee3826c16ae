"""scripts/myrocks-bench: MyRocks on ZenFS and on the host's file system, by turns."""
import os
import pathlib
import statistics

from tooling import command
from tooling.places import build
from tooling.report import write_json

from .kit import Kit, Programs, require_programs
from .legs import WORKLOADS, Leg, default_parent, is_on_tmpfs
from .sysbench import Size


def pairs_of(legs, workload, size, count):
    """[(ZenFS, host)], measured one after the other; each turn begins with the one that the last ended with."""
    found = []
    for leg in legs:
        leg.settle()
    for turn in range(count):
        order = legs if turn % 2 == 0 else legs[::-1]
        measured = {leg.name: leg.measure(workload, size) for leg in order}
        found.append((measured["zenfs"], measured["host"]))
    return found


def summary(workload, pairs):
    def median(value):
        return statistics.median(value(pair) for pair in pairs)

    return {"workload": workload, "pairs": len(pairs),
            "zenfs_per_second": round(median(lambda pair: pair[0].figures.per_second)),
            "host_per_second": round(median(lambda pair: pair[1].figures.per_second)),
            "ratio": round(median(lambda pair: pair[0].figures.per_second / pair[1].figures.per_second), 3),
            "ratios": [round(ours.figures.per_second / theirs.figures.per_second, 3) for ours, theirs in pairs],
            "cpu_ratio": round(median(lambda pair: pair[0].cpu_us_per_transaction / pair[1].cpu_us_per_transaction), 3),
            "zenfs_latency_95_ms": median(lambda pair: pair[0].figures.latency_95),
            "host_latency_95_ms": median(lambda pair: pair[1].figures.latency_95),
            "zenfs_bytes_per_transaction": round(median(lambda pair: pair[0].bytes_per_transaction)),
            "host_bytes_per_transaction": round(median(lambda pair: pair[1].bytes_per_transaction))}


def ideal_engine(profile):
    """The library that keeps the engine's files in memory and takes the times of `profile`."""
    build("myrocks", "zenfs_myrocks_ideal")
    os.environ["ZENFS_IDEAL"] = f"ideal://{profile}"  # read by the server that loads it
    return "ha_rocksdb_ideal.so"


def measure_all(options):
    require_programs()
    programs = Programs()
    size = Size(options.tables, options.rows, options.threads, options.seconds)
    # Without --reserve each sync waits until the host has allocated space for its block, which no drive does.
    flags = ["--reserve"] + ([f"--timing={options.timing}"] if options.timing else [])
    flags += ["--random-area=64K"] if options.random_area else []
    server_options = ["--skip-log-bin", *options.server]
    with Kit(programs, parent=options.dir) as kit:
        tmpfs = is_on_tmpfs(kit.directory)
        shape = ("--zones=64", "--zone-size=32M", "--zone-capacity=32M", "--max-open=14", "--max-active=14")
        device = kit.device(options="" if tmpfs else "hostsync", shape=shape, flags=flags)
        engine = ideal_engine(options.timing or "none") if options.ideal else ""
        legs = [Leg(kit, "zenfs", device, server_options), Leg(kit, "host", options=server_options, engine=engine)]
        for leg in legs:
            leg.load(size)
        rows = []
        print(f"{'':18} {'pairs':>5} {'ZenFS/s':>9} {('ideal/s' if options.ideal else 'host/s'):>9} {'ratio':>6} {'CPU':>5} {'95 %, ms':>9} {'host':>6} "
              f"{'bytes/transaction':>19}")
        for workload in options.workload or WORKLOADS:
            row = summary(workload, pairs_of(legs, workload, size, options.pairs))
            rows.append(row)
            print(f"{workload:18} {row['pairs']:5} {row['zenfs_per_second']:9} {row['host_per_second']:9} "
                  f"{row['ratio']:6.2f} {row['cpu_ratio']:5.2f} {row['zenfs_latency_95_ms']:9.2f} {row['host_latency_95_ms']:6.2f} "
                  f"{row['zenfs_bytes_per_transaction']:9} {row['host_bytes_per_transaction']:9}", flush=True)
        for leg in legs:
            leg.server.stop()
    write_json(options.json, {"place": "tmpfs" if tmpfs else "disk", "timing": options.timing or "none", "random_area": options.random_area,
                              "rows": rows})
    return 0


def main(arguments, usage):
    parser = command.parser("myrocks-bench", arguments, usage)
    command.add_json(parser)
    parser.add_argument("--dir", type=pathlib.Path, default=default_parent())
    parser.add_argument("--timing", default="")
    parser.add_argument("--ideal", action="store_true")
    parser.add_argument("--random-area", action="store_true")
    parser.add_argument("--workload", action="append")
    parser.add_argument("--server", action="append", default=[])
    for name, value in (("pairs", 5), ("tables", 4), ("rows", 100000), ("threads", 4), ("seconds", 10)):
        parser.add_argument(f"--{name}", type=command.at_least_one, default=value)
    options = parser.parse_args(arguments)
    return command.run("myrocks-bench", lambda: measure_all(options))
