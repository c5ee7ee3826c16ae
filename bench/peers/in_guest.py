"""Runs in the guest: measures the units of a plan, one after the other, and writes a line of JSON for each thing that it learns.

A unit is one case of one candidate in one turn. The host follows the lines. After a crash this program starts again, and goes on
with the unit that has crashed the machine.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import traceback

from guest.shell import CommandFailed, modprobe
from guest.devices import nvme
from peers import cases, phases
from peers.candidates import KINDS
from tooling import process
from trial import db_bench_output

SHARE = pathlib.Path(os.environ["LAB_SHARE"])
LINES, ACKNOWLEDGED = SHARE / "lines", SHARE / "acknowledged"
TRACING = pathlib.Path("/sys/kernel/tracing")
ZONE_RESET = re.compile(r"zsa=(0x)?4\b")
PATIENCE = 1000


def line(**what):
    with open(LINES, "a", encoding="utf-8") as file:
        file.write(json.dumps(what) + "\n")
        file.flush()
        os.fsync(file.fileno())


def lines():
    return [json.loads(text) for text in LINES.read_text().splitlines()] if LINES.exists() else []


class Counters:
    """The kernel's counters of the drives and of the processor, since start()."""

    def __init__(self, candidate):
        self.zoned = nvme(cases.ZONED.serial)
        self.regular = nvme(candidate.regular.serial) if candidate.regular else None
        event = TRACING / "events/nvme/nvme_setup_cmd"
        (event / "filter").write_text("opcode == 0x79")  # zone management send
        (event / "enable").write_text("1")

    def start(self):
        (TRACING / "trace").write_text("")
        self.before, self.timeouts = self.now(), timeouts()

    def now(self):
        values = {}
        for name, drive in (("zoned", self.zoned), ("regular", self.regular)):
            fields = pathlib.Path("/sys/block", drive, "stat").read_text().split() if drive else [0] * 17
            values.update({f"{name}_read": int(fields[2]) * 512, f"{name}_written": int(fields[6]) * 512,
                           f"{name}_flushes": int(fields[15])})
        user, nice, system, _, _, irq, softirq, *_ = map(int, pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:])
        values["cpu_seconds"] = (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")
        return values

    def since(self):
        found = {name: value - self.before[name] for name, value in self.now().items()}
        found["lost_commands"] = timeouts() - self.timeouts
        found["zone_resets"] = len(ZONE_RESET.findall((TRACING / "trace").read_text()))
        return found


def timeouts():
    """QEMU loses a command now and then; ten seconds later the kernel resets the drive and repeats it."""
    log = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
    return len(re.findall(r"nvme.* timeout", log))


class Unit:
    def __init__(self, programs, repetition, case, candidate):
        self.identity = {"repetition": repetition, "case": case, "candidate": candidate}
        self.programs, self.repetition = programs, repetition
        self.case = next(one for one in cases.CASES if one.name == case)
        self.candidate = KINDS[candidate](programs)
        self.counters = Counters(self.candidate)
        self.log = pathlib.Path("/run/tmp/output")
        self.start_cpu = {}
        self.doing = "mkfs"  # for the reason of a failure

    def run(self):
        self.candidate.make()
        self.measure_starts()
        for phase in self.case.phases:
            self.phase(phase)
        if self.case.crash:
            self.crash()
        self.candidate.unmount()

    def measure_starts(self):
        """CPU time of the guest for a program that does nothing: its loading, and the mount. The first run fills the caches."""
        place = self.candidate.place("start")
        idle = {"db_bench": [self.programs["db_bench"], "--benchmarks=levelstats", f"--db={place.db}",
                             *([f"--fs_uri={place.fs_uri}"] if place.fs_uri else [])],
                "files": self.files("list", 0, self.candidate.place("/"))}
        for name in dict.fromkeys("db_bench" if phase.program == "db_bench" else "files" for phase in self.case.phases):
            for _ in range(2):
                self.counters.start()
                process.run(idle[name], self.log, place.environment(), PATIENCE)
                self.start_cpu[name] = self.counters.since()["cpu_seconds"]

    def phase(self, phase):
        self.doing = phase.name
        if phase.cold:
            self.candidate.cool()
        self.counters.start()
        place = self.candidate.place(phase.database)
        started = time.monotonic()
        words = phases.words(self.programs, self.case, phase, place, self.repetition, ACKNOWLEDGED)
        finished = process.run(words, self.log, place.environment(), PATIENCE)
        seconds = time.monotonic() - started
        self.candidate.settle()
        result = db_bench_output.result_of(finished.output, phase.benchmark)
        if result is None or result.operations == 0:
            raise process.ProcessFailed(f"printed no result of {phase.benchmark}", finished.output)
        ended = re.search(rf"^{phase.benchmark} ended with (.*)$", finished.output, re.M)
        start = self.start_cpu["db_bench" if phase.program == "db_bench" else "files"]
        self.sample(phase.name, result, None if phase.after else start, process_seconds=seconds, **({"ended_with": ended[1]} if ended else {}))

    def sample(self, name, result, start_cpu_seconds, **more):
        counted = self.counters.since()
        cpu = None if start_cpu_seconds is None else max(0.0, counted["cpu_seconds"] - start_cpu_seconds) / result.operations * 1e6
        latency = {**result.histograms[0].percentiles, "max": result.histograms[0].max} if result.histograms else {}
        line(sample={**self.identity, "phase": name, "ops_per_second": result.ops_per_second, "operations": result.operations,
                     "seconds": result.seconds, "latency_us": latency,
                     "cpu_us_per_op": cpu, "start_cpu_seconds": start_cpu_seconds, **counted, **more})

    def files(self, verb, count, place):
        return phases.files(self.programs, verb, count, place, ACKNOWLEDGED)

    def crash(self):
        self.doing = "the load"
        ACKNOWLEDGED.unlink(missing_ok=True)
        place = self.candidate.place("load")
        with open(self.log, "wb") as output:
            load = subprocess.Popen([str(word) for word in self.files("load", 0, place)], stdin=subprocess.DEVNULL, stdout=output,
                                    stderr=output, env={**os.environ, **place.environment()})
        end = time.monotonic() + cases.LOAD_SECONDS
        while time.monotonic() < end:
            if load.poll() is not None:
                raise process.ProcessFailed("the load ended", self.log.read_text(errors="replace"))
            time.sleep(0.1)
        line(crashing=self.identity)
        pathlib.Path("/proc/sysrq-trigger").write_text("b")
        time.sleep(60)

    def after_crash(self):
        self.doing = "after the crash"
        for path in self.programs.values():
            read(path)
        self.counters.start()
        started = time.monotonic()
        self.candidate.mount()
        mounted = time.monotonic() - started
        listing = self.candidate.place("many")
        output = process.run(self.files("list", 0, listing), self.log, listing.environment(), PATIENCE).output
        opened, listed = (db_bench_output.result_of(output, name) for name in ("open", "list"))
        mount_us = mounted * 1e6 + opened.micros_per_op
        self.sample("mount", opened._replace(ops_per_second=1e6 / mount_us, micros_per_op=mount_us, histograms=[]), 0,
                    mount_ms=mount_us / 1e3, list_ms=listed.micros_per_op * listed.operations / 1e3, files_listed=listed.operations)
        self.counters.start()
        place = self.candidate.place("load")
        output = process.run(self.files("verify", 0, place), self.log, place.environment(), PATIENCE).output
        found = {name: (int(all_of), int(lost)) for name, all_of, lost in
                 re.findall(r"^(\w+): acknowledged (\d+) lost (\d+)$", output, re.M)}
        line(sample={**self.identity, "phase": "lost", "acknowledged": {name: of[0] for name, of in found.items()},
                     "lost": {name: of[1] for name, of in found.items()}})
        self.candidate.unmount()


def read(path):
    """Into the page cache: the host's files are slow to read in a guest that has just come up."""
    if pathlib.Path(path).is_file():
        pathlib.Path(path).read_bytes()


def measured(unit, work):
    """False if the guest must end: something of the unit is still there."""
    try:
        work()
    except (CommandFailed, AssertionError, process.ProcessFailed, OSError, ValueError, AttributeError,
            subprocess.SubprocessError) as error:
        if isinstance(error, process.ProcessFailed):
            last = (error.tail.splitlines() or ["it printed nothing"])[-1]
            reason, tail = f"{error.reason}: {last}", error.tail
        else:
            reason, tail = str(error), traceback.format_exc(limit=3)
        line(failure={**unit.identity, "reason": f"{unit.doing}: {reason}", "tail": tail})
        line(end=unit.identity)
        return False
    line(end=unit.identity)
    return True


def main():
    plan = json.loads((SHARE / "plan.json").read_text())
    modprobe("-a", "xfs", "f2fs", "btrfs", "zonefs")
    known = lines()
    ended = [one["end"] for one in known if "end" in one]
    crashed = [one["crashing"] for one in known if "crashing" in one]
    for wanted in plan["units"]:
        if wanted in ended:
            continue
        if wanted not in crashed and time.time() > plan["until"]:
            break
        unit = Unit(plan["programs"], **wanted)
        if wanted not in crashed:
            line(begin=wanted)
        if not measured(unit, unit.after_crash if wanted in crashed else unit.run):
            print(subprocess.run(["dmesg"], capture_output=True, text=True, check=False).stdout[-3000:])
            return 0
    return 0


sys.exit(main())
