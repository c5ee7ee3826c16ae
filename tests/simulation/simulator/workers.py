"""Parallel simulators, each with its own seeds, and their totals so far."""
import dataclasses
import json
import os
import selectors
import subprocess
import tempfile
import time

from simulator.stacks import described

HANGS_AFTER_SECONDS = 120  # without output


@dataclasses.dataclass
class Totals:
    seeds: int = 0
    crashes: int = 0
    commands: int = 0
    faults: int = 0
    steps: int = 0
    out_of_space: int = 0

    def add(self, line):
        self.seeds += 1
        for name in ("crashes", "commands", "faults", "steps", "out_of_space"):
            setattr(self, name, getattr(self, name) + line[name])


@dataclasses.dataclass
class Failure:
    seed: int
    what: str
    plan: str = ""
    history: str = ""
    stacks: list = dataclasses.field(default_factory=list)  # of a deadlock

    @classmethod
    def said(cls, program, line):
        return cls(line["seed"], line["failure"], line["plan"], line["history"], described(program, line["threads"]))


class Worker:
    def __init__(self, program, first, stride, count, seconds, ask):
        self.program, self.next_seed, self.stride = program, first, stride
        self.errors = tempfile.TemporaryFile(mode="w+", errors="replace")
        arguments = [program, f"--first={first}", f"--stride={stride}", f"--count={count}"]
        arguments += [f"--ask={ask}"] if ask else []
        if seconds:
            arguments.append(f"--time={max(1, int(seconds))}")
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=self.errors)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.rest = b""
        self.heard = time.monotonic()

    def lines(self):
        """The output since the last call; None if the process has ended."""
        data = self.process.stdout.read()
        if data == b"":
            return None
        self.heard = time.monotonic()
        self.rest += data or b""
        *whole, self.rest = self.rest.split(b"\n")
        return [json.loads(line) for line in whole]

    def death(self):
        """Why it ended without reporting a failure, if it did."""
        status = self.process.wait()
        if status == 0:
            return None
        self.errors.seek(0)
        said = self.errors.read()[-6000:]
        return Failure(self.next_seed, f"the simulator ends with status {status}" + (f":\n{said}" if said else ""))

    def hangs(self):
        return time.monotonic() - self.heard > HANGS_AFTER_SECONDS

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()


def run(program, *, first, seeds, seconds, jobs, on_progress, ask=""):
    """Runs until a seed fails, or all are done. `on_progress` gets Totals from time to time. `ask`: more questions of
    questions.h. Returns (Totals, Failure or None)."""
    jobs = max(1, min(jobs, seeds or jobs))
    share = [(seeds - i + jobs - 1) // jobs if seeds else 2**63 for i in range(jobs)]
    workers = [Worker(program, first + i, jobs, share[i], seconds, ask) for i in range(jobs)]
    totals, failure = Totals(), None
    selector = selectors.DefaultSelector()
    for worker in workers:
        selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
    try:
        while selector.get_map() and failure is None:
            for key, _ in selector.select(timeout=1):
                failure = failure or listen(key.data, selector, totals)
            for key in list(selector.get_map().values()):
                if key.data.hangs() and failure is None:
                    failure = Failure(key.data.next_seed, f"says nothing for {HANGS_AFTER_SECONDS} s: it hangs")
            on_progress(totals)
    finally:
        for worker in workers:
            worker.stop()
    return totals, failure


def listen(worker, selector, totals):
    lines = worker.lines()
    if lines is None:
        selector.unregister(worker.process.stdout)
        return worker.death()
    for line in lines:
        totals.add(line)
        if line.get("failure"):
            return Failure.said(worker.program, line)
        worker.next_seed = line["seed"] + worker.stride
    return None


def ask(program, *arguments, seconds=600):
    """One run of the program with these arguments, for its last line; None if it died without one."""
    try:
        done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None
    lines = done.stdout.strip().split(b"\n")
    return json.loads(lines[-1]) if lines[-1] else None
