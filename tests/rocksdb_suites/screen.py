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

    def working(self, what):
        if self.live and what:
            with self.lock:
                self.stream.write(f"\r\033[K... {what} ({time.monotonic() - self.started:.0f} s)")
                self.stream.flush()

    def line(self, text):
        with self.lock:
            self.stream.write(("\r\033[K" if self.live else "") + text + "\n")
            self.stream.flush()
