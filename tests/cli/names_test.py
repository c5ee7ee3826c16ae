"""The verbs that change names (link, rename, delete, mkdir, rmdir), and dump, which tells what there is."""
import json
import os
import pathlib
import struct
import unittest

from cli_case import SMALL, UUID, CliCase


class Names(CliCase):
    def setUp(self):
        super().setUp()
        self.make_volume()
        with self.mounted() as volume:
            for request in ["mkdir db/old", "write db/1.sst 300000 1", "write db/2.sst 5000 2", "write db/3.log 6000 3",
                            "write db/old/4.sst 100 4", "write CURRENT 16 5", "mkdir empty"]:
                self.assertEqual(volume.request(request), "ok 0", request)

    def names(self):
        return [entry["name"] for entry in self.ok_json("list", f"--emu={self.image}", "--recursive")["entries"]]

    def refused(self, *words, saying):
        """Fails with one line, and no file or name is another one afterwards."""
        before = self.ok_json("dump", f"--emu={self.image}")
        self.fails(words[0], f"--emu={self.image}", *words[1:], saying=saying)
        after = self.ok_json("dump", f"--emu={self.image}")
        for part in ("files", "directories"):
            for file in before[part] + after[part]:
                if isinstance(file, dict):  # the mount seals logs: where a frame lies is not what is compared
                    file.pop("frames", None)
            self.assertEqual(before[part], after[part])

    def test_link_gives_a_second_name_to_the_same_file(self):
        self.assertEqual(self.ok("link", f"--emu={self.image}", "--src_file=db/1.sst", "--dest_file=/linked.sst"), "")
        with self.mounted() as volume:
            self.assertEqual(volume.request("unlink db/1.sst"), "ok 0")
            self.assertEqual(volume.request("verify linked.sst 300000 1"), "ok 0")

    def test_link_that_cannot_be(self):
        self.refused("link", "--src-file=db/1.sst", "--dest-file=db/2.sst", saying=["db/2.sst", "already exists"])
        self.refused("link", "--src-file=db/9.sst", "--dest-file=x", saying="db/9.sst")
        self.refused("link", "--src-file=db/1.sst", "--dest-file=no/x", saying="no")
        self.refused("link", "--src-file=db", "--dest-file=x", saying="directory")
        self.refused("link", "--src-file=db/1.sst", "--dest-file=" + "x" * 256, saying="255")
        self.refused("link", "--src-file=db/1.sst", "--dest-file=/", saying="already exists")

    def test_mkdir_makes_directories(self):
        self.assertEqual(self.ok("mkdir", f"--emu={self.image}", "db/new"), "")
        self.ok("mkdir", f"--emu={self.image}", "--parents", "/a/b/c/")
        self.ok("mkdir", f"--emu={self.image}", "--parents", "a/b")
        self.assertLess({"db/new", "a", "a/b", "a/b/c"}, set(self.names()))
        self.ok("check", f"--emu={self.image}")

    def test_mkdir_that_cannot_be(self):
        self.refused("mkdir", saying="VOLUME-PATH is missing: zenfs mkdir VOLUME-PATH;")
        self.refused("mkdir", "db", saying="db: already exists")
        self.refused("mkdir", "/", saying="already exists")
        self.refused("mkdir", "no/such", saying=["no", "--parents also makes missing parents"])
        self.refused("mkdir", "CURRENT/x", saying="CURRENT: is a file")
        self.refused("mkdir", "--parents", "CURRENT", saying="CURRENT")
        self.refused("mkdir", "--parents", "CURRENT/x", saying="CURRENT: is a file")
        self.refused("mkdir", "x" * 256, saying="255")
        with self.mounted():
            self.fails("mkdir", f"--emu={self.image}", "x", saying=["process", "volume_tool"])

    def test_rename_moves_files_and_directories_and_replaces_a_file(self):
        self.ok("rename", f"--emu={self.image}", "--src_file=db", "--dest_file=data")
        self.ok("rename", f"--emu={self.image}", "--src-file=data/1.sst", "--dest-file=data/2.sst")
        with self.mounted() as volume:
            self.assertEqual(volume.request("verify data/2.sst 300000 1"), "ok 0")
        self.assertNotIn("data/1.sst", self.names())

    def test_rename_that_cannot_be(self):
        self.refused("rename", "--src-file=db/9.sst", "--dest-file=x", saying="db/9.sst")
        self.refused("rename", "--src-file=db/1.sst", "--dest-file=empty", saying="directory")
        self.refused("rename", "--src-file=empty", "--dest-file=db", saying="not empty")
        self.refused("rename", "--src-file=db", "--dest-file=db/old/x", saying="itself")
        self.refused("rename", "--src-file=db/1.sst", "--dest-file=CURRENT/x", saying="CURRENT")

    def test_delete(self):
        self.ok("delete", f"--emu={self.image}", "--path=db/1.sst")
        self.assertNotIn("db/1.sst", self.names())
        self.refused("delete", "--path=db/1.sst", saying="db/1.sst")
        self.refused("delete", "--path=db", saying="is a directory")
        self.refused("delete", "--path=/", saying="is a directory")

    def test_rmdir(self):
        self.refused("rmdir", "--path=db", saying=["not empty", "--force"])
        self.refused("rmdir", "--path=none", saying="none")
        self.refused("rmdir", "--path=none", "--force", saying="none")
        self.refused("rmdir", "--path=CURRENT", "--force", saying="not a directory")
        self.refused("rmdir", "--path=/", "--force", saying="root")
        self.ok("rmdir", f"--emu={self.image}", "--path=empty")
        self.ok("rmdir", f"--emu={self.image}", "--path=db/", "--force")
        self.assertEqual(self.names(), ["CURRENT"])
        self.assertTrue(self.ok_json("check", f"--emu={self.image}", "--read-data")["clean"])

    def test_flags_that_are_missing_are_named(self):
        self.fails("link", f"--emu={self.image}", "--src_file=a", saying="--dest-file")
        self.fails("delete", f"--emu={self.image}", saying="--path")
        self.fails("rename", "--src-file=a", "--dest-file=b", saying="no device given")

    def test_a_volume_that_somebody_writes_is_left_alone(self):
        with self.mounted():
            for words in (["link", "--src-file=db/1.sst", "--dest-file=x"], ["rename", "--src-file=db", "--dest-file=x"],
                          ["delete", "--path=db/1.sst"], ["rmdir", "--path=db", "--force"],
                          ["restore", f"--path={self.dir}"]):
                self.fails(words[0], f"--emu={self.image}", *words[1:], saying=[self.image, "process", "volume_tool"])

    def test_what_a_dead_program_left_is_given_up_only_on_demand(self):
        tool = self.mounted()
        with self.assertRaises(AssertionError), tool:  # it ends by our signal
            pid = tool.process.pid
            tool.process.kill()
        left = [path for path in pathlib.Path("/dev/shm").glob("zenfs-*") if self.process_of(path) == pid]
        if not left:
            self.skipTest("no append buffers in /dev/shm: --discard-unsynced is not tested")
        left[0].chmod(0o644)
        self.fails("delete", f"--emu={self.image}", "--path=CURRENT", saying=[str(left[0]), "discard"])
        listed = self.zenfs("list", f"--emu={self.image}")
        self.assertIn("CURRENT", listed.out)
        self.assertRegex(listed.err, "^zenfs list: note: .*may be missing\n$")
        outcome = self.zenfs("delete", f"--emu={self.image}", "--path=CURRENT", "--discard_unsynced")
        self.assertEqual((outcome.status, outcome.out), (0, ""))
        self.assertRegex(outcome.err, "^zenfs delete: note: flushed bytes that were not synced were discarded: .*\n$")
        left[0].unlink(missing_ok=True)
        self.assertNotIn("CURRENT", self.names())

    @staticmethod
    def process_of(path):
        """docs/formats/shared-memory.md; 0 for somebody else's."""
        try:
            with open(path, "rb") as file:
                return struct.unpack_from("<I", file.read(64), 48)[0]
        except (OSError, struct.error):
            return 0

    def test_a_mount_option_that_forbids_writing_is_heeded(self):
        with self.unchanged():
            self.fails("delete", f"--uri=emu:{self.image}?ro", "--path=db/1.sst", saying="ro")
            self.fails("mkfs", f"--uri=emu:{self.image}?ro", "--force", saying="ro")


