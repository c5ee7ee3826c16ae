"""Runs of one kind on one fresh device, and their result."""
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import time

from tooling.places import BUILD_ROOT, ROOT
from tooling.process import kill_all_of

from stress import output
from stress.device import Device, HostFiles

PLAIN_OPERATIONS_PER_SECOND = 600  # of a thread; sets how long db_stress alone takes, roughly
FOUND_FAULT = "erification failed"  # in what db_stress says when the database is not as expected
ENOUGH_CUTS = 12  # of the power, among which one has to find something in the cache
GRACE_SECONDS = 600  # beyond the time of a session until it counts as hung


@dataclasses.dataclass
class Result:
    kind: str
    seed: int
    directory: str
    again: str
    command: str = ""  # a file: the last db_stress with all parameters, if the run failed
    buffers: str = ""  # where the kept shared memory has to be for the device to find it, if the run failed
    ok: bool = False
    reason: str = ""
    runs: int = 0
    kills: int = 0
    mounts: int = 0  # that found a database
    verified: int = 0  # comparisons of all keys that came out right
    operations: int = 0
    seconds: float = 0
    device_bytes: int = 0  # of the host that the device takes in the end
    cuts: list = dataclasses.field(default_factory=list)  # of the device's power: run, seed, what it lost


@dataclasses.dataclass(frozen=True)
class Plan:
    """How long a session is, and how long db_stress lives until it is killed (seconds, on average)."""
    duration: int
    interval: int
    seed: int
    posix: bool = False  # on the host's files, without ZenFS


class Run:
    def __init__(self, programs, kind, plan, screen, again):
        self.programs, self.kind, self.plan, self.screen = programs, kind, plan, screen
        self.directory = BUILD_ROOT / "rocksdb" / "stress-runs" / f"{kind.name}-{plan.seed}{'-posix' if plan.posix else ''}"
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        self.result = Result(kind.name, plan.seed, str(self.directory), again)
        self.device = (HostFiles if plan.posix else Device)(programs, self.directory, plan.seed, kind.loses_power)

    def carry_out(self):
        started = time.monotonic()
        try:
            reason = self.plain() if self.kind.crash is None else self.crash()
            if self.kind.must_fail:
                reason = None if FOUND_FAULT in (reason or "") else f"lost data were not found: {reason}"
            self.result.reason = reason or self.end() or ""
            self.result.ok = not self.result.reason
        finally:
            self.result.seconds = time.monotonic() - started
            self.put_away()
        return self.result

    def put_away(self):
        if self.result.ok:
            self.device.remove()
            return
        commands = sorted(self.directory.glob("logs/*.command")) or [self.directory / "command"]
        self.result.command = str(commands[-1])
        self.result.buffers = str(self.device.buffers)
        self.device.keep()
        (self.directory / "result.json").write_text(json.dumps(dataclasses.asdict(self.result), indent=1) + "\n")

    def end(self):
        self.result.device_bytes = self.device.allocated()
        return self.device.check()

    def flags(self):
        return [*self.kind.flags(), *self.device.flags(self.kind.loses_memory)]

    # --- db_stress alone, to its end ---
    def plain(self):
        (self.directory / "expected").mkdir()
        operations = self.plan.duration * PLAIN_OPERATIONS_PER_SECOND
        command = [*self.device.preload(), str(self.programs.db_stress), f"--db={self.device.database}",
                   f"--seed={self.plan.seed}", f"--ops_per_thread={operations}", f"--expected_values_dir={self.directory / 'expected'}",
                   *self.flags()]  # of a flag given twice the last counts
        (self.directory / "command").write_text(" \\\n  ".join(command) + "\n")
        with open(self.directory / "out", "w") as out, open(self.directory / "err", "w") as err:
            try:
                done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, check=False,
                                      timeout=self.plan.duration + GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                return f"db_stress was to end by itself and hung: killed after {self.plan.duration + GRACE_SECONDS} s"
        text = (self.directory / "out").read_text(errors="replace")
        said = output.read(text, (self.directory / "err").read_text(errors="replace"))
        self.result.runs = 1
        self.result.mounts = text.count("Reopening database")
        self.result.verified = int(said.verified)
        self.result.operations = said.operations
        if done.returncode != 0 or said.complaint:
            return f"db_stress ended with status {done.returncode}: {said.complaint or said.last_line}"
        return None if said.verified else "db_stress ended well and did not say that it verified anything"

    # --- killed again and again ---
    def crash(self):
        logs, host = self.directory / "logs", self.directory / "host"
        logs.mkdir()
        host.mkdir()  # the expected state, and an empty directory of the database's name
        events = self.directory / "events.jsonl"
        interval = [] if self.kind.whitebox else [f"--interval={self.plan.interval}"]
        settings = {"script": str(self.programs.crash_test), "seed": self.plan.seed, "logs": str(logs),
                    "events": str(events), "preload": self.device.preload(), "check": self.device.check_command(),
                    "forget": str(self.device.buffers) if self.kind.loses_memory and self.device.buffers else None,
                    "power_cut": self.device.power_cut_command() if self.kind.loses_power else None,
                    "remove": self.device.remove_command(),
                    "arguments": ["whitebox" if self.kind.whitebox else "blackbox", *self.kind.crash,
                                  f"--stress_cmd={self.programs.db_stress}", f"--duration={self.plan.duration}", *interval, *self.flags()]}
        (self.directory / "settings.json").write_text(json.dumps(settings, indent=1) + "\n")
        command = [sys.executable, "-m", "stress.crash_session", str(self.directory / "settings.json")]
        environment = dict(os.environ, TEST_TMPDIR=str(host), PYTHONPATH=str(ROOT / "tests" / "rocksdb_stress"))
        status = self.watch(command, environment, events)
        return self.judge(status, events)

    def watch(self, command, environment, events):
        limit = time.monotonic() + self.plan.duration + GRACE_SECONDS
        with open(self.directory / "session.log", "w") as log:
            session = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            try:
                while time.monotonic() < limit:
                    try:
                        return session.wait(timeout=1)
                    except subprocess.TimeoutExpired:
                        kills = events.read_text().count('"killed": true') if events.exists() else 0
                        self.screen.working(f"{self.kind.name}: {kills} kills")
                return "hung"
            finally:
                if session.poll() is None:
                    kill_all_of(session)

    def judge(self, status, events):
        result, failed = self.result, ""
        for line in events.read_text().splitlines() if events.exists() else []:
            event = json.loads(line)
            failed = event.get("failed", failed)
            if "run" in event:
                result.runs += 1
                result.kills += event["killed"]
                result.verified += event["recovered"] + event["verified"]
                result.operations += event["operations"]
            if "cut" in event:
                result.cuts.append(event)
        result.mounts = max(result.runs - 1, 0)
        if failed:
            return failed
        if status == "hung":
            return f"hung: killed after {self.plan.duration + GRACE_SECONDS} s"
        if status != 0:
            return f"db_crashtest.py ended with status {status}, see session.log"
        if len(result.cuts) >= ENOUGH_CUTS and not any(cut["blocks_at_risk"] for cut in result.cuts):
            return f"{len(result.cuts)} power cuts, and never was anything in the device's cache"
        return None if result.verified else "nothing was ever verified"
