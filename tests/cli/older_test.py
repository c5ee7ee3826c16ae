"""A volume of the older ZenFS: all verbs that only look read it, all others refuse with one line and change nothing."""
import json
import os
import pathlib
import unittest

from cli_case import CliCase, Image, VolumeTool

NOTE = "a volume of the older ZenFS, format 2, which is only read; it has no checksums of contents and no times of directories"


class OlderVolume(CliCase):
    def setUp(self):
        super().setUp()
        self.make_device("--zones=40", "--zone-size=2M", "--zone-capacity=1M", "--max-open=14", "--max-active=14")
        with VolumeTool("device", self.image) as device:
            self.assertEqual(device.request("older"), "ok 3")

    def looks(self, verb, *flags):
        """What the verb prints. It succeeds, changes nothing, and says once what the format lacks."""
        with self.unchanged():
            outcome = self.zenfs(verb, f"--emu={self.image}", *flags)
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertEqual((outcome.out + outcome.err).count(NOTE), 0 if verb == "ls-uuid" else 1, (verb, outcome.out, outcome.err))
        self.assertLessEqual(outcome.err.count("\n"), 1, "its auxiliary directory is not asked for consent")
        return outcome.out

    def test_every_verb_that_only_looks_reads_it(self):
        for verb, *flags in (["list", "--path=/db"], ["df"], ["fs-info"], ["zones"], ["check"], ["check", "--read-data"], ["scrub"],
                             ["du"], ["dump"]):
            with self.subTest(verb=verb):
                out = self.looks(verb, *flags)
                if verb not in ("dump", "zones"):
                    self.golden(f"older/{'-'.join([verb, *flags]).replace('=', '').replace('/', '').replace('--', '')}.txt", out)
        self.assertIn("8b1f6c1e-5d0a-4f7e-9c3b-2a6d4e8f0b17", self.looks("ls-uuid"))

    def test_the_list_of_devices_says_how_to_open_it(self):
        out = self.ok("devices", f"--emu={self.image}")
        self.assertIn("older ZenFS 8b1f6c1e-5d0a-4f7e-9c3b-2a6d4e8f0b17", out)
        self.assertIn(f"a RocksDB program with 'zenfs://emu:{self.image}?ro'", out)

    def test_dump_has_its_places(self):
        dump = json.loads(self.looks("dump"))
        files = {file["id"]: file for file in dump["files"]}
        zone = 2 << 20
        self.assertEqual(files[2]["filename"], ["copy/000004.sst", "db/000004.sst"])
        self.assertEqual(files[2]["extents"], [{"start": 3 * zone, "length": 9000}])
        self.assertEqual(files[3]["extents"], [{"start": 4 * zone + 8, "length": 100}, {"start": 4 * zone + 4096 + 8, "length": 5000}])
        self.assertEqual(files[4]["size"], 300)

    def test_a_backup_has_every_byte_and_restores_onto_a_new_volume(self):
        saved = os.path.join(self.dir, "saved")
        self.looks("backup", f"--path={saved}")
        sizes = {"db/000004.sst": 9000, "copy/000004.sst": 9000, "db/000005.log": 5100, "db/000006.log": 300}
        for name, size in sizes.items():
            path = pathlib.Path(saved, name)
            self.assertEqual(path.stat().st_size, size)
        table = pathlib.Path(saved, "db/000004.sst").read_bytes()
        log = pathlib.Path(saved, "db/000005.log").read_bytes()
        self.assertEqual((log[:100], log[100:]), (table[:100], table[:5000]))
        self.assertEqual(int(pathlib.Path(saved, "db/000005.log").stat().st_mtime), 1600000001)
        self.ok("mkfs", f"--emu={self.image}", "--force")
        self.ok("restore", f"--emu={self.image}", f"--path={saved}")
        self.ok("check", f"--emu={self.image}", "--read-data")

    def test_whatever_writes_refuses(self):
        with self.unchanged():
            for verb, *flags in (["restore", f"--path={self.dir}"], ["delete", "--path=/db/000004.sst"],
                                 ["rename", "--src_file=/db/000004.sst", "--dest_file=/x"],
                                 ["link", "--src_file=/db/000004.sst", "--dest_file=/x"],
                                 ["rmdir", "--path=/db", "--force"], ["check", "--repair"]):
                self.fails(verb, f"--emu={self.image}", *flags, status=2 if verb == "check" else 1,
                           saying=["a volume of the older ZenFS, format 2, which is only read here", "zenfs backup", "zenfs restore"])
            self.fails("mkfs", f"--emu={self.image}", saying=["older ZenFS, format 2", "use --force if you want to replace it"])

    def test_damage_is_one_line(self):
        image = Image(self.image)
        image.damage(image.zone(0) + 4096 + 20)  # in the only snapshot
        for verb, *flags in (["list"], ["df"], ["dump"], ["zones"], ["backup", f"--path={self.dir}/saved"]):
            self.fails(verb, f"--emu={self.image}", *flags, saying=["the metadata of the older ZenFS has no whole snapshot", "restore from a backup"])
        for verb in ("check", "scrub"):
            outcome = self.zenfs(verb, f"--emu={self.image}")
            self.assertEqual((outcome.status, outcome.err), (1, ""))
            self.assertRegex(outcome.out, "error: .*no whole snapshot")

    def test_a_superblock_that_is_damaged_is_one_line(self):
        image = Image(self.image)
        image.damage(image.zone(0) + 100)
        self.fails("list", f"--emu={self.image}", saying="the superblock of the older ZenFS in zone 0")
        self.fails("mkfs", f"--emu={self.image}", saying="use --force")


if __name__ == "__main__":
    unittest.main()
