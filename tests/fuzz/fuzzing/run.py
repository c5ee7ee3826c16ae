"""One run of one target: libFuzzer in its own process, and its output."""
import os
import re
import subprocess
import time

from . import places
from .targets import TARGETS

SECONDS_PER_INPUT = 25  # more is a hang; the host may be busy
SANITIZERS = {
    # For a fast sanitizer: short stacks, a small quarantine. Leaks are checked at the end.
    "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=0:malloc_context_size=1:quarantine_size_mb=8:"
                    "allocator_may_return_null=0",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}
PROGRESS = re.compile(r"^#(\d+)\s.*?cov: (\d+)(?: ft: (\d+))? corp: (\d+)/")
WHY = re.compile(r"a property does not hold: .*|SUMMARY: .*|.*runtime error: .*")


class Run:
    def __init__(self, target, seconds, runs, built):
        self.target, self.seconds_max, self.runs, self.built = target, seconds, runs, built
        self.executions = self.edges = self.corpus = 0
        self.findings = []
        self.reason = ""
        self.process = None
        self.log = built.logs / f"{target}.log"
        self.folder = places.FINDINGS / target

    def start(self):
        for folder in (self.built.logs, self.folder, places.CORPUS / self.target):
            folder.mkdir(parents=True, exist_ok=True)
        self.known = set(self.folder.iterdir())
        command = [self.program, f"-max_len={TARGETS[self.target]}", "-detect_leaks=0",
                   f"-timeout={SECONDS_PER_INPUT}", "-report_slow_units=1000", "-rss_limit_mb=3072", "-print_final_stats=1",
                   f"-artifact_prefix={self.folder}/"]
        if self.seconds_max:
            command.append(f"-max_total_time={self.seconds_max}")
        if self.runs:
            command.append(f"-runs={self.runs}")
        command += [places.CORPUS / self.target, self.built.seeds / self.target]
        self.started = time.monotonic()
        self.seconds = 0.0
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                            env=os.environ | SANITIZERS)

    def over(self):
        """Updates the state from the output. True if the run has ended."""
        ended = self.process.poll() is not None
        self.seconds = time.monotonic() - self.started
        self._read_progress()
        if ended:
            self._judge()
        return ended

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait()

    @property
    def program(self):
        return self.built.programs / self.target

    @property
    def ok(self):
        return not self.reason

    @property
    def per_second(self):
        return int(self.executions / self.seconds) if self.seconds > 0 else 0

    def _tail(self, size=200_000):
        with open(self.log, "rb") as log:
            log.seek(max(0, os.path.getsize(self.log) - size))
            return log.read().decode(errors="replace")

    def _read_progress(self):
        for line in reversed(self._tail(20_000).splitlines()):
            found = PROGRESS.match(line)
            if found:
                self.executions, self.edges = int(found[1]), int(found[2])
                self.corpus = int(found[4])
                return

    def _judge(self):
        text = self._tail()
        done = re.search(r"^stat::number_of_executed_units:\s*(\d+)", text, re.M)
        if done:
            self.executions = int(done[1])
        self.findings = sorted(path for path in self.folder.iterdir() if path not in self.known)
        if self.process.returncode != 0 or self.findings:
            why = WHY.search(text)
            self.reason = why[0].strip() if why else f"exit status {self.process.returncode}"

    def as_json(self):
        return {"target": self.target, "executions": self.executions, "executions_per_second": self.per_second,
                "edges": self.edges, "corpus": self.corpus, "seconds": round(self.seconds, 1), "ok": self.ok,
                "reason": self.reason, "findings": [str(path) for path in self.findings], "log": str(self.log)}
