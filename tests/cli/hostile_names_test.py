"""Names, labels and paths that others chose can't steer a terminal: each verb, in text and in JSON, and its errors."""
import json
import os
import pathlib
import re
import subprocess
import unittest
import urllib.parse

from cli_case import SMALL, VOLUME_TOOL, ZENFS, CliCase

# C0, DEL, C1 as UTF-8 and as a byte, bytes that are not UTF-8, separators, bidirectional controls, marks without width.
HOSTILE = [b"\x1b[2J", b"\x07", b"\r", b"\n", b"\x7f", "\u009b2J".encode(), "\u0085".encode(), b"\x9b", b"\xff\xfe", b"\xc0\xaf",
           "\u2028".encode(), "\u2029".encode(), "\u202e".encode(), "\u2066".encode(), "\u200e".encode(), "\u200f".encode(),
           "\u061c".encode(), "\u200b".encode(), "\ufeff".encode(), "\U000e0041".encode()]
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]")
NAMES = [b"%02d" % number + text + b".sst" for number, text in enumerate(HOSTILE)]
ALL = b"".join(HOSTILE)


class HostileNames(CliCase):
    def setUp(self):
        super().setUp()
        self.verbs = set()
        self.place = os.fsencode(self.dir) + b"/" + ALL
        os.mkdir(self.place)
        self.device = self.place + b"/device.img"
        self.emu = b"--emu=" + self.device
        self.source = os.fsencode(self.dir) + b"/source" + b"\x1b\xff"
        os.makedirs(self.source + b"/d" + ALL)
        for name in NAMES:
            for directory in (b"", b"d" + ALL):
                with open(os.path.join(self.source, directory, name), "wb") as file:
                    file.write(name * 100)
        self.run_verb(b"emu", b"create", self.device, b"--volatile-cache", *[word.encode() for word in SMALL])
        self.run_verb(b"mkfs", self.emu, b"--label=" + b"\x1b\xc2\x9b\xe2\x80\xae")

    def run_verb(self, *words, status=0):
        self.verbs.add(b" ".join(words[:2] if words[0] == b"emu" else words[:1]).decode(errors="replace"))
        done = subprocess.run([ZENFS.encode(), *words], capture_output=True, stdin=subprocess.DEVNULL, timeout=60,
                              env={"ZENFS_DEVICES_FILE": "/dev/null", "XDG_CONFIG_HOME": self.place + b"/configuration", "TZ": "UTC", "LC_ALL": "C.UTF-8"})
        for output in (done.stdout, done.stderr):
            text = output.decode()  # is UTF-8
            found = FORBIDDEN.search(text)
            self.assertIsNone(found, (words, text[max(0, found.start() - 40):found.start() + 40] if found else ""))
        self.assertNotIn("terminate called", done.stderr.decode())
        if status is not None:
            self.assertEqual(done.returncode, status, (words, done.stdout, done.stderr))
        return done

    def fails(self, *words):
        done = self.run_verb(*words, status=None)
        self.assertIn(done.returncode, (1, 2), (words, done))
        self.assertEqual(done.stderr.count(b"\n"), 1, (words, done.stderr))
        return done

    def run_json(self, *words):
        return json.loads(self.run_verb(*words, b"--json").stdout)

    def configure(self, text):
        os.makedirs(self.place + b"/configuration/zenfs", exist_ok=True)
        with open(self.place + b"/configuration/zenfs/zenfs.conf", "wb") as file:
            file.write(text)

    @staticmethod
    def escaped(name):
        """As text of TOML, which has no other bytes than UTF-8."""
        return "".join(f"\\U{ord(c):08x}" for c in name.decode(errors="ignore"))

    def test_no_verb_lets_a_name_reach_the_terminal(self):
        emu = self.emu
        self.run_verb(b"restore", emu, b"--path=" + self.source)
        backup = b"--path=" + self.place + b"/backup"
        name = NAMES[0]
        for words in ([b"list", emu, b"--recursive"], [b"list", emu, b"--path=d" + ALL], [b"find", emu], [b"du", emu], [b"df", emu], [b"check", emu],
                      [b"check", emu, b"--read-data"], [b"scrub", emu], [b"zones", emu], [b"fs-info", emu], [b"advise", emu], [b"backup", emu, backup],
                      [b"backup", emu, backup + b"2"], [b"restore", emu, b"--path=" + self.source, b"--force"],
                      [b"emu", b"info", self.device], [b"emu", b"power-cut", self.device]):
            self.run_verb(*words)
            if words[0] != b"backup" and words[1] != b"power-cut":
                self.run_json(*words)
        self.run_json(b"backup", emu, backup + b"3")
        self.run_verb(b"dump", emu)
        self.run_verb(b"zones", emu, b"--svg=-")
        self.run_verb(b"ls-uuid", status=None)
        self.run_verb(b"devices", status=None)
        self.run_verb(b"buffers", emu)
        self.run_verb(b"doctor", status=None)
        self.run_verb(b"doctor", b"--run", emu, b"--prefix=" + self.source, b"--", b"touch", self.source + b"/made" + ALL)
        self.run_verb(b"link", emu, b"--src-file=" + name, b"--dest-file=linked" + ALL)
        self.run_verb(b"rename", emu, b"--src-file=linked" + ALL, b"--dest-file=renamed" + ALL)
        self.run_verb(b"delete", emu, b"--path=renamed" + ALL)
        self.run_verb(b"emu", b"clone", self.device, self.place + b"/clone.img", status=None)
        self.run_verb(b"mkdir", emu, b"made" + ALL)
        self.run_verb(b"put", emu, self.source + b"/" + name, b"made" + ALL)
        self.run_verb(b"get", emu, b"made" + ALL + b"/" + name, self.place)
        self.run_verb(b"cat", emu, b"made" + ALL, status=1)
        self.run_verb(b"mount", emu, self.device, status=1)
        self.run_verb(b"rmdir", emu, b"--path=d" + ALL, b"--force")
        self.upgrade_an_older_volume()
        self.configure(f'[volumes]\nhostile = "emu:/{self.escaped(ALL)}"\n'.encode())
        self.run_verb(b"volumes")
        self.run_json(b"volumes")
        self.fails(b"df", b"hostile")
        self.fails(b"df", ALL)
        for text in (b"x = " + ALL, f'"{self.escaped(ALL)}" = "x"'.encode(), f'flush_dir = "{self.escaped(ALL)}"'.encode()):
            self.configure(text)
            self.fails(b"volumes")
        verbs = set(re.findall(r"^  ((?:emu )?[a-z-]+)  ", self.run_verb(b"help").stdout.decode(), re.M))
        self.assertEqual(verbs - self.verbs, {"stats", "top", "exporter", "version", "completion"}, "verbs that this test leaves out")

    def upgrade_an_older_volume(self):
        flat = os.fsencode(self.dir) + b"/flat"
        os.mkdir(flat)
        for name in NAMES:  # logs are written anew, and so named in the plan
            pathlib.Path(os.fsdecode(flat + b"/" + name.replace(b".sst", b".log"))).write_bytes(name * 100)
        older = self.place + b"/older.img"
        saved = self.place + b"/saved"
        self.run_verb(b"emu", b"create", older, *[word.encode() for word in SMALL])
        made = subprocess.run([VOLUME_TOOL.encode(), b"device", older], input=b"older-copy " + flat + b"\n", capture_output=True, check=True)
        self.assertNotIn(b"error", made.stdout)
        self.run_verb(b"upgrade", b"--emu=" + older, b"--dry-run", b"--save=" + saved)
        self.assertEqual(len(self.run_json(b"upgrade", b"--emu=" + older, b"--dry-run")["plan"]["rewritten_files"]), len(NAMES))
        self.run_verb(b"upgrade", b"--emu=" + older, b"--yes", b"--save=" + saved)
        self.run_verb(b"upgrade", b"--emu=" + older, b"--undo=" + saved)

    def test_a_name_takes_one_line_of_a_list(self):
        self.run_verb(b"restore", self.emu, b"--path=" + self.source)
        lines = self.run_verb(b"list", self.emu).stdout.decode().splitlines()
        self.assertEqual(len(lines), len(NAMES) + 1)

    def test_no_error_lets_a_name_reach_the_terminal(self):
        emu = self.emu
        self.run_verb(b"restore", emu, b"--path=" + self.source)
        none = b"none" + ALL
        for words in ([b"list", emu, b"--path=" + none], [b"delete", emu, b"--path=" + none], [b"rmdir", emu, b"--path=" + none],
                      [b"link", emu, b"--src-file=" + none, b"--dest-file=x"], [b"rename", emu, b"--src-file=" + none, b"--dest-file=x"],
                      [b"delete", emu, b"--path=d" + ALL], [b"mkdir", emu, b"d" + ALL], [b"cat", emu, none], [b"cat", emu, b"d" + ALL],
                      [b"mount", emu, none], [b"mount", b"--emu=" + none, self.place], [b"get", emu, none], [b"get", emu, b"d" + ALL], [b"get", emu, NAMES[0], none + b"/x"], [b"put", emu, none, b"x"],
                      [b"put", emu, self.source, b"x"], [b"put", emu, self.source + b"/" + NAMES[0], none + b"/x"], [b"rmdir", emu, b"--path=d" + ALL], [b"mkfs", emu],
                      [b"backup", emu, b"--path=/proc/" + none], [b"restore", emu, b"--path=" + self.place + none],
                      [b"list", b"--emu=" + none], [b"list", b"--uri=" + none], [b"list", b"--zbd=" + none], [b"list", b"--zonefs=" + none],
                      [b"list", emu + b"?" + none], [b"list", b"--uri=emu:" + self.device + b"?" + none], [b"stats", emu],
                      [b"stats", b"--page=" + none], [b"exporter", emu, b"--listen=" + none], [b"check", b"--emu=" + none], [none],
                      [b"list", b"--" + none], [b"list", emu, none], [b"zones", emu, b"--watch=" + none], [b"zones", emu, b"--svg=" + self.place],
                      [b"emu", b"create", self.device], [b"emu", b"create", none, b"--zones=" + none], [b"emu", b"info", none],
                      [b"emu", b"clone", none, none], [b"emu", b"power-cut", none], [b"completion", none], [b"help", none],
                      [b"buffers", b"--dir=" + none], [b"buffers", none],
                      [b"backup", emu, b"--path=x", b"--jobs=" + none]):
            self.fails(*words)

    def test_json_gives_back_each_name(self):
        self.run_verb(b"restore", self.emu, b"--path=" + self.source)
        answer = self.run_json(b"list", self.emu)
        names = set()
        for number, entry in enumerate(answer["entries"]):
            exact = answer["not_utf8"].get(f"/entries/{number}/name")
            names.add(urllib.parse.unquote_to_bytes(exact) if exact else entry["name"].encode())
        self.assertEqual(names, set(NAMES) | {b"d" + ALL})


if __name__ == "__main__":
    unittest.main()
