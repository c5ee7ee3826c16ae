"""The udev rules are of the form that udev(7) documents, and their patterns mean what the comments say.

usage: udev_rules_test.py RULES

udevadm verify judges them too where it is there (systemd 254 and later).
"""
import fnmatch
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

RULES = pathlib.Path(sys.argv.pop(1))

# udev(7): keys that match, keys that assign, and those that do both, each with or without an attribute in braces.
MATCH = {"ACTION", "DEVPATH", "KERNEL", "SUBSYSTEM", "DRIVER", "ATTR{}", "SYSCTL{}", "ENV{}", "TAG", "TEST", "PROGRAM",
         "RESULT", "CONST{}", "NAME", "SYMLINK"}
ASSIGN = {"NAME", "SYMLINK", "OWNER", "GROUP", "MODE", "ATTR{}", "SYSCTL{}", "ENV{}", "TAG", "RUN{}", "LABEL", "GOTO",
          "IMPORT{}", "OPTIONS"}
PAIR = re.compile(r'([A-Z]+)(\{[^{}"]+\})?(==|!=|\+=|-=|:=|=)"((?:[^"\\]|\\.)*)"')


def rules():
    """(line number, [(key, attribute, operator, value)]) of each rule; fails on what is none."""
    for number, line in enumerate(RULES.read_text().split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        parts = re.split(r",\s*(?=[A-Z])", line)
        pairs = [PAIR.fullmatch(part.strip()) for part in parts]
        assert all(pairs), f"{RULES}:{number}: not of the form KEY==\"value\", KEY=\"value\": {line}"
        yield number, [pair.groups() for pair in pairs]


def values(key, attribute=None):
    return [pair[3] for _, pairs in rules() for pair in pairs if pair[0] == key and pair[1] == attribute]


class UdevRules(unittest.TestCase):
    def test_every_key_and_operator_is_documented(self):
        for number, pairs in rules():
            for key, attribute, operator, _ in pairs:
                known = MATCH if operator in ("==", "!=") else ASSIGN
                self.assertIn(key + ("{}" if attribute else ""), known, f"line {number}")

    def test_every_goto_has_its_label_further_down(self):
        labels = {pairs[0][3]: number for number, pairs in rules() if pairs[0][0] == "LABEL"}
        for number, pairs in rules():
            for key, _, _, value in pairs:
                if key == "GOTO":
                    self.assertGreater(labels.get(value, 0), number)

    def test_nothing_but_zoned_disks_is_touched(self):
        (_, guard), (_, leave) = list(rules())[:2]
        self.assertIn(("ATTR", "{queue/zoned}", "==", "host-managed"), guard)
        self.assertIn(("SUBSYSTEM", None, "==", "block"), guard)
        self.assertEqual(leave, [("GOTO", None, "=", "zenfs_end")])
        last = list(rules())[-1][1]
        self.assertEqual(last, [("LABEL", None, "=", "zenfs_end")])

    def test_the_scheduler_is_set_on_kernels_that_need_it(self):
        pattern, = values("SYSCTL", "{kernel/osrelease}")
        needs_it = lambda release: any(fnmatch.fnmatchcase(release, one) for one in pattern.split("|"))
        for release in ("5.10.0-30-amd64", "6.1.0-56-amd64", "6.9.12", "6.0-rc1"):
            self.assertTrue(needs_it(release), release)
        for release in ("6.10.0", "6.12.117+deb12-amd64", "6.18.44", "7.0.1"):
            self.assertFalse(needs_it(release), release)
        self.assertIn("mq-deadline", values("ATTR", "{queue/scheduler}"))

    def test_the_example_is_a_rule(self):
        example, = [line[1:] for line in RULES.read_text().split("\n") if line.startswith("#GROUP")]
        for part in example.split(", "):
            self.assertTrue(PAIR.fullmatch(part), part)

    def test_udev_takes_them(self):
        udevadm = shutil.which("udevadm")
        if udevadm is None or subprocess.run([udevadm, "verify", "--help"], capture_output=True).returncode != 0:
            self.skipTest("there is no udevadm with the verb verify")
        done = subprocess.run([udevadm, "verify", RULES], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
