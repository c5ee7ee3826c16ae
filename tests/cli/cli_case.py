"""What the tests of the command share: running it, comparing with golden files, devices in known states.

Golden files lie in golden/. UPDATE_GOLDEN=1 in the environment writes them instead of comparing; look at the
difference before you commit it.
"""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import unittest

ZENFS = os.environ["ZENFS"]
VOLUME_TOOL = os.environ["VOLUME_TOOL"]
GOLDEN = pathlib.Path(__file__).parent / "golden"

SMALL = ["--zones=16", "--zone-size=2M", "--zone-capacity=1M", "--max-open=8", "--max-active=8"]
UUID = "01234567-89ab-4cde-8f01-23456789abcd"


class Outcome:
    def __init__(self, done):
        self.status = done.returncode
        self.out = done.stdout
        self.err = done.stderr


class VolumeTool:
    """Holds a device (`mode` "device") or a mounted volume ("mount") and works on it."""

    def __init__(self, mode, path, *flush_dir, **identity):
        self.process = subprocess.Popen([VOLUME_TOOL, mode, path, *flush_dir], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **identity)
        self.answer = self.process.stdout.readline().strip()

    def request(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def __enter__(self):
        if not self.answer.startswith("ok"):
            self.process.communicate()
            raise AssertionError(self.answer)
        return self

    def __exit__(self, *exception):
        left, _ = self.process.communicate()
        if exception[0] is None and (self.process.returncode != 0 or left):
            raise AssertionError(f"volume_tool ended with {self.process.returncode}: {left}")


class CliCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="zenfs-cli-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.image = os.path.join(self.dir, "device.img")
        self.configuration = os.path.join(self.dir, "configuration")  # of a user without files, unless a test writes some
        self.program = ZENFS
        self.identity = {}

    def run_without_privileges(self):
        """From here on the command runs as somebody whom file permissions bind."""
        if os.geteuid() == 0:  # from a copy: nobody may be allowed into the build's folder
            self.program = shutil.copy(ZENFS, os.path.join(self.dir, "zenfs"))
            self.identity = {"user": 65534, "group": 65534, "extra_groups": []}

    # --- running ---
    def zenfs(self, *words, **environment):
        env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "ZENFS_DEVICES")}
        env |= {"TZ": "UTC", "LC_ALL": "C", "ZENFS_DEVICES_FILE": "/dev/null", "XDG_CONFIG_HOME": self.configuration} | environment
        return Outcome(subprocess.run([self.program, *words], capture_output=True, text=True, errors="replace", env=env,
                                      stdin=subprocess.DEVNULL, timeout=120, **self.identity))

    def ok(self, *words, **environment):
        outcome = self.zenfs(*words, **environment)
        self.assertEqual((outcome.status, outcome.err), (0, ""), words)
        return outcome.out

    def ok_json(self, *words):
        return json.loads(self.ok(*words, "--json"))

    def fails(self, *words, status=1, saying=()):
        """One line on standard error that says all of `saying`, nothing on standard output. Returns the line."""
        outcome = self.zenfs(*words)
        self.assertEqual(outcome.status, status, (words, outcome.out, outcome.err))
        self.assertEqual(outcome.out, "", words)
        self.assertEqual(outcome.err.count("\n"), 1, f"not one line: {outcome.err!r}")
        self.assertTrue(outcome.err.startswith("zenfs"), outcome.err)
        for text in [saying] if isinstance(saying, str) else saying:
            self.assertIn(text, outcome.err)
        return outcome.err

    # --- golden files ---
    def golden(self, name, text):
        text = self.normalized(text)
        path = GOLDEN / name
        if os.environ.get("UPDATE_GOLDEN"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        self.assertEqual(text, path.read_text() if path.exists() else "(there is no such golden file)", f"golden/{name}")

    def normalized(self, text):
        """What differs from run to run: names of temporary folders, uuids, times, process ids, the host's disk."""
        text = text.replace(self.dir, "DIR")
        text = re.sub(r"(?<=On the host's disk:)( +)[\d.]+ \w+", r"\1N", text)
        text = re.sub(r'("(?:allocated_bytes|created|mtime)": )\d+', r"\1N", text)
        text = re.sub(r"(?<=Last commit:)( +)\d+", r"\1N", text)  # the log allocates zones in the background
        text = re.sub(r"(?!01234567)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID", text)
        text = re.sub(r"[A-Z][a-z]{2} \d\d \d{4} \d\d:\d\d:\d\d", "MMM DD YYYY HH:MM:SS", text)
        return re.sub(r"process \d+", "process PID", text)

    # --- devices ---
    def make_device(self, *flags, path=None):
        self.ok("emu", "create", path or self.image, *(flags or SMALL))

    def make_volume(self, *flags):
        self.make_device(*flags)
        return self.ok_json("mkfs", f"--emu={self.image}", f"--uuid={UUID}", "--label=test")

    def mounted(self):
        return VolumeTool("mount", self.image)

    def contents(self):
        return pathlib.Path(self.image).read_bytes()

    def unchanged(self):
        """For `with`: the device's bytes are the same before and after."""
        return Unchanged(self)


class Unchanged:
    def __init__(self, case):
        self.case = case

    def __enter__(self):
        self.before = self.case.contents()

    def __exit__(self, *exception):
        if exception[0] is None and self.case.contents() != self.before:
            raise AssertionError("the device was changed")


# --- damage: docs/formats/emulated-device.md and docs/formats/superblock.md say where things are ---
def crc32c(data):
    table = []
    for n in range(256):
        for _ in range(8):
            n = (n >> 1) ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


class Image:
    """The file of an emulated device, opened to be changed."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            header = file.read(128)
        self.zone_size, = struct.unpack_from("<Q", header, 24)
        self.data_offset, = struct.unpack_from("<Q", header, 64)

    def read(self, offset, length):
        with open(self.path, "rb") as file:
            file.seek(offset)
            return bytearray(file.read(length))

    def write(self, offset, data):
        with open(self.path, "r+b") as file:
            file.seek(offset)
            file.write(data)

    def zone(self, number):
        return self.data_offset + number * self.zone_size

    def edit_header(self, offset, packed):
        header = self.read(0, 4096)
        header[offset:offset + len(packed)] = packed
        struct.pack_into("<I", header, 12, 0)
        struct.pack_into("<I", header, 12, crc32c(header))
        self.write(0, header)

    def edit_superblock(self, zone, offset, packed):
        block = self.read(self.zone(zone), 4096)
        block[offset:offset + len(packed)] = packed
        struct.pack_into("<I", block, 8, crc32c(block[12:]))
        self.write(self.zone(zone), block)

    def damage(self, offset):
        byte = self.read(offset, 1)
        self.write(offset, bytes([byte[0] ^ 0x40]))
