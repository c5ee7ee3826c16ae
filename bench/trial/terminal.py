"""What a person sees meanwhile: on a terminal one line that changes, in a pipe nothing but what is important."""
import sys
import time


class Screen:
    def __init__(self, stream=sys.stderr):
        self.stream, self.live = stream, stream.isatty()
        self.started = time.monotonic()
        self.what = ""

    def working(self, what):
        self.what = what
        self.tick()

    def tick(self):
        if self.live:
            self.stream.write(f"\r\033[K... {self.what} ({time.monotonic() - self.started:.0f} s)")
            self.stream.flush()

    def clear(self):
        if self.live:
            self.stream.write("\r\033[K")
            self.stream.flush()

    def line(self, text):
        self.clear()
        self.stream.write(text + "\n")
        self.stream.flush()
