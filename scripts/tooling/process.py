"""One program, run to its end: what it printed, what it cost, or why it failed."""
import collections
import os
import pathlib
import select
import signal
import subprocess
import time

TAIL_LINES = 25

Finished = collections.namedtuple("Finished", "output wall_seconds cpu_seconds io max_rss_bytes")


class ProcessFailed(Exception):
    """`reason` in one line, and the end of what the program printed."""

    def __init__(self, reason, output):
        super().__init__(reason)
        self.reason = reason
        self.tail = "\n".join(output.splitlines()[-TAIL_LINES:])


def io_of(pid):
    """/proc/PID/io as numbers. It can be read until the process is waited for, and then holds all of its threads."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/io").read_text().splitlines()
    except OSError:
        return {}
    return {name: int(value) for name, value in (line.split(": ") for line in lines)}


def wait_until_dead(pid, seconds, tick):
    """False if it is still alive after so long; `tick` is called about twice a second meanwhile."""
    descriptor = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            if poll.poll(max(0, min(left, 0.5)) * 1000):
                return True
            if left <= 0:
                return False
            tick()
    finally:
        os.close(descriptor)


def kill_all_of(process):
    """The program and what it started: it leads a process group of its own, which an interrupt from a terminal does not reach."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def how_it_ended(status):
    if os.WIFSIGNALED(status):
        return f"was killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"ended with status {os.WEXITSTATUS(status)}"


def run(words, log, environment=None, seconds=600, tick=lambda: None):
    """Runs `words` with `environment` added to ours; both outputs go to the file `log`.

    Raises ProcessFailed when it can't be started, fails, or has not ended after `seconds`: then it is killed.
    """
    log = pathlib.Path(log)
    started = time.monotonic()
    with open(log, "wb") as sink:
        try:
            process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=sink,
                                       stderr=subprocess.STDOUT, env={**os.environ, **(environment or {})},
                                       process_group=0)
        except OSError as error:
            raise ProcessFailed(f"can't be started: {error}", "") from error
    try:
        in_time = wait_until_dead(process.pid, seconds, tick)
        io = io_of(process.pid)
        if in_time:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        if process.returncode is None:
            kill_all_of(process)
    wall = time.monotonic() - started
    output = log.read_text(errors="replace")
    if not in_time:
        raise ProcessFailed(f"had not ended after {seconds:.0f} s and was killed", output)
    if status != 0:
        raise ProcessFailed(how_it_ended(status), output)
    return Finished(output, wall, usage.ru_utime + usage.ru_stime, io, usage.ru_maxrss * 1024)
