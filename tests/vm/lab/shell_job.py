"""A developer's own script in a guest with the standard drives, its output shown as it comes."""
import shutil
import sys
import time

from tooling.places import ToolError

from lab import drives
from lab.guest import Guest
from lab.places import RUNS


class Follower:
    """Copies what is new in a file to standard output."""

    def __init__(self, path):
        self.path, self.shown = path, 0

    def __call__(self):
        if self.path.exists():
            with open(self.path, "rb") as file:
                file.seek(self.shown)
                text = file.read()
            self.shown += len(text)
            sys.stdout.buffer.write(text)
            sys.stdout.flush()


def shell_job(script, kernel, seconds, guest_options):
    """Runs it and returns its exit status; 1 if the guest hung or panicked. The share is kept until the next time."""
    if not script.is_file():
        raise ToolError(f"{script}: no such file")
    text = script.read_text(encoding="utf-8")
    directory = RUNS / "shell-job"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    started = time.monotonic()
    with Guest(kernel, directory, drives=drives.STANDARD, **guest_options) as guest:
        ending = guest.run(text if text.startswith("#!") else f"#!/bin/bash\n{text}", seconds,
                           Follower(guest.share / "output"))
    if ending.kind != "done":
        print(guest.tail_of_console(), guest.qemu_complaint())
    print(f"vm-test: {kernel.version}: {ending} after {time.monotonic() - started:.1f} s; share: {guest.share}",
          file=sys.stderr)
    return ending.status if ending.kind == "done" else 1
