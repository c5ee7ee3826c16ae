"""A volume whose logs are on a second device: mkfs --waldev, and what the verbs say of the two."""
import os
import shutil
import unittest

from cli_case import SMALL, UUID, CliCase


class LogDevice(CliCase):
    def setUp(self):
        super().setUp()
        self.logs = os.path.join(self.dir, "logs.img")
        self.make_device()
        self.make_device("--zones=12", "--zone-size=256K", path=self.logs)

    def make_pair(self):
        return self.ok_json("mkfs", f"--emu={self.image}", f"--waldev=emu:{self.logs}", f"--uuid={UUID}", "--label=test")

    def fill(self):
        with self.mounted() as volume:
            for request in ["write db/000014.sst 300000 1", "write db/000029.log 100000 3"]:
                if request.startswith("write db/000014"):
                    self.assertEqual(volume.request("mkdir db"), "ok 0")
                self.assertEqual(volume.request(request), "ok 0", request)

    def moved(self):
        moved = os.path.join(self.dir, "moved.img")
        os.rename(self.logs, moved)
        return moved

    def test_verbs_find_the_second_device(self):
        self.make_pair()
        self.fill()
        self.golden("log_device/fs-info", self.ok("fs-info", f"--emu={self.image}"))
        zones = self.ok_json("zones", f"--emu={self.image}")["zones"]
        self.assertEqual({zone["zone"] >= 16 for zone in zones if zone["phase"] == "log"}, {True})
        self.assertEqual({zone["zone"] < 16 for zone in zones if zone["phase"] in ("active", "metadata")}, {True})
        self.golden("log_device/list", self.ok("list", f"--emu={self.image}"))
        self.assertIn("Clean", self.ok("check", f"--emu={self.image}", "--read-data"))
        self.assertEqual(self.ok_json("fs-info", f"--emu={self.image}")["log_device"],
                         {"name": f"emu:{self.logs}", "zones": 10})

    def test_devices_tells_them_apart(self):
        self.make_pair()
        seen = self.ok_json("devices", f"--emu={self.image}", f"--emu={self.logs}")["devices"]
        self.assertEqual([(one["holds"]["kind"], one["holds"]["uuid"]) for one in seen],
                         [("zenfs", UUID), ("zenfs logs", UUID)])
        out = self.ok("devices", f"--emu={self.image}", f"--emu={self.logs}")
        self.assertIn(f"logs of ZenFS {UUID}", out)

    def test_free_space_is_that_of_the_main_device(self):
        pair = self.make_pair()["free_bytes"]
        alone = self.ok_json("mkfs", f"--emu={self.image}", "--force")["free_bytes"]
        self.assertEqual(pair, alone + (1 << 20), "the zone that the log needs is on the second device")

    def test_a_second_device_that_moved_is_named_or_listed(self):
        self.make_pair()
        self.fill()
        moved = self.moved()
        self.fails("df", f"--emu={self.image}", saying=[self.image, f"at mkfs emu:{self.logs}", "?waldev:"])
        self.ok("df", f"--uri=zenfs://emu:{self.image}?waldev:emu:{moved}")
        self.ok("df", f"--emu={self.image}", ZENFS_DEVICES=moved)
        self.ok("df", f"--uri=zenfs://uuid:{UUID}", ZENFS_DEVICES=f"{self.image}:{moved}")

    def test_the_second_device_alone_names_the_first(self):
        self.make_pair()
        self.fails("df", f"--emu={self.logs}", saying=["only the logs", UUID, f"emu:{self.image}"])

    def test_wrong_second_devices_are_refused(self):
        self.make_pair()
        other = os.path.join(self.dir, "other.img")
        self.make_device(path=other)
        self.fails("df", f"--uri=zenfs://emu:{self.image}?waldev:emu:{other}", saying="waldev")
        self.ok("mkfs", f"--emu={other}")
        self.fails("df", f"--uri=zenfs://emu:{self.image}?waldev:emu:{other}", saying=["waldev", "has not the logs"])
        self.fails("df", f"--uri=zenfs://emu:{other}?waldev:emu:{self.logs}", saying=["waldev", "leave the option"])
        self.fails("df", f"--uri=zenfs://emu:{self.image}?waldev:nonsense", saying=["waldev", "nonsense"])

    def copied(self, path, to):
        to = os.path.join(self.dir, to)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copyfile(path, to)
        return to

    def refused_by_all(self, image, saying):
        for words in (["list"], ["backup", f"--path={self.dir}/backup"], ["rmdir", "--path=db", "--force"]):
            self.fails(*words, f"--emu={image}", saying=saying)
        for words in (["check"], ["check", "--repair", "--yes"], ["scrub"]):
            outcome = self.zenfs(*words, f"--emu={image}")
            self.assertNotEqual(outcome.status, 0, words)
            self.assertEqual(outcome.err.count("\n"), 1, outcome.err)
            for text in saying:
                self.assertIn(text, outcome.err)

    def test_a_log_device_of_an_earlier_mount_is_refused(self):
        self.make_pair()
        older = self.copied(self.logs, "older.img")
        self.fill()
        newer = self.copied(self.logs, "newer.img")
        shutil.copyfile(older, self.logs)
        with self.unchanged():
            self.refused_by_all(self.image, [f"emu:{self.logs} is not the log device of the last mount", "older copy",
                                             "?waldev:"])
        shutil.copyfile(newer, self.logs)
        self.assertIn("Clean", self.ok("check", f"--emu={self.image}", "--read-data"))

    def test_a_main_device_of_an_earlier_mount_is_refused(self):
        self.make_pair()
        older = self.copied(self.image, "older.img")
        self.fill()
        shutil.copyfile(older, self.image)
        with self.unchanged():
            self.fails("list", f"--emu={self.image}", saying=[f"emu:{self.image} is not the main device of the last mount"])

    def test_a_copy_does_not_use_the_log_device_of_its_original(self):
        self.make_pair()
        self.fill()
        copy = self.copied(self.image, "copy.img")
        logs = self.copied(self.logs, "copied-logs.img")
        with self.unchanged():
            self.refused_by_all(copy, [f"emu:{copy} is not the device that was last mounted", "a copy of it", "?waldev:"])
        self.ok("list", f"--uri=zenfs://emu:{copy}?waldev:emu:{logs}", "--path=db")
        self.ok("rmdir", f"--uri=zenfs://emu:{copy}?waldev:emu:{logs}", "--path=db", "--force")
        with self.mounted() as volume:
            self.assertEqual(volume.request("verify db/000029.log 100000 3"), "ok 0")
        self.fails("list", f"--uri=zenfs://emu:{copy}?waldev:emu:{self.logs}", saying=["different copies", copy, self.logs])

    def test_copies_in_one_folder_are_a_volume(self):
        self.make_pair()
        self.fill()
        copy = self.copied(self.image, "copy/" + os.path.basename(self.image))
        self.copied(self.logs, "copy/logs.img")
        self.ok("rmdir", f"--emu={copy}", "--path=db", "--force")
        with self.mounted() as volume:
            self.assertEqual(volume.request("verify db/000029.log 100000 3"), "ok 0")

    def test_mkfs_refuses_what_is_in_use_or_unfit(self):
        self.make_pair()
        with self.unchanged():
            self.fails("mkfs", f"--emu={self.image}", saying="--force")
            self.fails("mkfs", f"--emu={self.logs}", saying="--force")
            self.fails("mkfs", f"--emu={self.image}", "--waldev=emu:", "--force", saying="--waldev")
            self.fails("mkfs", f"--emu={self.image}", f"--waldev=emu:{self.image}", "--force", saying=self.image)
        tiny = os.path.join(self.dir, "tiny.img")
        self.make_device("--zones=5", "--zone-size=256K", path=tiny)
        with self.unchanged():
            self.fails("mkfs", f"--emu={self.image}", f"--waldev=emu:{tiny}", "--force",
                       saying=["tiny.img", "at least 6"])
        self.make_pair_again()

    def make_pair_again(self):
        self.ok("mkfs", f"--emu={self.image}", f"--waldev=emu:{self.logs}", "--force")
        self.ok("check", f"--emu={self.image}")

    def test_main_device_made_anew_no_longer_needs_the_second(self):
        self.make_pair()
        self.ok("mkfs", f"--emu={self.image}", "--force")
        os.remove(self.logs)
        self.ok("df", f"--emu={self.image}")

    def test_clone_of_one_of_two_is_refused(self):
        self.make_pair()
        for source, other in ((self.image, self.logs), (self.logs, self.image)):
            self.fails("emu", "clone", source, os.path.join(self.dir, "clone.img"), saying=[other, "zenfs backup"])

    def test_backup_and_restore_to_a_single_device(self):
        self.make_pair()
        self.fill()
        backup = os.path.join(self.dir, "backup")
        self.ok("backup", f"--emu={self.image}", f"--path={backup}")
        single = os.path.join(self.dir, "single.img")
        self.make_device(*SMALL, path=single)
        self.ok("mkfs", f"--emu={single}")
        self.ok("restore", f"--emu={single}", f"--path={backup}")
        strip = [line.split()[0] for line in self.ok("list", f"--emu={single}", "--path=db").splitlines()]
        self.assertEqual(strip, ["300000", "100000"])

    def test_repair_knows_both_devices(self):
        self.make_pair()
        self.fill()
        self.ok("check", f"--emu={self.image}", "--repair")
        with self.mounted() as volume:
            self.assertEqual(volume.request("verify db/000029.log 100000 3"), "ok 0")


if __name__ == "__main__":
    unittest.main()
