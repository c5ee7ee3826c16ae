"""How the command is called: help, version, and every way to call it wrong."""
import json
import os
import subprocess
import unittest

from cli_case import ZENFS, CliCase

VERBS_WITH_A_DEVICE = ["mkfs", "list", "df", "fs-info", "zones"]


class Usage(CliCase):
    def test_help_lists_every_verb(self):
        self.golden("help.txt", self.ok("help"))
        self.assertEqual(self.ok("--help"), self.ok("help"))
        self.assertEqual(self.ok("-h"), self.ok("help"))

    def test_every_verb_in_the_help_has_help_of_its_own(self):
        verbs = [line[2:].split("  ")[0] for line in self.ok("help").splitlines() if line.startswith("  ")]
        self.assertIn("emu create", verbs)
        for verb in verbs:
            text = self.ok(*verb.split(), "--help")
            self.assertIn(f"zenfs {verb}", text)
            self.assertEqual(text, self.ok("help", *verb.split()))

    def test_version(self):
        self.assertRegex(self.ok("version"), r"^zenfs \d+\.\d+\.\d+, on-disk format 3\n$")
        self.assertEqual(self.ok("--version"), self.ok("version"))
        self.assertEqual(self.ok_json("version")["format"], 3)

    def test_no_verb(self):
        self.fails(saying=["no verb given", "zenfs help"])

    def test_unknown_verb(self):
        self.fails("format", saying=["unknown verb 'format'", "zenfs help"])
        self.fails("help", "format", saying="unknown verb 'format'")
        self.fails("emu", saying=["needs a second word", "create or clone or info or power-cut"])
        self.fails("emu", "destroy", saying=["needs a second word", "create or clone or info or power-cut"])

    def test_unknown_flag_is_named_as_it_was_typed(self):
        self.fails("mkfs", "--emu=x", "--aux_dir=/tmp/a", saying=["unknown flag --aux_dir;", "zenfs mkfs --help"])
        self.fails("list", "--emu=x", "-z", saying="unknown flag -z")
        self.fails("df", "--emu=x", "stray", saying="'stray' is one word too many")

    def test_missing_device(self):
        for verb in VERBS_WITH_A_DEVICE:
            self.fails(verb, saying=[f"zenfs {verb}: no device given", "--emu=PATH"])

    def test_two_devices(self):
        self.fails("df", "--emu=a", "--uri=zenfs://emu:b", saying=["--emu and --uri name 2 devices", "exactly one"])
        self.fails("df", "--emu=a", "--emu=b", saying="--emu")

    def test_real_devices_that_are_not_there(self):
        for verb in VERBS_WITH_A_DEVICE:
            self.fails(verb, "--zbd=no-such-disk", saying=["/dev/no-such-disk", "no such device", "zenfs devices"])
            self.fails(verb, "--zonefs=/no/such/mount", saying="/no/such/mount")

    def test_what_is_no_zoned_device_is_told_what_it_is(self):
        self.fails("mkfs", "--zbd=null", saying=["/dev/null", "not a block device"])
        self.fails("df", f"--zbd={self.dir}", saying=[self.dir, "not a block device"])
        self.fails("df", f"--zonefs={self.dir}", saying=[self.dir, "zonefs"])
        self.fails("mkfs", "--zbd=no-such-disk", "--set-scheduler", saying="/dev/no-such-disk")

    def test_check_tells_apart_what_it_could_not_do(self):
        self.fails("check", status=2, saying="no device given")
        self.fails("check", "--emu=x", "--frobnicate", status=2, saying="unknown flag --frobnicate")

    def test_missing_value(self):
        self.fails("list", "--emu", saying=["--emu", "zenfs list --help"])

    def test_dashes_and_underscores_are_the_same_in_flags(self):
        self.make_device("--zones=16", "--zone_size=2M", "--zone-capacity=1M", "--max_open=8", "--max-active=8")
        self.ok("mkfs", "--finish_threshold=5", f"--emu={self.image}")
        self.assertEqual(self.ok_json("fs-info", f"--emu={self.image}")["finish_threshold_percent"], 5)

    def test_bad_uris(self):
        self.fails("df", "--uri=", saying="--uri")
        for flag in ("--emu", "--zbd", "--zonefs"):
            self.fails("df", flag + "=", saying=flag)
            self.fails("df", flag, "", saying=[flag, "is given"])
        self.fails("df", "--uri=emu", saying=["zenfs://dev:NAME", "zenfs://zonefs:MOUNT", "zenfs://emu:PATH"])
        self.fails("df", "--uri=https://example.org/x", saying="https")
        self.fails("df", "--uri=zenfs://tape:0", saying="tape")
        self.fails("df", "--uri=zenfs://dev:no-such-disk", saying="/dev/no-such-disk")
        self.make_volume()
        self.ok("df", f"--uri=zenfs://emu:{self.image}?ro,latency_us:1")
        self.fails("df", f"--uri=zenfs://emu:{self.image}?colour:red", saying=["colour", "buffer_kib", "io:plain"])
        self.fails("df", f"--uri=zenfs://emu:{self.image}?latency_us:soon", saying="latency_us:soon")
        self.fails("df", f"--uri=zenfs://emu:{self.image}?ro=1", saying="key:value")
        self.fails("df", f"--uri=zenfs://emu:{self.image}?ro,ro", saying="twice")

    def test_output_that_can_not_be_written_is_an_error(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([ZENFS, "help"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("could not be written", done.stderr)

    def test_no_input_steers_the_terminal(self):
        line = self.fails("list", "--emu=\033[2Jx\n")
        self.assertNotIn("\033", line)
        self.assertIn("\\x1b[2Jx\\x0a", line)


if __name__ == "__main__":
    unittest.main()
