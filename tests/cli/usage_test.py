"""How the command is called: help, version, and every way to call it wrong."""
import json
import os
import pathlib
import re
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

    def test_a_setuid_copy_refuses_to_run(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a setuid program that belongs to somebody else")
        if os.statvfs(self.dir).f_flag & os.ST_NOSUID:
            self.skipTest(f"{self.dir} is mounted with nosuid: set TMPDIR")
        secret = os.path.join(self.dir, "secret")
        with open(secret, "w", encoding="utf-8") as file:
            file.write("secret:line\n")
        os.chmod(secret, 0o600)
        os.chmod(self.dir, 0o755)
        self.run_without_privileges()
        for bits in (0o4755, 0o2755):
            os.chmod(self.program, bits)
            for words in (["devices"], ["version"], ["df", "--emu=/x"]):
                refusal = self.zenfs(*words, ZENFS_DEVICES_FILE=secret)
                # LeakSanitizer says in lines of its own that it can't look at such a process.
                lines = [line for line in refusal.err.splitlines() if line and not line.startswith("==")]
                self.assertEqual((refusal.status, refusal.out, len(lines)), (1, "", 1), refusal.err)
                self.assertIn("refuses to run with more privileges than its caller has", lines[0])
                self.assertNotIn("secret", refusal.err)

    def test_no_message_names_a_script_of_the_source_tree(self):
        self.assertEqual(set(re.findall(rb"scripts/[a-z-]+", pathlib.Path(ZENFS).read_bytes())), set())

    def test_no_verb(self):
        self.fails(saying=["no verb given", "zenfs help"])

    def test_unknown_verb_is_named_with_the_nearest_one(self):
        self.fails("frobnicate", saying=["unknown verb 'frobnicate'; see 'zenfs help'"])
        self.fails("chek", saying=["unknown verb 'chek', did you mean 'check'?; see 'zenfs help'"])
        self.fails("help", "frobnicate", saying="unknown verb 'frobnicate'")
        self.fails("help", "bakup", saying="did you mean 'backup'?")
        self.fails("help", "df", "stray", saying="'stray' is one word too many; 'zenfs help df' shows the flags of df")

    def test_a_word_of_other_commands_is_told_the_verb(self):
        for word, meant in [("ls", "'zenfs list --path=DIRECTORY'"), ("mv", "'zenfs rename --src-file=PATH --dest-file=PATH'"),
                            ("rm", "'zenfs delete --path=FILE' or 'zenfs rmdir --path=DIRECTORY'"), ("fsck", "'zenfs check'"),
                            ("format", "'zenfs mkfs'"), ("create", "'zenfs emu create PATH' or 'zenfs mkfs'"),
                            ("info", "'zenfs fs-info' or 'zenfs emu info PATH'"), ("cp", "'zenfs get PATH LOCAL' or 'zenfs put LOCAL PATH'"),
                            ("ln", "'zenfs link --src-file=PATH --dest-file=PATH'"), ("repair", "'zenfs check --repair'"), ("RM", "'zenfs delete")]:
            self.fails(word, saying=[f"unknown verb '{word}', did you mean {meant}", "; see 'zenfs help'"])
            self.fails("help", word, saying=f"unknown verb '{word}', did you mean {meant}")
            self.fails(word, f"--emu={self.image}", "x", saying=f"unknown verb '{word}', did you mean {meant}")

    def test_the_case_of_a_verb_is_no_riddle(self):
        self.fails("MKFS", saying="unknown verb 'MKFS', did you mean 'mkfs'?")
        self.fails("Mkfss", saying="did you mean 'mkfs'?")
        self.fails("EMU", "Create", "x", saying="did you mean 'emu create'?")
        self.assertEqual(self.ok("-V"), self.ok("version"))

    def test_a_device_without_its_flag_is_told_the_flag(self):
        self.make_device()
        self.fails("mkfs", self.image, saying=f"zenfs mkfs: a device needs a flag: --emu={self.image};")
        self.fails("df", "plausible.img", saying="a device needs a flag: --emu=plausible.img;")
        self.fails("list", "/dev/null", saying="no volume is named '/dev/null'")
        self.fails("df", f"--emu={self.image}", "second.img", saying="'second.img' is one word too many; see")
        self.fails("zones", "emu:a.img", saying="a device needs a flag: --uri=zenfs://emu:a.img;")
        self.fails("zones", "zenfs://emu:a.img", saying="a device needs a flag: --uri=zenfs://emu:a.img;")
        self.fails("df", "/dev/nvme7n1", saying="a device needs a flag: --zbd=/dev/nvme7n1;")

    def test_a_file_is_no_block_device_and_told_its_flag(self):
        self.make_device()
        self.fails("mkfs", f"--zbd={self.image}", saying=["not a block device", f"--emu={self.image} names an emulated device"])
        line = subprocess.run([ZENFS, "mkfs", "--zbd=device.img"], cwd=self.dir, capture_output=True, text=True, check=False).stderr
        self.assertIn("/dev/device.img", line)
        self.assertIn("--emu=device.img names an emulated device", line)

    def test_half_of_a_verb_is_told_what_it_lacks(self):
        self.fails("emu", saying=["'emu' alone is not a verb", "zenfs emu create", "zenfs emu power-cut"])
        self.fails("emu", "--json", saying="'emu' alone is not a verb")
        self.fails("emu", "creat", "x", saying=["unknown verb 'emu creat', did you mean 'emu create'?"])
        self.fails("emu", "destroy", saying=["unknown verb 'emu destroy'", "zenfs emu create"])

    def test_a_flag_before_the_verb_is_told_the_order(self):
        self.fails("--emu=x", "df", saying=["the verb comes first", "--emu=x", "zenfs VERB"])

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

    def test_missing_value_and_missing_flag(self):
        self.fails("list", "--emu", saying=["--emu needs a value: --emu=PATH;", "zenfs list --help"])
        self.fails("list", "--emu=", saying="--emu needs a value: --emu=PATH;")
        self.fails("emu", "create", "x", "--zones", saying="--zones needs a value: --zones=N;")
        self.fails("emu", "create", saying="PATH is missing: zenfs emu create PATH;")
        self.fails("emu", "clone", "x", saying="DST is missing: zenfs emu clone SRC DST;")
        self.fails("backup", "--emu=x", saying="--path=DIR is missing;")
        self.fails("link", "--emu=x", saying="--src-file=VOLUME-PATH is missing;")

    def test_flags_that_do_not_go_together(self):
        self.fails("check", "--emu=x", "--repair", "--read-data", status=2,
                   saying="--read-data and --repair exclude one another; give one of them;")
        self.fails("check", "--emu=x", "--yes", status=2, saying="--yes needs --repair; give both;")
        self.fails("emu", "create", "x", "--zones=3", "--zones=4", saying="--zones is given 2 times; give it once;")
        self.fails("df", "--emu=x", "--json=no", saying="--json takes no value;")

    def test_flag_of_the_older_command_is_told_what_became_of_it(self):
        self.fails("mkfs", "--emu=x", "--enable_gc", saying="--enable_gc is not needed")

    def test_sizes_in_messages_can_be_read(self):
        self.fails("emu", "create", self.image, "--zone-size=16M", "--zone-capacity=1T",
                   saying="zone capacity 1.00 TiB is above the zone size 16.0 MiB")
        self.fails("emu", "create", self.image, "--geometry=zn541", saying="unknown geometry zn541; known: zn540")

    def test_unknown_flag_is_told_the_nearest(self):
        self.fails("mkfs", "--emu=x", "--forse", saying="unknown flag --forse, did you mean --force?;")
        self.fails("mkfs", "--emu=x", "--finish_treshold=3", saying="did you mean --finish-threshold?;")

    def test_cause_stands_before_advice(self):
        line = self.fails("df", "--emu=/no/such", saying=["/no/such: No such file or directory; make one with: zenfs emu create"])
        self.assertTrue(line.endswith("zenfs emu create PATH\n"), line)

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

    def test_every_option_of_a_uri_is_in_the_documentation(self):
        page = (pathlib.Path(__file__).parents[2] / "docs/use/rocksdb.md").read_text()
        documented = set(re.findall(r"^\| `(\w+)", page, re.M))
        self.make_volume()
        listed = self.zenfs("df", f"--uri=zenfs://emu:{self.image}?colour:red").err.split("the options are ", 1)[1]
        forms = [form for part in listed.strip().split("; ") for form in re.split(", | and ", part.rpartition(": also ")[2])]
        keys = {form.split(":")[0] for form in forms}
        self.assertLess({"ro", "buffer_kib", "discard_unsynced", "io", "commands", "timing", "hostsync"}, keys)
        self.assertEqual(keys - documented, set())

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
