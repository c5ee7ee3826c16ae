"""What a person sees: one line a result; on a terminal also what is being done; at the end what failed, and why."""
from tooling import screen

WIDTH = 34


class Screen(screen.Screen):
    def __init__(self, verbose=False):
        super().__init__()
        self.verbose = verbose

    def result(self, result):
        verdict = "passed" if result.ok else "FAILED"
        self.line(f"{verdict}  {result.kernel:5} {result.case:{WIDTH}} {result.seconds:6.1f} s"
                  + (f"  {result.reason or result.summary}" if result.reason or result.summary else ""))
        if result.evidence and (self.verbose or not result.ok):
            self.line("\n".join("    | " + line for line in result.evidence.splitlines()))
