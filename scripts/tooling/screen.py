"""What a person sees: lines as results come; on a terminal also what is being done."""
import sys
import threading
import time


class Screen:
    """Threads: any; one line at a time."""

    def __init__(self, stream=sys.stdout):
        self.stream, self.live = stream, stream.isatty()
        self.lock = threading.Lock()
        self.started = time.monotonic()
        self.what = ""

    def seconds(self):
        return time.monotonic() - self.started

    def working(self, what):
        """Shows `what` is being done, on a terminal, until the next line."""
        self.what = what
        self.tick()

    def tick(self):
        """The same again, with the time that it has taken."""
        if self.what:
            self.live_line(f"... {self.what} ({self.seconds():.0f} s)")

    def live_line(self, text):
        if self.live:
            self.write(text)

    def clear(self):
        self.live_line("")

    def line(self, text=""):
        self.write(text + "\n")

    def write(self, text):
        with self.lock:
            self.stream.write(("\r\033[K" if self.live else "") + text)
            self.stream.flush()
