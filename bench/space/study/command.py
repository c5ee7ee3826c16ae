"""The command line of scripts/simulate-space."""
import argparse
import os
import pathlib

from tooling import command
from tooling.command import at_least_one
from tooling.places import ToolError, build
from tooling.report import write_json
from tooling.screen import Screen

import plots
from study import plot, runs, table

SCHEMA = "zenfs-space-1"
PROG = "simulate-space"

# Zones, their size and capacity in MiB.
DEVICES = {
    "zn540": (904, 2048, 1077),  # a ZN540 of 1 TB
    "100t": (93000, 2048, 1077),
    "small": (64, 64, 48),
}


def shares(text):
    """60,80 -> [0.6, 0.8]"""
    percent = [float(part) for part in text.split(",")]
    if not all(0 < one <= 200 for one in percent):
        raise ValueError(text)
    return [one / 100 for one in percent]


def positive(text):
    number = float(text)
    if number <= 0:
        raise ValueError(text)
    return number


def not_negative(text):
    number = float(text)
    if number < 0:
        raise ValueError(text)
    return number


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog=PROG, description="Replays the files of a RocksDB on a simulated device, with each placement policy, and compares what "
        "is written and how much space is used. No data is moved. docs/use/simulate-space.md says more.")
    parser.add_argument("traces", nargs="*", metavar="TRACE", help="recorded with the mount option trace_file (default: workloads "
                        "that are made up)")
    parser.add_argument("--policy", metavar="NAME,...", help="only these (default: all)")
    parser.add_argument("--workload", metavar="NAME,...", help="made up instead of a trace (default: leveled,zipf); --list names them")
    parser.add_argument("--live", type=shares, default=[0.6, 0.8, 0.85], metavar="PERCENT,...",
                        help="live data of workloads, of what data can use (default 60,80,85)")
    parser.add_argument("--device", choices=DEVICES, help="its zones (default: zn540 for workloads, its own for a trace)")
    parser.add_argument("--zones", type=at_least_one, metavar="N", help="so many zones instead")
    parser.add_argument("--scale", type=at_least_one, default=1, metavar="N", help="multiplies the sizes of a trace's files")
    parser.add_argument("--file-mib", type=at_least_one, metavar="N", help="size of the tables and of the memtable of workloads (default: 64; 256 for "
                        "100t; 1 for small)")
    parser.add_argument("--device-writes", type=positive, metavar="N", help="measure so many times what data can use (default: 6 for "
                        "workloads, all of a trace)")
    parser.add_argument("--warmup", type=not_negative, metavar="N", help="device writes before that (default: 4 for workloads, 0 for a trace)")
    parser.add_argument("--busy", action="store_true", help="the database writes all the time, so reclaim gets only a share of the device")
    parser.add_argument("--seed", type=int, default=1, help="of workloads (default 1)")
    parser.add_argument("--jobs", type=at_least_one, default=os.cpu_count(), metavar="N", help="so many at once (default: cores)")
    parser.add_argument("--svg", metavar="FILE", help="also draw the results there")
    parser.add_argument("--list", action="store_true", help="say which policies, workloads and devices there are, and run none")
    parser.add_argument("--build", metavar="DIR", help="zenfs_simulate_space as it is there, and build nothing")
    command.add_json_or_table(parser)
    return parser.parse_args(command.lone_json(arguments))


def chosen(asked, known, what, all_of_them):
    names = asked.split(",") if asked else list(known)
    for name in names:
        if name not in known:
            raise ToolError(f"there is no {what} '{name}'; the {all_of_them} are {', '.join(known)}")
    return list(dict.fromkeys(names))


def device_flags(options, of_trace):
    if of_trace and not options.device:
        return [f"--zones={options.zones}"] if options.zones else []
    zones, size, capacity = DEVICES[options.device or "zn540"]
    return [f"--zones={options.zones or zones}", f"--zone-mib={size}", f"--capacity-mib={capacity}"]


def trace_runs(options, policies):
    for path in options.traces:
        flags = [f"--trace={path}", f"--scale={options.scale}", f"--warmup={options.warmup or 0}",
                 f"--writes={options.device_writes or 0}", *device_flags(options, True)]
        for policy in policies:
            yield runs.Run(trace=pathlib.Path(path).name, live=None, policy=policy, flags=flags)


def workload_runs(options, policies, workloads):
    size = options.file_mib or {"100t": 256, "small": 1}.get(options.device, 64)
    for workload in workloads:
        for live in options.live:
            flags = [f"--workload={workload}", f"--live={live}", f"--seed={options.seed}", f"--file-mib={size}", f"--buffer-mib={size}",
                     f"--warmup={4 if options.warmup is None else options.warmup}", f"--writes={options.device_writes or 6}",
                     *device_flags(options, False)]
            for policy in policies:
                yield runs.Run(trace=workload, live=live, policy=policy, flags=flags)


def planned(options, known):
    policies = chosen(options.policy, known["policies"], "policy", "policies")
    workloads = [one["name"] for one in known["workloads"]]
    if options.traces and options.workload:
        raise ToolError("give either traces or --workload")
    if options.traces:
        return list(trace_runs(options, policies))
    return list(workload_runs(options, policies, chosen(options.workload or "leveled,zipf", workloads, "workload", "workloads")))


def show_list(known):
    print("policies   " + " ".join(known["policies"]))
    print("workloads")
    for one in known["workloads"]:
        print(f"  {one['name']:10} {one['title']}")
    print("devices")
    for name, (zones, size, capacity) in DEVICES.items():
        print(f"  {name:10} {zones:,} zones of {size} MiB, capacity {capacity} MiB")


def write_svg(path, results):
    try:
        pathlib.Path(path).write_text(plots.svg(plot.figure(results)), encoding="utf-8")
    except OSError as error:
        raise ToolError(f"--svg={path}: {error.strerror}") from error


def work(options):
    screen = Screen()
    if not options.build:
        screen.working("building")
    folder = pathlib.Path(options.build) if options.build else build("release", "zenfs_simulate_space")
    program = folder / "zenfs_simulate_space"
    known = runs.ask(program, ["--list"])
    if options.list:
        screen.clear()
        show_list(known)
        return 0
    results = {"schema": SCHEMA, "runs": runs.run_all(program, planned(options, known), options.jobs, options.busy, screen)}
    screen.clear()
    if options.json != "-":
        screen.line(table.text(results))
    write_json(options.json, results)
    if options.svg:
        write_svg(options.svg, results)
    return 0


def main(arguments):
    options = parse(arguments)
    return command.run(PROG, lambda: work(options))
