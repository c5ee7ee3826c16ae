"""The output for people: a row per target, progress on a terminal, and how to replay a finding."""
from tooling import screen
from tooling.places import shown

HEADER = f"{'target':16} {'executions':>12} {'exec/s':>8} {'edges':>7} {'corpus':>7} {'findings':>9} {'seconds':>8}"


class Screen(screen.Screen):
    def progress(self, runs):
        self.working(", ".join(f"{run.target} {run.executions:,} ({run.per_second:,}/s)" for run in runs)[:150])

    def row(self, run):
        count = len(run.findings) or int(not run.ok)
        self.line(f"{run.target:16} {run.executions:12,} {run.per_second:8,} {run.edges:7,} {run.corpus:7,} {count:9} "
                  f"{run.seconds:8.0f}")

    def failures(self, runs):
        for run in runs:
            if run.ok:
                continue
            self.line(f"FAILED {run.target}: {run.reason}")
            for path in run.findings:
                self.line(f"  replay it: {shown(run.program)} {shown(path)}")
            self.line(f"  all it said: {shown(run.log)}")
