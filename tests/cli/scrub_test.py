"""zenfs scrub: finds damage, names it, and tells by its exit status what came out."""
import json
import os
import time
import unittest

from cli_case import UUID, CliCase, Image
from exporter_process import ExporterProcess


class Scrub(CliCase):
    def filled(self):
        """Files of both shapes, and a mount that ended well. Returns where the bytes of each lie."""
        self.make_volume()
        with self.mounted() as volume:
            for name, size in {"one.sst": 100, "two.sst": 50000, "a.log": 9000}.items():
                self.assertEqual(volume.request(f"write {name} {size} 1"), "ok 0")
            self.assertEqual(volume.request("link two.sst also.sst"), "ok 0")
        files = json.loads(self.ok("dump", f"--emu={self.image}"))["files"]
        return {path.lstrip("/"): file for file in files for path in file["filename"]}

    def damage(self, file, kind="extents", at=10):
        """Turns bits round in the file's first extent or frame; returns its zone."""
        image = Image(self.image)
        place = file[kind][0]["start"] + at
        image.damage(image.data_offset + place)
        return place // image.zone_size

    def scrubbed(self, *flags, status):
        with self.unchanged():
            outcome = self.zenfs("scrub", f"--emu={self.image}", *flags)
        self.assertEqual((outcome.status, outcome.err), (status, ""), outcome.out)
        return outcome.out

    def test_sound_volume(self):
        self.filled()
        out = self.scrubbed(status=0)
        self.assertEqual(out.count("\n"), 1, out)
        self.assertRegex(out, r"^Clean: (1 superblock|(?!1 )\d+ superblocks), (1 metadata frame|(?!1 )\d+ metadata frames), "
                         r"(1 log frame|(?!1 )\d+ log frames), 3 files, 2 extents, [\d.]+ KiB used")
        report = json.loads(self.scrubbed("--json", status=0))
        self.assertTrue(report["clean"])
        self.assertEqual((report["files"], report["extent_bytes"], report["findings"]), (3, 50100, []))
        self.assertEqual(report["extents_without_checksum"], 0)

    def test_damage_is_named(self):
        files = self.filled()
        zones = {"two.sst": self.damage(files["two.sst"], at=20000), "a.log": self.damage(files["a.log"], "frames")}
        report = json.loads(self.scrubbed("--json", status=1))
        self.assertFalse(report["clean"])
        found = {finding["paths"][-1].lstrip("/"): finding for finding in report["findings"]}
        self.assertEqual(found.keys(), zones.keys())
        for name, zone in zones.items():
            self.assertEqual(found[name]["zone"], zone)
            self.assertEqual(found[name]["severity"], "error")
            self.assertIn(f"/{name}", found[name]["text"])
        self.assertEqual(found["two.sst"]["paths"], ["/also.sst", "/two.sst"])
        out = self.scrubbed(status=1)
        self.assertEqual(out.count("error: "), 2, out)
        self.assertIn("DAMAGED: ", out)
        self.assertIn(f"they are in zone {zones['two.sst']} from byte", out)

    def test_damaged_superblock_copy(self):
        made = self.make_volume()
        image = Image(self.image)
        copies = [zone for zone in made["metadata_zones"] if image.read(image.zone(zone), 8) == b"ZENFS3SB"]
        for copy in copies:  # the last one, too: a single bit is found in it
            image.damage(image.zone(copy) + 200)
            self.assertIn(f"zone {copy} at byte 0: the copy of the superblock is damaged", self.scrubbed(status=1))
        for copy in copies:
            image.damage(image.zone(copy) + 300)
        self.fails("scrub", f"--emu={self.image}", status=2, saying="superblock")

    def test_what_is_not_there_cant_be_scrubbed(self):
        self.fails("scrub", f"--emu={self.image}", status=2, saying=[self.image, "No such file"])
        self.make_device()
        self.fails("scrub", f"--emu={self.image}", status=2, saying="no ZenFS")
        self.fails("scrub", status=2, saying="no device given")
        self.fails("scrub", f"--emu={self.image}", "--rate=fast", status=2, saying="--rate")

    def test_slow_reading_finds_the_same(self):
        self.filled()
        self.assertIn("Clean: ", self.scrubbed("--rate=100M", status=0))

    def test_beside_a_writer(self):
        self.make_volume()
        with self.mounted() as volume:
            self.assertEqual(volume.request("write one.sst 100000 1"), "ok 0")
            self.assertEqual(volume.request("write a.log 9000 1"), "ok 0")
            outcome = self.zenfs("scrub", f"--emu={self.image}")
            self.assertEqual((outcome.status, outcome.err), (0, ""), outcome.out)

    def test_its_result_is_left_for_the_exporter(self):
        files = self.filled()
        results = os.path.join(self.dir, "results")
        os.mkdir(results)
        begin = int(time.time())
        for errors in (0, 1):
            self.scrubbed(f"--results={results}", status=errors)
            self.assertEqual(os.listdir(results), [f"{UUID}.json"])
            with open(f"{results}/{UUID}.json", encoding="utf-8") as file:
                result = json.load(file)
            self.assertEqual(result["errors"], errors)
            self.assertTrue(begin <= result["ended"] <= time.time(), result)
            with ExporterProcess(f"--emu={self.image}", f"--scrub-results={results}") as exporter:
                metrics = exporter.get("/metrics")
            self.assertIn(f'zenfs_scrub_errors{{device="emu:{self.image}"}} {errors}\n', metrics)
            self.assertIn(f'zenfs_scrub_time_seconds{{device="emu:{self.image}"}} {result["ended"]}\n', metrics)
            self.damage(files["two.sst"])
        with open(f"{results}/{UUID}.json", "w", encoding="utf-8") as file:
            file.write("Dear reader")
        with ExporterProcess(f"--emu={self.image}", f"--scrub-results={results}") as exporter:
            metrics = exporter.get("/metrics")
        self.assertIn(f'zenfs_readable{{device="emu:{self.image}"}} 1\n', metrics)
        self.assertIn(f'zenfs_trouble{{device="emu:{self.image}",reason="unusable"}} 1\n', metrics)
        self.assertNotIn("zenfs_scrub_", metrics)

    def test_a_directory_for_results_that_is_missing_is_named_before_the_scrub(self):
        self.make_volume()
        self.fails("scrub", f"--emu={self.image}", f"--results={self.dir}/none", status=2, saying=["--results", "none"])


if __name__ == "__main__":
    unittest.main()
