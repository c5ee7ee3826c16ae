"""The host's side of programs/crash_load.cc: when the crash comes, how far the load has come, and what each boot does."""
import dataclasses
import time

from lab.drives import MiB, ZnsDrive
from lab.places import VM

# Small zones, so that a load of seconds fills, finishes and resets some.
DRIVE = ZnsDrive("crash", zones=192, zone_size=MiB, zone_capacity=768 << 10, max_open=6, max_active=6)
NEEDS = ("zenfs", "zenfs_crash_load", "libzenfs_device_trace.so")
BOOT_SECONDS = 120  # for all that one boot does


@dataclasses.dataclass(frozen=True)
class Moment:
    """Of a crash: so many acknowledgements after the load of a boot began, or so many lines of the device's trace after its
    mount began; then so many seconds; then, if asked for, as soon as the device has something that it has not flushed."""
    of_load: bool
    count: int
    delay: float
    unflushed: bool = False

    def __str__(self):
        after = f"{self.count} {'acknowledgements' if self.of_load else 'commands'}" if self.count else ""
        return (f"{after}{' and ' if after else ''}{1000 * self.delay:.0f} ms after the "
                f"{'load' if self.of_load else 'mount'} began{', at something unflushed' if self.unflushed else ''}")


def moments(random, count, *, most, traced):
    """One in five, but never the first, while a mount recovers from the crash before."""
    for turn in range(count):
        if turn == 0 or random.random() < 0.8:
            yield Moment(True, random.randint(20, most), random.uniform(0, 0.4))
        elif traced:
            yield Moment(False, random.randint(1, 60), random.uniform(0, 0.01))
        else:
            yield Moment(False, 0, random.uniform(0, 1.5))


def unflushed_moment(random):
    return Moment(True, random.randint(5, 20), random.uniform(0, 0.1), unflushed=True)


def job(device, *, turn, last, seed="0", acknowledgements="0", trace="", before=""):
    """A boot's script. `device` as in URIs; the others are words of the shell. `before` is what has to be done before the
    device can be used."""
    return f"""#!/bin/bash
turn={turn} last={last} seed={seed} acknowledgements={acknowledgements} trace='{trace}'
{before}
device={device}
. '{VM}/guest/crash_boot.sh'
"""


class CrashLoad:
    """A load in a guest that is running. Raises AssertionError, with what the guest has printed, if the guest ends or hangs
    before it has come to what is waited for."""

    def __init__(self, guest):
        self.guest = guest

    def wait_for(self, turn, moment):
        if moment.of_load:
            self.until(turn, lambda: self.reached("loading", turn))
            wanted = self.acknowledgements() + moment.count
            self.until(turn, lambda: self.acknowledgements() >= wanted)
        else:
            self.until(turn, lambda: self.reached("mounting", turn))
            self.until(turn, lambda: self.commands() >= moment.count)
        time.sleep(moment.delay)
        if moment.unflushed:
            self.until(turn, self.has_unflushed)
        self.check_running(turn)

    def check_running(self, turn):
        """A job that ended has failed, even if its guest was crashed in the same moment."""
        if not self.guest.running or (self.guest.share / "rc").exists():
            self.expect(turn, self.guest.wait(10), wanted=None)

    def wait_for_boot(self, turn):
        self.until(turn - 1, lambda: self.reached("mounting", turn))

    def wait_for_end(self, turn):
        self.expect(turn, self.guest.wait(BOOT_SECONDS))

    def until(self, turn, condition):
        deadline = time.monotonic() + BOOT_SECONDS
        while not condition():
            self.check_running(turn)
            if time.monotonic() > deadline:
                self.expect(turn, self.guest.give_up(), wanted=None)
            time.sleep(0.005)

    def expect(self, turn, ending, wanted=0):
        if ending.kind == "done" and ending.status == wanted:
            return
        output = self.guest.output()
        last = (output.strip().splitlines() or ["it printed nothing"])[-1]
        raise AssertionError(f"{ending} in boot {turn}: {last}\n{output[-6000:]}\n--- the guest's console:\n"
                             f"{self.guest.tail_of_console(150)}\n{self.guest.qemu_complaint()}")

    def reached(self, mark, turn):
        return (self.guest.share / f"{mark}.{turn}").exists()

    def logs(self):
        return [path.read_text() for path in self.guest.share.glob("acknowledged.*")]

    def acknowledgements(self):
        return sum(text.count("\n") for text in self.logs())

    def trace(self):
        """What the device has done in this boot; nothing before the first command."""
        path = self.guest.share / "trace"
        return path.read_text() if path.exists() else ""

    def commands(self):
        return self.trace().count("\n")

    def has_unflushed(self):
        since = self.trace().rpartition("flushed")[2]
        return "write" in since or "append" in since

    def keys(self):
        """How many writes have been acknowledged as synced."""
        whole = [text.rpartition("\n")[0].splitlines() for text in self.logs()]
        return sum(int(lines[-1]) + 1 for lines in whole if lines)