class Looking(CliCase):
    def test_dump_tells_zones_files_and_places(self):
        self.make_volume()
        with self.mounted() as volume:
            for request in ["mkdir db", "write db/1.sst 1500000 1", "link db/1.sst again", "write db/2.log 6000 2"]:
                self.assertEqual(volume.request(request), "ok 0", request)
        with self.unchanged():
            dump = json.loads(self.ok("dump", f"--emu={self.image}"))
        zones = dump["zones"]["meta"] + dump["zones"]["io"]
        self.assertEqual(len(zones), 16)
        self.assertEqual([zone["start"] for zone in sorted(zones, key=lambda z: z["start"])],
                         [n * (2 << 20) for n in range(16)])
        for zone in zones:
            self.assertEqual(zone["capacity"] + zone["wp"] - zone["start"], zone["max_capacity"])
        table, log = dump["files"]
        self.assertEqual(table["filename"], ["again", "db/1.sst"])
        self.assertEqual((table["size"], table["hint"], table["shape"]), (1500000, 3, "plain"))
        self.assertEqual(sum(extent["length"] for extent in table["extents"]), 1500000)
        self.assertEqual((log["filename"], log["shape"]), (["db/2.log"], "framed"))
        self.assertEqual(sum(piece["length"] for piece in log["extents"] + log["frames"]), 6000)
        self.assertEqual(dump["directories"], ["db"])


if __name__ == "__main__":
    unittest.main()
