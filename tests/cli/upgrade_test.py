"""A volume of the older ZenFS is taken over in place, and given back."""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import unittest

from cli_case import CliCase, Image, VolumeTool

SIZES = {"db/000004.sst": 9000, "copy/000004.sst": 9000, "db/000005.log": 5100, "db/000006.log": 300}


@contextlib.contextmanager
def locked(path):
    """A lock on the file, as RocksDB has one on the LOCK of an open database. Yields the process that has it."""
    with subprocess.Popen([sys.executable, "-c", "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); "
                           "print('locked', flush=True); sys.stdin.read()", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"locked\n"
        yield holder.pid
        holder.stdin.close()


class Upgrade(CliCase):
    def setUp(self):
        super().setUp()
        self.make_older("older")
        self.saved = os.path.join(self.dir, "saved.zmeta")

    def make_older(self, request):
        if os.path.exists(self.image):
            os.remove(self.image)
        self.make_device("--zones=40", "--zone-size=2M", "--zone-capacity=1M", "--max-open=14", "--max-active=14")
        with VolumeTool("device", self.image) as device:
            self.assertTrue(device.request(request).startswith("ok"))

    def upgrade(self):
        return self.ok("upgrade", f"--emu={self.image}", "--yes", f"--save={self.saved}")

    def files(self):
        """The bytes of all files, as a backup has them."""
        into = os.path.join(self.dir, "files")
        self.zenfs("backup", f"--emu={self.image}", f"--path={into}", "--force")
        return {name: pathlib.Path(into, name).read_bytes() for name in SIZES}

    def format(self):
        return json.loads(self.zenfs("fs-info", f"--emu={self.image}", "--json").out)["format"]

    def test_the_plan_says_what_it_does_and_changes_nothing(self):
        with self.unchanged():
            out = self.ok("upgrade", f"--emu={self.image}", "--dry-run", f"--save={self.saved}")
            self.golden("older/upgrade-dry-run.txt", out)
            plan = self.ok_json("upgrade", f"--emu={self.image}", "--dry-run")
            self.assertEqual(plan["outcome"], "dry run")
            self.assertEqual(plan["plan"]["rewritten_files"], ["/db/000005.log", "/db/000006.log"])
            self.assertEqual(plan["plan"]["staying_bytes"], 9000)
            self.fails_after_the_plan("upgrade", f"--emu={self.image}", saying="give --yes, or run it on a terminal")

    def fails_after_the_plan(self, *words, saying):
        outcome = self.zenfs(*words)
        self.assertEqual(outcome.status, 1)
        self.assertEqual(outcome.err.count("\n"), 1, outcome.err)
        self.assertIn(saying, outcome.err)

    def test_every_file_is_taken_over_and_the_volume_can_be_written(self):
        before = self.files()
        self.assertEqual({name: len(bytes) for name, bytes in before.items()}, SIZES)
        self.golden("older/upgrade.txt", self.upgrade())
        self.assertEqual(self.files(), before)
        self.assertEqual(self.format(), 3)
        self.ok("check", f"--emu={self.image}", "--read-data")
        self.ok("delete", f"--emu={self.image}", "--path=/db/000006.log")
        self.assertNotIn("000006.log", self.ok("list", f"--emu={self.image}", "--path=/db"))
        again = self.ok("upgrade", f"--emu={self.image}", "--yes")
        self.assertIn("has format 3 already; there is nothing to do", again)

    def test_the_first_scrub_computes_the_checksums(self):
        self.upgrade()
        first = self.ok_json("scrub", f"--emu={self.image}")
        self.assertEqual((first["extents_without_checksum"], first["checksums_recorded"]), (1, 1))
        second = self.ok_json("scrub", f"--emu={self.image}")
        self.assertEqual((second["extents_without_checksum"], second["checksums_recorded"]), (0, 0))
        image = Image(self.image)
        image.damage(image.zone(3) + 5000)
        outcome = self.zenfs("scrub", f"--emu={self.image}")
        self.assertEqual(outcome.status, 1)
        self.assertIn("do not match their checksum", outcome.out)

    def test_a_scrub_beside_a_program_leaves_the_checksums_to_the_next_one(self):
        self.upgrade()
        with self.mounted():
            scrubbed = self.zenfs("scrub", f"--emu={self.image}")
        self.assertEqual(scrubbed.status, 0, scrubbed.err)
        self.assertIn("No checksum was recorded", scrubbed.out)
        self.assertEqual(self.ok_json("scrub", f"--emu={self.image}")["checksums_recorded"], 1)

    def test_it_is_given_back_until_it_was_mounted(self):
        before = self.files()
        self.upgrade()
        self.ok("scrub", f"--emu={self.image}")
        out = self.ok("upgrade", f"--emu={self.image}", f"--undo={self.saved}")
        self.assertIn("a volume of the older ZenFS again", out)
        self.assertEqual(self.format(), 2)
        self.assertEqual(self.files(), before)
        self.ok("upgrade", f"--emu={self.image}", f"--undo={self.saved}")  # once more: nothing happens
        self.assertEqual(self.files(), before)
        os.remove(self.saved)
        self.upgrade()
        with self.mounted():
            pass
        with self.unchanged():
            self.fails("upgrade", f"--emu={self.image}", f"--undo={self.saved}", saying="was mounted read-write since its upgrade")

    def test_bad_input_is_one_line_and_changes_nothing(self):
        with self.unchanged():
            pathlib.Path(self.saved).write_text("something else")
            self.fails_after_the_plan("upgrade", f"--emu={self.image}", "--yes", f"--save={self.saved}", saying=self.saved)
            self.fails("upgrade", f"--emu={self.image}", f"--undo={self.saved}", saying=self.saved)
            self.fails("upgrade", f"--emu={self.image}", f"--undo={self.dir}/missing", saying="missing")
            self.fails("upgrade", f"--emu={self.image}", f"--undo={self.saved}", "--dry-run", status=1, saying="--dry-run and --undo exclude one another")
        other = os.path.join(self.dir, "other.img")
        self.make_device(path=other)
        self.fails("upgrade", f"--emu={other}", "--yes", saying="no ZenFS on")
        self.ok("mkfs", f"--emu={other}")
        self.assertIn("has format 3 already", self.ok("upgrade", f"--emu={other}", "--yes"))

    def test_an_open_database_of_the_older_zenfs_is_refused(self):
        aux = pathlib.Path(self.dir, "aux")
        (aux / "db").mkdir(parents=True)
        lock = aux / "db" / "LOCK"
        lock.touch()
        self.make_older(f"older {aux}/")
        with locked(lock) as pid, self.unchanged():
            self.fails("upgrade", f"--emu={self.image}", "--yes", saying=[f"{lock} is locked by process {pid}", "close it first"])
        out = self.upgrade()
        self.assertIn(f"the old ones stay in {aux}", out)
        self.ok("upgrade", f"--emu={self.image}", f"--undo={self.saved}")
        with locked(lock) as pid, self.unchanged():
            self.fails("upgrade", f"--emu={self.image}", f"--undo={self.saved}", saying=[f"{lock} is locked by process {pid}", "close it first"])

    def test_a_device_that_a_program_has_open_is_refused(self):
        with VolumeTool("device", self.image) as holder, self.unchanged():
            self.fails("upgrade", f"--emu={self.image}", "--yes", saying=["in use", str(holder.process.pid)])

    def test_a_missing_auxiliary_directory_is_not_missed(self):
        self.make_older(f"older {self.dir}/missing/")
        self.upgrade()
        self.assertEqual(self.format(), 3)


if __name__ == "__main__":
    unittest.main()
