"""The verbs that look at a whole tree: find and du."""
import json
import os
import subprocess
import unittest

from cli_case import SMALL, ZENFS, CliCase, VolumeTool

FILES = {"db/1.sst": 300000, "db/2.sst": 1500000, "db/3.log": 70000, "db/old/4.sst": 100, "CURRENT": 16}


class Tree(CliCase):
    def setUp(self):
        super().setUp()
        self.make_volume()
        with self.mounted() as volume:
            self.assertEqual(volume.request("mkdir db/old"), "ok 0")
            for seed, (path, size) in enumerate(FILES.items()):
                self.assertEqual(volume.request(f"write {path} {size} {seed}"), "ok 0", path)

    def find(self, *words):
        return self.ok("find", f"--emu={self.image}", *words).splitlines()

    def du(self, *words):
        return {entry["path"]: entry for entry in self.ok_json("du", f"--emu={self.image}", *words)["entries"]}


class Find(Tree):
    def test_all_that_is_below_a_directory_is_found_a_path_a_line(self):
        self.assertEqual(self.find(), ["CURRENT", "db", "db/1.sst", "db/2.sst", "db/3.log", "db/old", "db/old/4.sst"])
        self.assertEqual(self.find("/db/old/"), ["db/old/4.sst"])
        self.assertEqual(self.find("CURRENT"), ["CURRENT"])

    def test_every_condition_must_hold(self):
        self.assertEqual(self.find("--name=*.sst"), ["db/1.sst", "db/2.sst", "db/old/4.sst"])
        self.assertEqual(self.find("--name=[0-9].sst", "--min-size=300000"), ["db/1.sst", "db/2.sst"])
        self.assertEqual(self.find("--name=old", "--type=file"), [])
        self.assertEqual(self.find("--type=directory"), ["db", "db/old"])
        self.assertEqual(self.find("--type=f", "--name=C*"), ["CURRENT"])
        self.assertEqual(self.find("--min-size=1M"), ["db/2.sst"])
        self.assertEqual(self.find("CURRENT", "--name=x"), [])

    def test_age_is_that_of_the_last_change(self):
        self.assertEqual(self.find("--older-than=1h"), [])
        mtimes = [entry["mtime"] for entry in self.ok_json("find", f"--emu={self.image}")["entries"]]
        while self.find("--older-than=1s") == []:  # until that second has passed
            pass
        self.assertEqual(len(mtimes), len(FILES) + 2)

    def test_zero_bytes_end_paths_that_are_printed_as_they_are(self):
        with self.mounted() as volume:
            self.assertEqual(volume.request("write db/\x01odd 5 1"), "ok 0")
        done = subprocess.run([ZENFS, "find", f"--emu={self.image}", "--name=*odd", "-0"], capture_output=True, check=True)
        self.assertEqual(done.stdout, b"db/\x01odd\0")
        self.assertEqual(self.find("--name=*odd"), ["db/\\x01odd"])

    def test_json(self):
        answer = self.ok_json("find", f"--emu={self.image}", "db", "--min-size=1M")
        del answer["entries"][0]["mtime"]
        self.assertEqual(answer, {"path": "db", "entries": [{"path": "db/2.sst", "type": "file", "size": 1500000}]})

    def test_wrong_use(self):
        emu = f"--emu={self.image}"
        self.fails("find", emu, "no", saying="zenfs find: no: no such file or directory")
        self.fails("find", emu, "--type=pipe", saying="'pipe' is neither file nor directory")
        self.fails("find", emu, "--older-than=7", saying=["--older-than", "'7' is not an age", "7d"])
        self.fails("find", emu, "--min-size=big", saying=["--min-size", "big"])
        self.fails("find", emu, "-0", "--json", saying="exclude one another")
        self.fails("find", emu, "--print", saying="unknown flag --print, did you mean --print0?")


class Du(Tree):
    def test_it_sums_each_directory_with_all_below(self):
        self.assertEqual(list(self.du()), ["db/old", "db", ""])
        self.assertEqual({path: entry["files"] for path, entry in self.du().items()}, {"db/old": 1, "db": 4, "": 5})
        self.assertEqual({path: entry["size"] for path, entry in self.du().items()},
                         {"db/old": 100, "db": 1870100, "": 1870116})
        self.assertEqual(list(self.du("db/old")), ["db/old"])
        self.assertEqual(self.du("--summarize"), {"": self.du()[""]})
        self.assertEqual(self.du("db/2.sst")["db/2.sst"], {"path": "db/2.sst", "files": 1, "size": 1500000, "on_device": 1503232})

    def test_its_figures_are_those_of_list_and_df(self):
        with self.mounted() as volume:
            self.assertEqual(volume.request("link db/1.sst other.sst"), "ok 0")
            self.assertEqual(volume.request("append db/5.log 20 100 7"), "ok 0")
            self.assertEqual(volume.request("close db/5.log"), "ok 0")
        space = self.ok_json("df", f"--emu={self.image}")
        entries = self.ok_json("list", f"--emu={self.image}", "--recursive")["entries"]
        whole = self.du()[""]
        self.assertEqual(whole["on_device"], space["data_bytes"] + space["log_bytes"])
        self.assertEqual(whole["size"], sum(entry["size"] for entry in entries if entry["name"] != "other.sst"))
        self.assertEqual(whole["files"], 6, "a file with two names counts once")

    def test_text(self):
        out = self.ok("du", f"--emu={self.image}")
        self.assertEqual(out.splitlines()[0], "        size   on device  path")
        self.assertEqual(out.splitlines()[1], "       100 B    4.00 KiB  db/old")
        self.assertEqual(len(out.splitlines()), 4)
        self.assertTrue(out.endswith("  /\n"), out)
        self.assertEqual(self.ok("du", f"--emu={self.image}", "-s").splitlines()[1:], out.splitlines()[-1:])

    def test_of_what_is_not_there(self):
        self.fails("du", f"--emu={self.image}", "no", saying="zenfs du: no: no such file or directory")
        self.fails("du", f"--emu={self.image}", "a", "b", saying="'b' is one word too many")


class Large(CliCase):
    def test_a_hundred_thousand_files(self):
        self.ok("emu", "create", self.image, "--zones=64", "--zone-size=64M", "--max-open=14", "--max-active=14")
        self.ok("mkfs", f"--emu={self.image}")
        with VolumeTool("device", self.image) as tool:
            self.assertEqual(tool.request("files 100000"), "ok 100000")
        self.assertEqual(len(self.ok("find", f"--emu={self.image}", "--type=file").splitlines()), 100_000)
        whole = self.ok_json("du", f"--emu={self.image}", "-s")["entries"][0]
        self.assertEqual((whole["files"], whole["on_device"]), (100_000, self.ok_json("df", f"--emu={self.image}")["data_bytes"]))


class BesideAWriter(CliCase):
    def test_they_see_what_was_flushed(self):
        self.make_volume(*SMALL)
        with self.mounted() as volume:
            self.assertEqual(volume.request("append a.log 3 1000 1"), "ok 0")
            self.assertEqual(self.ok("find", f"--emu={self.image}"), "a.log\n")
            self.assertEqual(self.ok_json("du", f"--emu={self.image}")["entries"][0]["size"], 3000)


if __name__ == "__main__":
    unittest.main()
