"""Writers that know what was acknowledged, and the comparison with what a server holds."""
import hashlib
import subprocess
import time

from .case import expect, expect_equal

TABLE = """CREATE DATABASE IF NOT EXISTS acknowledged;
CREATE TABLE acknowledged.rows_of (writer INT, number INT, value CHAR(32), filler TEXT, PRIMARY KEY (writer, number),
  KEY (value)) ENGINE=rocksdb"""
FILLER = 400


def value_of(writer, number):
    return hashlib.md5(f"{writer}-{number}".encode(), usedforsecurity=False).hexdigest()


class Writer:
    """A client that inserts row after row, each a transaction of its own, and prints a number when it is acknowledged."""

    def __init__(self, server, writer, first=0, count=200000):
        self.writer, self.first = writer, first
        self.told = server.directory / f"acknowledged-{writer}"
        statements = server.directory / f"statements-{writer}"
        with open(statements, "w", encoding="ascii") as text:
            for number in range(first, first + count):
                text.write(f"INSERT INTO acknowledged.rows_of VALUES ({writer}, {number}, '{value_of(writer, number)}', "
                           f"REPEAT('{number % 10}', {FILLER})); SELECT {number};\n")
        with open(statements, "rb") as text, open(self.told, "wb") as told:
            self.process = subprocess.Popen(server.client("--batch", "--skip-column-names", "--unbuffered"), stdin=text,
                                            stdout=told, stderr=subprocess.DEVNULL, process_group=0)

    def acknowledged(self):
        """One more than the last acknowledged number."""
        lines = self.told.read_text().split("\n")[:-1]  # what follows the last line end may be cut off
        return int(lines[-1]) + 1 if lines else self.first

    def wait_for(self, rows, seconds=60):
        end = time.monotonic() + seconds
        while self.acknowledged() < self.first + rows:
            expect(self.process.poll() is None, "a writer ended before the server was killed")
            expect(time.monotonic() < end, f"{rows} rows were not acknowledged within {seconds} s")
            time.sleep(0.02)

    def end(self):
        """Ends the client. What was acknowledged."""
        self.process.kill()
        self.process.wait()
        return self.acknowledged()


def expect_rows(server, acknowledged):
    """`acknowledged`: {writer: count}. Each writer's rows are there, and no others but one that was on its way.

    Returns {writer: rows that are there}.
    """
    text = server.query("SELECT writer, number, value, MD5(filler) FROM acknowledged.rows_of ORDER BY writer, number")
    found = {writer: 0 for writer in acknowledged}
    fillers = [hashlib.md5(str(digit).encode() * FILLER, usedforsecurity=False).hexdigest() for digit in range(10)]
    for line in text.splitlines():
        writer, number, value, filler = line.split("\t")
        writer, number = int(writer), int(number)
        expect_equal(number, found[writer], f"writer {writer}: the next row")
        expect_equal((value, filler), (value_of(writer, number), fillers[number % 10]), f"row {writer}-{number}")
        found[writer] += 1
    for writer, count in acknowledged.items():
        expect(count <= found[writer] <= count + 1,
               f"writer {writer}: {count} rows were acknowledged, {found[writer]} are there")
    checked = server.query("CHECK TABLE acknowledged.rows_of EXTENDED").split("\t")
    expect_equal(checked[-1], "OK", "CHECK TABLE")
    return found
