"""The output for people: progress on a terminal, and one line at the end, or the failure and how to reproduce it."""
import time

from tooling import screen


def thousands(number):
    return f"{number:,}"


def replay_command(seed, steps="", crash_after=None, preset="release", ask=""):
    words = ["scripts/simulate", f"--seed={seed}"]
    words += [f"--ask={ask}"] if ask else []
    words += [f"--preset={preset}"] if preset != "release" else []
    words += [f"--steps={steps}"] if steps else []
    words += [f"--crash-after={crash_after}"] if crash_after is not None else []
    return " ".join(words)


class Screen(screen.Screen):
    shown = 0  # when progress was shown last

    def progress(self, totals):
        if time.monotonic() - self.shown < 0.5:
            return
        self.shown = time.monotonic()
        rate = totals.crashes / max(self.seconds(), 0.1)
        self.live_line(f"{thousands(totals.seeds)} seeds, {thousands(totals.crashes)} crashes "
                       f"({rate:.0f}/s), {thousands(totals.faults)} faults, {self.seconds():.0f} s")

    def totals(self, totals):
        self.line(f"{thousands(totals.seeds)} seeds in {self.seconds():.0f} s: {thousands(totals.crashes)} crashes after "
                  f"{thousands(totals.commands)} commands of the device, {thousands(totals.faults)} faults, "
                  f"{thousands(totals.steps)} calls")

    def failure(self, failure, options):
        self.line(f"FAILED seed {failure.seed}: {failure.what}")
        if failure.plan:
            self.line(f"  on {failure.plan}")
        for line in failure.stacks:
            self.line(f"  {line}")
        self.line(f"  again by: {replay_command(failure.seed, preset=options.preset, ask=options.ask)}")

    def shrunk(self, small, outcome, options):
        if small is None or not small.get("failure"):
            self.line("  it does not fail again by itself: does it hang on something outside of the simulation?")
            return
        count = len(small["steps"].split(",")) if small["steps"] else 0
        self.line(f"  {count} steps are enough: " if count else "  no step can be left out:")
        self.line("  " + replay_command(small.get("seed"), small["steps"], small.get("crash_after"), options.preset,
                                        options.ask))
        self.line("  " + small["failure"].replace("\n", "\n  "))
        if outcome and outcome.get("history"):
            self.line(outcome["history"].replace("\n", "\n  "))
