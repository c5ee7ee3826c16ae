"""What a person sees: a line a run; on a terminal also what is being done."""
from tooling import screen

COLUMNS = "{:8} {:18} {:>6} {:>6} {:>9} {:>9} {:>11} {:>7}  {}"


def figures(result):
    return (result.kind, result.runs, result.kills, result.mounts, result.verified, result.operations,
            f"{result.seconds:.0f} s")


class Screen(screen.Screen):
    def head(self):
        self.line(COLUMNS.format("", "kind", "runs", "kills", "mounts", "verified", "operations", "time", "seed"))

    def result(self, result):
        verdict = "passed" if result.ok else "FAILED"
        self.line(COLUMNS.format(verdict, *figures(result), result.seed))
        if not result.ok:
            if result.cuts:
                self.line(f"    last cut   zenfs emu power-cut --seed={result.cuts[-1]['seed']}, {len(result.cuts)} cuts in all")
            self.line(f"    {result.reason}\n    kept in    {result.directory}\n    db_stress  {result.command}\n"
                      f"    again by   {result.again}")

    def total(self, results):
        kinds = {result.kind for result in results}
        failed = sum(not result.ok for result in results)
        self.line(COLUMNS.format("", f"{len(kinds)} kinds", *(sum(getattr(result, name) for result in results) for name in
                                 ("runs", "kills", "mounts", "verified", "operations")),
                                 f"{sum(result.seconds for result in results):.0f} s", ""))
        self.line(f"{len(results) - failed} passed, {failed} failed")
