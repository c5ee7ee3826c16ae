"""Runs of zenfs_simulate_space, several at once, and their results."""
import concurrent.futures
import dataclasses
import json
import subprocess
import threading

from tooling.places import ToolError


@dataclasses.dataclass
class Run:
    trace: str  # the name of the workload or of the trace's file
    live: float | None  # of a workload
    policy: str
    flags: list


def ask(program, flags, heard=lambda progress: None, started=lambda process: None):
    """The last line of its output. ToolError for an error that it reports, or if it can't be started or ends without a result."""
    try:
        process = subprocess.Popen([str(program), *flags], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
    except OSError as error:
        raise ToolError(f"{program}: {error.strerror}") from error
    started(process)
    last = {}
    for line in process.stdout:
        last = json.loads(line)
        if "progress" in last:
            heard(last["progress"])
    complaint = process.stderr.read().strip()
    process.wait()
    if "error" in last:
        raise ToolError(last["error"])
    if process.returncode != 0 or not last or "progress" in last:
        raise ToolError(f"{program.name} ended with status {process.returncode}: {complaint or 'no reason given'}")
    return last


class Pool:
    """Runs at once; when one fails or is interrupted, all end."""

    def __init__(self, program, runs, busy, screen):
        self.program, self.runs, self.busy, self.screen = program, runs, busy, screen
        self.lock = threading.Lock()
        self.processes = []
        self.done = [0.0] * len(runs)
        self.stopped = False

    def started(self, process):
        with self.lock:
            self.processes.append(process)
            if self.stopped:
                process.kill()

    def heard(self, number, progress):
        with self.lock:
            self.done[number] = progress
            finished = sum(one >= 1 for one in self.done)
            share = sum(self.done) / len(self.done)
        self.screen.working(f"{finished} of {len(self.runs)} simulations, {100 * share:.0f} %")

    def one(self, number):
        run = self.runs[number]
        self.heard(number, 0.0)
        flags = [f"--policy={run.policy}", *run.flags, *(["--busy"] if self.busy else [])]
        result = ask(self.program, flags, lambda progress: self.heard(number, min(progress, 0.99)), self.started)
        self.heard(number, 1.0)
        return {"trace": run.trace, "live": run.live, **result}

    def stop(self):
        with self.lock:
            self.stopped = True
            for process in self.processes:
                if process.poll() is None:
                    process.kill()


def run_all(program, planned, jobs, busy, screen):
    """The results in the order of `planned`."""
    pool = Pool(program, planned, busy, screen)
    with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as executor:
        futures = [executor.submit(pool.one, number) for number in range(len(planned))]
        try:
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            pool.stop()
            raise
