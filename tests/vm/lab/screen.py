"""What a person sees: one line a result; on a terminal also what is being done; at the end what failed, and why."""
import sys
import threading
import time

WIDTH = 34


class Screen:
    """Threads: any; one line at a time."""

    def __init__(self, verbose=False, stream=sys.stdout):
        self.verbose, self.stream = verbose, stream
        self.live = stream.isatty()
        self.lock = threading.Lock()
        self.started = time.monotonic()

    def working(self, what):
        if self.live:
            with self.lock:
                self.stream.write(f"\r\033[K... {what} ({time.monotonic() - self.started:.0f} s)")
                self.stream.flush()

    def line(self, text):
        with self.lock:
            self.stream.write(("\r\033[K" if self.live else "") + text + "\n")
            self.stream.flush()

    def result(self, result):
        verdict = "passed" if result.ok else "FAILED"
        self.line(f"{verdict}  {result.kernel:5} {result.case:{WIDTH}} {result.seconds:6.1f} s"
                  + (f"  {result.reason or result.summary}" if result.reason or result.summary else ""))
        if result.evidence and (self.verbose or not result.ok):
            self.line("\n".join("    | " + line for line in result.evidence.splitlines()))
