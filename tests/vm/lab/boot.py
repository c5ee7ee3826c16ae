"""One boot that runs several cases: starts the guest, follows its results, tells what became of each case."""
import dataclasses
import json
import pathlib
import shutil
import time

from lab import drives
from lab.guest import Guest
from lab.places import VM

BOOT_SECONDS = 90  # until the first case begins; 3-5 unloaded


@dataclasses.dataclass(frozen=True)
class Result:
    case: str
    kernel: str  # its line
    ok: bool
    seconds: float
    reason: str | None = None
    evidence: str = ""  # what the case printed, and more if it failed
    summary: str | None = None  # what a case on the host says of its run


def job(cases):
    return f"#!/bin/bash\nexec python3 '{VM}/guest/run_cases.py' {' '.join(one.name for one in cases)}\n"


class Boot:
    """Runs `cases` in one guest. After run(), results has one for each case that ended or that the guest died in;
    unreached the others."""

    def __init__(self, kernel, directory, cases, screen, guest_options):
        self.kernel, self.cases, self.screen = kernel, cases, screen
        self.directory = pathlib.Path(directory)
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        self.guest = Guest(kernel, self.directory, drives=drives.STANDARD, **guest_options)
        self.results = []
        self.current = None
        self.since = time.monotonic()
        self.read = 0

    @property
    def unreached(self):
        return self.cases[len(self.results):]

    def run(self):
        self.screen.working(f"{self.kernel.line}: booting")
        seconds = BOOT_SECONDS + sum(one.seconds for one in self.cases)
        with self.guest:
            ending = self.guest.run(job(self.cases), seconds, self.follow)
            self.follow()
        if self.unreached and not ending.ok and not Guest.interrupted:
            self.blame(self.unreached[0], ending)
        if all(result.ok for result in self.results):
            shutil.rmtree(self.directory, ignore_errors=True)
        return self.results

    def follow(self):
        """Takes in what the guest has written; true if the case at hand has had its time."""
        for line in self.new_lines():
            event = json.loads(line)
            self.since = time.monotonic()
            if event["event"] == "begin":
                self.current = event["case"]
                self.screen.working(f"{self.kernel.line}: {self.current}")
            else:
                self.current = None
                self.settle(Result(event["case"], self.kernel.line, event["ok"], event["seconds"], event["reason"],
                                   self.log_of(event["case"])))
        limit = next((one.seconds for one in self.cases if one.name == self.current), BOOT_SECONDS)
        return time.monotonic() - self.since > limit

    def new_lines(self):
        path = self.guest.share / "results"
        if not path.exists():
            return []
        with open(path, "rb") as file:
            file.seek(self.read)
            whole = file.read().rpartition(b"\n")
        self.read += len(whole[0]) + len(whole[1])
        return whole[0].decode().splitlines()

    def settle(self, result):
        self.results.append(result)
        self.screen.result(result)

    def blame(self, one, ending):
        reason = str(ending) if self.current else f"{ending} before the case began"
        evidence = "\n".join([self.log_of(one.name), self.guest.output(), "--- the guest's console:",
                              self.guest.tail_of_console(150), self.guest.qemu_complaint()])
        self.settle(Result(one.name, self.kernel.line, False, round(time.monotonic() - self.since, 1), reason, evidence))

    def log_of(self, name):
        path = self.guest.share / f"{name}.log"
        lines = path.read_text(errors="replace").splitlines() if path.exists() else []
        return "\n".join(lines[-200:])
