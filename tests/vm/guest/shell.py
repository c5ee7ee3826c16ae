"""Commands that a case runs, each printed with its output into the log of the case."""
import os
import re
import subprocess
import sys
import time

ENDLESS = 600


class CommandFailed(AssertionError):
    pass


class Done:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err


def attempt(*words, seconds=ENDLESS, environment=None, user=None, before=None,
            shown=True):
    """Runs a command and returns its Done, whatever its status. A command that doesn't end fails the case.
    `user`: a number that is neither root nor in any group. `before`: called in the new process before the program.
    With shown=False its output is left out of the log."""
    words = [str(word) for word in words]
    print(f"[{time.monotonic():6.1f}] $", *words, flush=True)  # as dmesg counts
    identity = {} if user is None else {"user": user, "group": user, "extra_groups": []}
    try:
        done = subprocess.run(words, capture_output=True, timeout=seconds, stdin=subprocess.DEVNULL,
                              preexec_fn=before, env=os.environ | (environment or {}), **identity)
    except subprocess.TimeoutExpired as late:
        show(late.stdout, late.stderr)
        raise CommandFailed(f"{words[0]} had not ended after {seconds} s") from None
    show(done.stdout if shown else b"", done.stderr)
    if done.returncode != 0:
        print(f"exit status {done.returncode}")
    return Done(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


def run(*words, **options):
    """What the command printed; a status other than 0 fails the case."""
    done = attempt(*words, **options)
    if done.status != 0:
        last = (done.err.strip() or done.out.strip() or "it printed nothing").splitlines()[-1]
        raise CommandFailed(f"{' '.join(str(word) for word in words[:3])} ... ended with {done.status}: {last}")
    return done.out


def modprobe(*words):
    """Modules are those of the initramfs, outside the host's root."""
    return run("chroot", "/proc/1/root", "/bin/modprobe", *words)


def without_progress(text):
    """Lines that a program wrote over, such as db_bench's "... finished 100 ops", are no news."""
    return re.sub(r"[^\n\r]*\r", "", text)


def show(*streams):
    for stream in streams:
        if stream:
            text = without_progress(stream.decode(errors="replace"))
            sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()
