#!/usr/bin/env python3
"""Compares zonefs with raw access to the same drive, in one guest of the lab: the base-performance set of db_bench.

usage: scripts/vm-test --kernel 6.12 --processors 2 --seconds 1500 --shell-job bench/zonefs/compare_in_guest.py

First, in build/release: cmake -DZENFS_BENCH=ON . && ninja. Turns A B A B on QEMU's NVMe ZNS drive, each on empty zones:
fillrandom, overwrite, readwhilewriting, with direct reads; then reads of a zone beside its finish. Printed are medians of
the turns and the median of the ratios zonefs: / dev: of each turn. All of it runs under emulation, so that only the
ratios mean anything.
"""
import json
import os
import re
import statistics
import sys
import threading

sys.path.insert(0, os.environ["LAB_VM"])
from guest import volume, zonefs  # noqa: E402
from guest.devices import fresh  # noqa: E402
from guest.shell import run  # noqa: E402
from lab import drives  # noqa: E402

TURNS = 5
KEYS = 15000
PERCENTILES = ("P50", "P99", "P99.9", "P99.99")


class Finishes(threading.Thread):
    """Reads the number of finished zones from the shared metrics page of a mounted volume."""

    def __init__(self, device):
        super().__init__(daemon=True)
        self.device, self.count, self.ended = device, 0, threading.Event()

    def run(self):
        while not self.ended.wait(0.5):
            done = self.device.attempt("stats", "--json", shown=False)
            found = re.search(r'"zone_finish"[^}]*?"(?:count|calls)": *(\d+)', done.out)
            if done.status == 0 and found:
                self.count = max(self.count, int(found.group(1)))


def figures(output, benchmark):
    """Operations per second, and for reads the percentiles of the histogram, in microseconds."""
    line = re.search(rf"^{benchmark} +: +([\d.]+) micros/op (\d+) ops/sec", output, re.M)
    found = {"ops_per_s": float(line.group(2))}
    histogram = re.search(r"Microseconds per read:.*?Percentiles: ([^\n]*)", output, re.S)
    if histogram:
        values = dict(re.findall(r"(P[\d.]+): ([\d.]+)", histogram.group(1)))
        found |= {name: float(values[name]) for name in PERCENTILES if name in values}
        found["max"] = float(re.search(r"Microseconds per read:.*?Max: ([\d.]+)", output, re.S).group(1))
    return found


def turn(device):
    device.zenfs("mkfs", shown=False)
    results = {}
    for benchmark, flags in (("fillrandom", [f"--num={KEYS}", "--threads=2"]),
                             ("overwrite", [f"--num={KEYS}", "--threads=2", "--use_existing_db"]),
                             ("readwhilewriting", [f"--num={KEYS}", "--reads=10000", "--threads=2", "--histogram",
                                                   "--benchmark_write_rate_limit=2000000", "--use_existing_db"])):
        watch = Finishes(device)
        watch.start()
        output = device.db_bench(benchmark, *flags)
        watch.ended.set()
        watch.join()
        results[benchmark] = figures(output, benchmark) | {"zones_finished": watch.count}
    return results


def finishes(*words):
    """Latencies of reads during the finish of their zone (bench/finish_bench.cc)."""
    found = json.loads(run(volume.BINARIES / "bench" / "zenfs_finish_bench", *words))
    return {f"{what} {figure}": value for what, values in found.items() for figure, value in values.items()
            if figure != "count"}


def one_turn():
    name = fresh(drives.MAIN.serial)
    done = {"dev": turn(volume.block(name))}
    with zonefs.mounted(fresh(drives.MAIN.serial)) as place:
        done["zonefs"] = turn(volume.zonefs(place))
    done["dev"]["finish"] = finishes(f"dev:{fresh(drives.MAIN.serial)}")
    with zonefs.mounted(fresh(drives.MAIN.serial)) as place:
        done["zonefs"]["finish"] = finishes(f"zonefs:{place}")
    with zonefs.mounted(fresh(drives.MAIN.serial)) as place:
        truncated = finishes(f"zonefs:{place}", f"--truncate={place}")
    done["dev"]["finish, zonefs by truncation"] = done["dev"]["finish"]
    done["zonefs"]["finish, zonefs by truncation"] = truncated
    return done


def main():
    turns = []
    for number in range(TURNS):
        turns.append(one_turn())
        print(f"--- turn {number + 1} of {TURNS}: {json.dumps(turns[-1])}", flush=True)
    print(f"\nLinux {os.uname().release}, {TURNS} turns, {KEYS} keys a thread, latencies in microseconds\n")
    print(f"{'':58} {'dev:':>10} {'zonefs:':>10} {'zonefs/dev':>11}")
    for benchmark in turns[0]["dev"]:
        for figure in turns[0]["dev"][benchmark]:
            pairs = [(one["dev"][benchmark][figure], one["zonefs"][benchmark][figure]) for one in turns]
            ratios = [b / a for a, b in pairs if a]
            ratio = f"{statistics.median(ratios):11.2f}" if ratios else f"{'':>11}"
            print(f"{benchmark + ': ' + figure:58} {statistics.median(a for a, _ in pairs):10.0f} "
                  f"{statistics.median(b for _, b in pairs):10.0f} {ratio}")
    return 0


sys.exit(main())
