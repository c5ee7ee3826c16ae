"""Runs one GoogleTest program to the end of its cases, whatever they do: one that kills the program or hangs is named,
and the rest is run by another process.

Threads: any; each run has its own process group, killed when it must end.
"""
import dataclasses
import os
import re
import resource
import select
import signal
import subprocess
import time

from tooling.places import ToolError
from tooling.process import kill_all_of


PASSED, FAILED, SKIPPED, DIED, HUNG = "passed", "failed", "skipped", "died", "hung"
# Anywhere in a line: what a case prints need not end with a newline.
EVENT = re.compile(rb"\[ RUN      \] (?P<run>\S+)|\[       OK \] (?P<ok>\S+) \(\d+ ms\)"
                   rb"|\[  FAILED  \] (?P<bad>[^\s,]+)[^\n]*\(\d+ ms\)"
                   rb"|(?P<skip>(?:SKIPPED|BYPASSED)[: ])")
LONGEST_EVENT = 4096  # a pipe may give an event in two pieces
LONGEST_FILTER = 120_000  # Linux takes no argument above 128 KiB


@dataclasses.dataclass
class Case:
    verdict: str
    seconds: float
    evidence: str = ""  # the end of what it printed, if it did not pass


def list_cases(program, environment):
    done = subprocess.run([program, "--gtest_list_tests"], env=environment, capture_output=True, text=True, timeout=120,
                          errors="replace", check=False)
    if done.returncode != 0:
        raise ToolError(f"{program.name} does not list its cases: {(done.stderr or done.stdout).strip()[-300:]}")
    cases, suite = [], ""
    for line in done.stdout.splitlines():
        name = line.partition("#")[0].rstrip()
        if re.fullmatch(r"\S+\.", name):
            suite = name
        elif re.fullmatch(r"  \S+", name) and suite and "DISABLED_" not in suite + name:
            cases.append(suite + name.strip())
    return cases


class Output:
    """Takes what a program prints, tells the cases from it."""

    def __init__(self, log, ended):
        self.log, self.ended = log, ended  # ended(case name, Case)
        self.unread = b""
        self.current, self.since, self.skipped = None, time.monotonic(), False
        self.printed = b""  # by the current case

    def take(self, data):
        self.log.write(data)
        self.log.flush()
        self.unread += data
        position = 0
        for event in EVENT.finditer(self.unread):
            self.printed = (self.printed + self.unread[position:event.start()])[-20_000:]
            position = event.end()
            if event["run"]:
                self.current, self.since, self.skipped = event["run"].decode(), time.monotonic(), False
                self.printed = b""
            elif event["skip"]:
                self.skipped = True
            elif self.current:
                self.end(FAILED if event["bad"] else SKIPPED if self.skipped else PASSED)
        keep = min(len(self.unread) - position, LONGEST_EVENT)
        self.printed += self.unread[position:len(self.unread) - keep]
        self.unread = self.unread[len(self.unread) - keep:]

    def end(self, verdict, note=""):
        evidence = ""
        if verdict != PASSED:
            lines = (self.printed + (self.unread if verdict in (DIED, HUNG) else b"")).decode(errors="replace").splitlines()
            evidence = "\n".join([*lines[-40:], *([note] if note else [])])
        self.ended(self.current, Case(verdict, time.monotonic() - self.since, evidence))
        self.current, self.since = None, time.monotonic()


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run_once(command, environment, directory, output, seconds):
    """One process, to its end or until one of its cases has taken `seconds`. A text if a case did not end."""
    with subprocess.Popen(command, env=environment, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=no_core) as process:
        try:
            pipe = process.stdout.fileno()
            while True:
                ended = process.poll() is not None
                readable = select.select([pipe], [], [], 0 if ended else 0.5)[0]
                data = os.read(pipe, 1 << 16) if readable else b""
                if data:
                    output.take(data)
                elif ended or readable:  # a child that it left may hold the pipe open
                    break
                if time.monotonic() - output.since > seconds:
                    if output.current:
                        output.end(HUNG, f"no end after {seconds} s")
                    return f"killed after {seconds} s without progress"
        finally:
            kill_all_of(process)
        status = process.wait()
    if output.current:
        output.end(DIED, f"killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}")
    return f"ended with status {status}"


def filter_of(cases):
    """As many of the cases as one argument takes."""
    text = "--gtest_filter=" + ":".join(cases)
    return text if len(text) <= LONGEST_FILTER else text[:LONGEST_FILTER].rpartition(":")[0]


def run_cases(program, cases, part, environment, directory, log, seconds, progress):
    """{case: Case} of `part` (index, count) of the cases. progress(cases done, case) is called as they end."""
    wanted = cases[part[0]::part[1]]
    results = {}

    def ended(name, case):
        results[name] = case
        progress(len(results), name)

    output = Output(log, ended)
    environment = dict(environment, GTEST_COLOR="no")
    while missing := [case for case in wanted if case not in results]:
        before = len(results)
        command, extra = [str(program)], {}
        if before:
            command.append(filter_of(missing))
        elif part[1] > 1:
            extra = {"GTEST_TOTAL_SHARDS": str(part[1]), "GTEST_SHARD_INDEX": str(part[0])}
        output.current, output.since, output.unread = None, time.monotonic(), b""
        how = run_once(command, environment | extra, directory, output, seconds)
        if len(results) == before:
            ended(missing[0], Case(DIED, 0, f"the program ran no case: {how}"))
    return results
