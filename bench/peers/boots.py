"""Boots guests until all units have ended."""
import json
import shutil
import time

from lab.guest import Guest
from lab.places import VM
from peers import cases
from tooling.places import BUILD_ROOT, ROOT

# A guest starts no unit after so long by its own clock, which needs about four times as long. A hang is a guest without news for
# longer than any phase may take.
START_SECONDS = 120
HANG_SECONDS = 1040
JOB = f"""#!/bin/bash
export PYTHONPATH='{ROOT}/bench:{VM}:{ROOT}/scripts'
exec python3 -B -m peers.in_guest
"""


class Boots:
    def __init__(self, kernel, programs, results, screen):
        self.kernel, self.programs, self.results, self.screen = kernel, programs, results, screen
        self.directory = BUILD_ROOT / "peers" / "run"

    def run(self, units, most=None):
        """`most`: so many boots."""
        self.total, boots = len(units), 0
        while (pending := self.results.pending(units)) and boots != most:
            boots += 1
            self.boot(pending)

    def boot(self, units):
        shutil.rmtree(self.directory, ignore_errors=True)
        share = self.directory / "share"
        share.mkdir(parents=True)
        plan = {"programs": self.programs, "units": units, "until": time.time() + START_SECONDS}
        (share / "plan.json").write_text(json.dumps(plan))
        news = News(share / "lines", self.results, self.show)
        self.show(units[0])
        with Guest(self.kernel, self.directory, drives=cases.DRIVES, memory="2G", accelerator="tcg,thread=single",
                   arguments=["-icount", cases.CLOCK], reset_ends=False) as guest:
            ending = guest.run(JOB, 4 * START_SECONDS + 3 * HANG_SECONDS, news)
            for image in self.directory.glob("*.img"):
                image.unlink()
        news()
        if not ending.ok or news.begun or not news.count:
            said = guest.output()[-1500:]
            tail = f"{said}\n{guest.tail_of_console(25)}\n{guest.qemu_complaint()}"
            unit = news.begun or units[0]
            self.results.add(unit, [], [{**unit, "reason": str(ending), "tail": tail}])
            self.failed(self.results.failures[-1])
        for failure in news.failures:
            self.failed(failure)

    def show(self, unit):
        self.screen.working(f"{len(self.results.ended)} of {self.total}: turn {unit['repetition'] + 1}, {unit['case']} on "
                            f"{unit['candidate']}")

    def failed(self, failure):
        self.screen.line(f"bench: turn {failure['repetition'] + 1}, {failure['case']} on {failure['candidate']}: {failure['reason']}")
        for text in failure["tail"].splitlines()[-12:]:
            self.screen.line(f"    | {text}")


class News:
    """Follows the lines of a guest. As the progress of a wait: True if nothing has come for too long."""

    def __init__(self, path, results, show):
        self.path, self.results, self.show = path, results, show
        self.at, self.count, self.heard = 0, 0, time.monotonic()
        self.begun, self.samples, self.failures = None, [], []
        self.failed = []  # of the unit that has begun

    def __call__(self):
        text = self.path.read_bytes()[self.at:] if self.path.exists() else b""
        whole = text[:text.rfind(b"\n") + 1]
        self.at += len(whole)
        for line in whole.splitlines():
            self.heard = time.monotonic()
            self.count += 1
            self.take(json.loads(line))
        if self.begun:
            self.show(self.begun)
        return time.monotonic() - self.heard > HANG_SECONDS

    def take(self, line):
        if "begin" in line:
            self.begun, self.samples, self.failed = line["begin"], [], []
        elif "sample" in line:
            self.samples.append(line["sample"])
        elif "failure" in line:
            self.failed.append(line["failure"])
        elif "end" in line:
            # A command that the emulated drive has lost costs ten seconds: the unit stays pending, twice.
            lost = any(sample.get("lost_commands") for sample in self.samples)
            if lost and self.results.postponed.count(line["end"]) < 2:
                self.results.postponed.append(line["end"])
            else:
                self.results.add(line["end"], self.samples, self.failed)
                self.failures += self.failed
            self.begun = None
