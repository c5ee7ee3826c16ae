"""Which case runs in which boot, and all of them: a boot takes seconds, so cases share one unless they must not."""
import concurrent.futures
import pathlib
import random
import shutil
import time
import traceback

from tooling.places import ToolError

from lab.boot import Boot, Result
from lab.guest import Guest
from lab.places import BINARIES, RUNS

MOST_IN_ONE_BOOT = 40


def check_binaries(cases):
    """Before anything boots: a case that can't find its program says nothing about ZenFS."""
    for name in sorted({name for one in cases for name in one.needs}):
        if not (BINARIES / name).exists():
            raise ToolError(f"{BINARIES / name} is missing: run scripts/build release")


class Bench:
    """What a case that runs on the host works with: makes guests of one kernel in a directory of its own. `full`: take the
    time that it needs. A case may return a line that is shown beside its result."""

    def __init__(self, kernel, directory, guest_options, full, seed):
        self.kernel, self.directory, self.options = kernel, pathlib.Path(directory), guest_options
        self.full, self.seed = full, seed
        self.said = []

    def say(self, text):
        """A line of the case's log."""
        self.said.append(text)

    def random(self, name):
        """The same numbers again with the same seed; others for each name and kernel."""
        self.say(f"{name}: {self.seed_text}")
        return random.Random(f"{self.seed} {name} {self.kernel.line}")

    @property
    def seed_text(self):
        return f"--seed={self.seed}"

    def guest(self, name, **options):
        """A Guest; what is run later under the same name has the same images and share."""
        return Guest(self.kernel, self.directory / name, **(self.options | options))


class Suite:
    def __init__(self, screen, guest_options, full, seed):
        self.screen, self.guest_options, self.full, self.seed = screen, guest_options, full, seed

    def run(self, cases, kernels, parallel, everywhere):
        """The results of all cases on all kernels that they are for, or only on those of the short selection. At most
        `parallel` guests at a time."""
        work = [boot for kernel in kernels
                for boot in self.boots(kernel, [one for one in cases
                                                if kernel.line in (one.kernels if everywhere else one.short)])]
        with concurrent.futures.ThreadPoolExecutor(parallel) as pool:
            waiting = [pool.submit(one) for one in work]
            try:
                return [result for one in waiting for result in one.result()]
            except BaseException:  # interrupted, or the lab lacks something: no boot begins any more
                pool.shutdown(wait=False, cancel_futures=True)
                Guest.kill_all()
                raise

    def boots(self, kernel, cases):
        """Functions that each run some cases, one guest at a time."""
        shared = [one for one in cases if not one.alone and not one.host]
        for first in range(0, len(shared), MOST_IN_ONE_BOOT):
            group = shared[first:first + MOST_IN_ONE_BOOT]
            yield lambda group=group, first=first: self.in_guest(kernel, group, f"shared-{first}")
        for one in cases:
            if one.host:
                yield lambda one=one: [self.on_host(kernel, one)]
            elif one.alone:
                yield lambda one=one: self.in_guest(kernel, [one], one.name)

    def in_guest(self, kernel, cases, name):
        """A case that takes the guest with it does not take those after it: they get another boot."""
        results = []
        left, turn = cases, 0
        while left:
            boot = Boot(kernel, RUNS / kernel.line / f"{name}-{turn}", left, self.screen, self.guest_options)
            results += boot.run()
            if Guest.interrupted:
                break
            if not boot.results:  # nothing failed and nothing ran: the guest ended well without a word
                results += self.never_ran(kernel, left)
                break
            left, turn = boot.unreached, turn + 1
        return results

    def never_ran(self, kernel, cases):
        results = [Result(one.name, kernel.line, False, 0, "the guest ran nothing") for one in cases]
        for result in results:
            self.screen.result(result)
        return results

    def on_host(self, kernel, one):
        directory = RUNS / kernel.line / one.name
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        self.screen.working(f"{kernel.line}: {one.name}")
        started = time.monotonic()
        bench = Bench(kernel, directory, self.guest_options, self.full, self.seed)
        reason, evidence, summary = None, "", None
        try:
            summary = one.run(bench)
            shutil.rmtree(directory, ignore_errors=True)
        except ToolError:
            raise
        except Exception as error:
            reason, evidence = str(error).split("\n")[0] or type(error).__name__, traceback.format_exc()
        result = Result(one.name, kernel.line, reason is None, round(time.monotonic() - started, 1), reason,
                        "\n".join([*bench.said, evidence]), summary)
        self.screen.result(result)
        return result
