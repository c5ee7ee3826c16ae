"""A terminal for tests of full screens: a pseudo-terminal with a program on it, and an emulator that has what a person would see."""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

import pyte

from cli_case import ZENFS

TIMEOUT = 60
LEAVES_SCREEN = b"\x1b[?1049l"


class Display(pyte.Screen):
    """With the sequences that ncurses sends an xterm, and pyte does not know: SU, SD, REP."""
    drawn = " "

    def draw(self, data):
        super().draw(data)
        self.drawn = data[-1]

    def repeat(self, count=1):
        self.draw(self.drawn * count)

    def scroll(self, lines):
        """Moves the lines between the margins up, or down if `lines` is negative."""
        top, bottom = self.margins or pyte.screens.Margins(0, self.lines - 1)
        kept = {y - lines: self.buffer.pop(y) for y in range(top, bottom + 1) if y in self.buffer}
        self.buffer.update({y: line for y, line in kept.items() if top <= y <= bottom})

    def scroll_up(self, count=1):
        self.scroll(count)

    def scroll_down(self, count=1):
        self.scroll(-count)


class Stream(pyte.ByteStream):
    csi = pyte.ByteStream.csi | {"S": "scroll_up", "T": "scroll_down", "b": "repeat"}
    events = pyte.ByteStream.events | {"scroll_up", "scroll_down", "repeat"}


class TerminalProgram:
    """The command on a terminal. Leaving the block kills it."""

    def __init__(self, *words, rows=24, columns=80, program=ZENFS, **environment):
        self.screen = Display(columns, rows)
        self.stream = Stream(self.screen)
        self.output = b""
        self.master, slave = pty.openpty()
        self.size(rows, columns)
        self.modes = termios.tcgetattr(slave)
        env = {name: value for name, value in os.environ.items() if name not in ("LINES", "COLUMNS", "NO_COLOR", "ZENFS_DEVICES")}
        env |= {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "ZENFS_DEVICES_FILE": "/dev/null"} | environment
        # A session of its own, so that the terminal's keys for signals reach the program.
        self.process = subprocess.Popen([program, *words], stdin=slave, stdout=slave, stderr=slave, env=env,
                                        preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)))
        self.slave = slave

    def size(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, rows, columns):
        self.screen.resize(rows, columns)
        self.size(rows, columns)

    def press(self, keys):
        os.write(self.master, keys.encode())

    def read(self, seconds):
        """Takes what the program writes within that time; false if it was nothing."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.output += data
        self.stream.feed(data)
        return True

    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    def text(self):
        return "\n".join(self.lines())

    def until(self, satisfied, what):
        """Waits until `satisfied(text)` has a true result for the screen's text, and returns it."""
        ends = time.monotonic() + TIMEOUT
        while time.monotonic() < ends:
            result = satisfied(self.text())
            if result:
                return result
            if not self.read(0.2) and self.process.poll() is not None:
                while self.read(0):
                    pass
                break
        raise AssertionError(f"the screen never showed {what}:\n{self.text()}\nended with {self.process.poll()}")

    def shows(self, *texts):
        self.until(lambda text: all(one in text for one in texts), " and ".join(repr(one) for one in texts))

    def shows_no_more(self, text):
        self.until(lambda now: text not in now, f"anything without {text!r}")

    def ended(self):
        """Waits for the end. Returns the exit status."""
        ends = time.monotonic() + TIMEOUT
        while self.process.poll() is None:
            self.read(0.1)
            if time.monotonic() > ends:
                raise AssertionError(f"it does not end:\n{self.text()}")
        while self.read(0):
            pass
        return self.process.returncode

    def restored(self):
        """True if the terminal is as it was before, on the normal screen and with a cursor."""
        return (termios.tcgetattr(self.slave) == self.modes and LEAVES_SCREEN in self.output and
                pyte.modes.DECTCEM in self.screen.mode)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)
