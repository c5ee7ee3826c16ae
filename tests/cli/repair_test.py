"""zenfs check --repair and --undo-repair: what they say, ask, do and answer."""
import glob
import json
import os
import pathlib
import pty
import resource
import subprocess
import unittest

from cli_case import UUID, CliCase, Image


class Repair(CliCase):
    def setUp(self):
        super().setUp()
        self.emu = f"--emu={self.image}"
        self.copy = os.path.join(self.dir, "copy.zmeta")
        self.made = self.make_volume()
        with self.mounted() as volume:
            self.assertEqual(volume.request("mkdir db"), "ok 0")
            for number in range(8):
                self.assertEqual(volume.request(f"write db/{number}.sst 50000 {number}"), "ok 0")

    def metadata_zone(self):
        image = Image(self.image)
        return next(zone for zone in self.made["metadata_zones"] if image.read(image.zone(zone), 8) == b"ZENFS3SB")

    def damage(self, offset):
        image = Image(self.image)
        image.damage(image.zone(self.metadata_zone()) + offset)

    def damage_other_superblocks(self):
        image = Image(self.image)
        for zone in self.made["metadata_zones"]:
            if zone != self.metadata_zone() and image.read(image.zone(zone), 8) == b"ZENFS3SB":
                image.damage(image.zone(zone) + 100)
                image.damage(image.zone(zone) + 200)

    def damage_commit_of(self, name):
        image = Image(self.image)
        start = image.zone(self.metadata_zone())
        data = bytes(image.read(start, 1 << 20))
        image.damage(start + data.index(name.encode()))

    def verify(self, *numbers):
        with self.mounted() as volume:
            for number in numbers:
                self.assertEqual(volume.request(f"verify db/{number}.sst 50000 {number}"), "ok 0")

    def test_a_sound_volume_needs_nothing(self):
        with self.unchanged():
            self.assertEqual(self.ok("check", "--repair", self.emu), "Nothing to repair.\n")
        self.assertEqual(self.ok_json("check", "--repair", self.emu)["outcome"], "nothing to do")

    def test_without_yes_and_without_a_terminal_nothing_is_changed(self):
        self.damage(4096 + 70)
        with self.unchanged():
            outcome = self.zenfs("check", "--repair", self.emu, f"--save={self.copy}")
        self.assertEqual(outcome.status, 2)
        self.assertIn("The repair of", outcome.out)
        self.assertIn("give --yes", outcome.err)
        self.assertFalse(os.path.exists(self.copy))

    def test_a_dry_run_says_the_plan_and_changes_nothing(self):
        self.damage(4096 + 70)
        with self.unchanged():
            outcome = self.zenfs("check", "--repair", "--dry-run", self.emu)
        self.assertEqual((outcome.status, outcome.err), (1, ""))
        self.assertRegex(outcome.out, r"  1\. copy the metadata zones to zenfs-metadata-" + UUID + r"-\d{8}T\d{6}Z\.zmeta \(at most \d+ bytes\)")
        self.assertRegex(outcome.out, r"  2\. rebuild the metadata log .*no commit is lost")
        with self.unchanged():
            plan = json.loads(self.zenfs("check", "--repair", "--dry-run", "--json", self.emu).out)
        self.assertEqual(plan["outcome"], "dry run")
        self.assertEqual(len(plan["plan"]["steps"]), 2)
        self.assertGreater(plan["plan"]["generation"], 1)
        self.assertRegex(plan["plan"]["save_to"], r"^zenfs-metadata-.*\.zmeta$")

    def test_the_plan_says_how_long_the_copy_is(self):
        self.damage(4096 + 70)
        words = ("check", "--repair", self.emu, f"--save={self.copy}")
        plan = json.loads(self.zenfs(*words, "--dry-run", "--json").out)["plan"]
        self.assertEqual(plan["save_to"], self.copy)
        self.assertIn(f"copy the metadata zones to {self.copy} (at most {plan['save_bytes_max']} bytes)", self.ok(*words, "--yes"))
        self.assertEqual(os.path.getsize(self.copy), plan["save_bytes_max"])

    def test_a_full_host_costs_one_line_and_leaves_no_copy(self):
        self.damage(4096 + 70)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        with self.unchanged():
            resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 10, before[1]))
            try:
                outcome = self.zenfs("check", "--repair", "--yes", self.emu, f"--save={self.copy}")
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, before)
        self.assertEqual(outcome.status, 2, outcome.err)
        self.assertEqual(outcome.err.count("\n"), 1, outcome.err)
        self.assertIn(f"{self.copy} could not be written", outcome.err)
        self.assertFalse(os.path.exists(self.copy))

    def test_repair_and_the_way_back(self):
        self.damage_commit_of("5.sst")
        self.assertEqual(self.zenfs("check", self.emu).status, 1)
        self.fails("list", "--path=db", self.emu)
        before = self.contents()
        done = self.ok("check", "--repair", "--yes", self.emu, f"--save={self.copy}")
        self.assertIn("is lost", done)
        self.assertRegex(done, r"put \d+ KiB of zone \d+ from byte \d+ on, which no file points to, at /lost\+found/zone-")
        self.assertRegex(done, r"Clean: 8 files, ")
        self.assertIn("zone-", self.ok("list", "--path=lost+found", self.emu))
        self.ok("check", "--undo-repair", self.copy, self.emu)
        self.assertEqual(self.zenfs("check", self.emu).status, 1)
        image = Image(self.image)
        for zone in self.made["metadata_zones"]:
            start = image.zone(zone)
            self.assertEqual(bytes(image.read(start, 1 << 20)).rstrip(b"\0"), before[start:start + (1 << 20)].rstrip(b"\0"))
        second = os.path.join(self.dir, "second.zmeta")
        self.assertEqual(self.ok_json("check", "--repair", "--yes", self.emu, f"--save={second}")["check"]["clean"], True)
        self.verify(0, 1, 2, 3, 4, 6, 7)
        self.ok("check", "--read-data", self.emu)
        with self.unchanged():  # mounted since
            self.fails("check", "--undo-repair", second, self.emu, status=2, saying="mounted read-write since")

    def test_the_copy_never_replaces_a_file(self):
        self.damage(4096 + 70)
        pathlib.Path(self.copy).write_text("mine")
        outcome = self.zenfs("check", "--repair", "--yes", self.emu, f"--save={self.copy}")
        self.assertEqual(outcome.status, 2)
        self.assertEqual(pathlib.Path(self.copy).read_text(), "mine")

    def test_nothing_valid_left_is_said_in_one_line(self):
        self.damage_other_superblocks()
        self.damage(100)
        self.damage(200)
        with self.unchanged():
            self.fails("check", "--repair", "--yes", self.emu, status=2, saying="no copy of the superblock is valid")

    def test_a_flipped_bit_in_the_only_superblock_is_put_right(self):
        self.damage_other_superblocks()
        self.damage(100)
        outcome = self.zenfs("check", self.emu)
        self.assertEqual(outcome.status, 1)
        self.assertIn("has a single flipped bit", outcome.out)
        self.ok("check", "--repair", "--yes", self.emu, f"--save={self.copy}")
        self.verify(*range(8))

    def test_a_volume_in_use_is_left_alone(self):
        with self.mounted() as volume:
            self.fails("check", "--repair", "--yes", self.emu, status=2, saying="in use by")
            self.assertEqual(volume.request("verify db/0.sst 50000 0"), "ok 0")

    def test_a_damaged_or_foreign_copy_is_refused(self):
        self.damage(4096 + 70)
        self.ok("check", "--repair", "--yes", self.emu, f"--save={self.copy}")
        with self.unchanged():
            self.fails("check", "--undo-repair", self.image, self.emu, status=2, saying="not a copy of metadata")
            data = bytearray(pathlib.Path(self.copy).read_bytes())
            data[4096 + 300] ^= 1
            pathlib.Path(self.copy).write_bytes(data)
            self.fails("check", "--undo-repair", self.copy, self.emu, status=2, saying="CRC does not match")

    def test_flags_that_need_repair_say_so(self):
        for flag in ("--yes", "--dry-run", "--save=x"):
            self.fails("check", flag, self.emu, status=2, saying="--repair")
        self.fails("check", "--repair", "--undo-repair=x", self.emu, status=2, saying="--repair")

    def answered(self, answer):
        self.damage(4096 + 70)
        master, slave = pty.openpty()
        try:
            process = subprocess.Popen([self.program, "check", "--repair", self.emu, f"--save={self.copy}"], stdin=slave,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            os.write(master, answer)
            out, err = process.communicate(timeout=120)
        finally:
            os.close(master)
            os.close(slave)
        self.assertIn("Go on? [y/N]", err)
        return process.returncode, out

    def test_a_terminal_is_asked_and_no_means_no(self):
        status, out = self.answered(b"\n")
        self.assertEqual(status, 1)
        self.assertIn("Nothing was changed.", out)
        self.assertFalse(os.path.exists(self.copy))

    def test_a_terminal_is_asked_and_yes_means_yes(self):
        status, out = self.answered(b"y\n")
        self.assertEqual(status, 0)
        self.assertIn("Clean: 8 files", out)
        self.verify(*range(8))

    def test_the_default_name_of_the_copy_is_of_the_volume_and_the_time(self):
        self.damage(4096 + 70)
        here = os.getcwd()
        os.chdir(self.dir)
        try:
            self.ok("check", "--repair", "--yes", self.emu)
            self.assertEqual(len(glob.glob(f"zenfs-metadata-{UUID}-*.zmeta")), 1)
        finally:
            os.chdir(here)


if __name__ == "__main__":
    unittest.main()
