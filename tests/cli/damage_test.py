"""Devices that are not what they should be: every verb says so in one line, and none makes it worse."""
import os
import pathlib
import stat
import struct
import unittest

from cli_case import CliCase, Image

LOOKING = ["list", "df", "fs-info", "zones"]


class Damage(CliCase):
    def refused(self, *saying, but=()):
        """All looking verbs fail with a line that says so, check with status 2, and nothing is changed."""
        with self.unchanged():
            for verb in LOOKING:
                if verb not in but:
                    self.fails(verb, f"--emu={self.image}", saying=saying)
            self.fails("check", f"--emu={self.image}", status=2, saying=saying)

    def test_no_such_file(self):
        for verb in ["mkfs", *LOOKING]:
            self.fails(verb, f"--emu={self.image}", saying=[self.image, "No such file"])
        self.fails("check", f"--emu={self.image}", status=2, saying=[self.image, "No such file"])
        self.assertFalse(os.path.exists(self.image))

    def test_not_a_file(self):
        for verb in ["mkfs", *LOOKING]:
            self.fails(verb, f"--emu={self.dir}", saying=self.dir)

    def test_not_a_zoned_device(self):
        pathlib.Path(self.image).write_bytes(b"\0" * 1000000)
        self.refused(self.image)
        with self.unchanged():
            self.fails("mkfs", f"--emu={self.image}", "--force", saying=self.image)

    def test_a_device_cut_off(self):
        self.make_volume()
        os.truncate(self.image, 1 << 20)
        self.refused(self.image)

    def test_a_device_that_is_too_long_is_not_called_cut_off(self):
        self.make_volume()
        length = os.path.getsize(self.image)
        with open(self.image, "ab") as image:
            image.write(b"more")
        self.refused(f"is {length + 4} bytes long and should be {length}", "bytes were added behind its end", f"truncate -s {length} {self.image}")
        self.assertNotIn("cut off", self.zenfs("df", f"--emu={self.image}").err)

    def test_a_device_that_is_shorter_than_its_header_is_called_cut_off(self):
        self.make_volume()
        for length in (100, 4095):
            os.truncate(self.image, length)
            self.refused(f"this emulated device has {length} bytes, fewer than its header: it was cut off or not completely copied")
        os.truncate(self.image, 7)
        self.refused("is not an emulated device")

    def test_a_link_that_leads_nowhere(self):
        os.symlink("gone.img", self.image)
        for verb in ["mkfs", *LOOKING]:
            self.fails(verb, f"--emu={self.image}",
                       saying=f"emulated device {self.image}: the symbolic link leads to gone.img, which does not exist")
        self.fails("emu", "create", self.image, saying=[self.image, "symbolic link"])
        other = os.path.join(self.dir, "other.img")
        self.make_volume_at(other)
        local = os.path.join(self.dir, "local")
        os.symlink("gone", local)
        for words in (["put", local, "x"], ["restore", f"--path={local}"], ["backup", f"--path={local}"]):
            self.fails(words[0], f"--emu={other}", *words[1:], saying=f"{local}: the symbolic link leads to gone, which does not exist")

    def make_volume_at(self, path):
        self.make_device(path=path)
        self.ok("mkfs", f"--emu={path}")

    def test_remains_that_can_not_be_told_are_no_reason_for_mkfs(self):
        """All that says ZenFS is zeroed: the superblocks and the beginning of the metadata log."""
        made = self.make_volume()
        image = Image(self.image)
        written = 0
        for zone in made["metadata_zones"]:
            if image.read(image.zone(zone), 8) == b"ZENFS3SB":
                image.write(image.zone(zone), b"\0" * 65536)
                written += 1
        self.refused(f"no ZenFS can be read on emu:{self.image}, but {written} of its zones hold data",
                     "a ZenFS whose superblocks are gone", "restore")
        for verb in LOOKING:
            self.assertNotIn("make one", self.zenfs(verb, f"--emu={self.image}").err)
        self.assertNotIn("make one", self.zenfs("ls-uuid", f"--emu={self.image}").err)

    def test_no_list_of_devices_sends_somebody_past_a_damaged_one(self):
        made = self.make_volume()
        image = Image(self.image)
        for zone in made["metadata_zones"]:
            if image.read(image.zone(zone), 8) == b"ZENFS3SB":
                image.write(image.zone(zone), b"\0" * 4096)
        out = self.ok("devices", f"--emu={self.image}")
        self.assertIn(f"Next: zenfs check --emu={self.image}, which says what is damaged\n", out)
        self.assertNotIn("emu create", out)

    def test_no_file_system(self):
        self.make_device()
        self.refused("no ZenFS", "zenfs mkfs")

    def test_every_superblock_damaged(self):
        made = self.make_volume()
        image = Image(self.image)
        for zone in made["metadata_zones"]:
            if image.read(image.zone(zone), 8) == b"ZENFS3SB":
                image.damage(image.zone(zone) + 100)
                image.damage(image.zone(zone) + 200)  # a single flipped bit could be put right
        with self.unchanged():
            for verb in LOOKING:
                self.fails(verb, f"--emu={self.image}", saying="superblock")
            outcome = self.zenfs("check", f"--emu={self.image}")
            self.assertEqual((outcome.status, outcome.err), (1, ""))
            self.assertRegex(outcome.out, r"metadata zone \d+, byte 0: .*CRC.* \(zone \d+, device offset \d+\)")
            self.assertIn("no copy of the superblock is valid", outcome.out)
        with self.unchanged():  # it may be somebody's file system yet
            self.fails("mkfs", f"--emu={self.image}", saying="--force")
        self.ok("mkfs", f"--emu={self.image}", "--force")

    def test_newer_incompatible_feature(self):
        self.edit_every_superblock(48, struct.pack("<Q", 1 << 5))
        self.refused("incompatible feature", "5")

    def test_newer_read_only_compatible_feature_can_be_looked_at(self):
        self.edit_every_superblock(40, struct.pack("<Q", 1 << 6))
        for verb in LOOKING:
            self.ok(verb, f"--emu={self.image}")

    def test_newer_compatible_feature_is_ignored(self):
        self.edit_every_superblock(32, struct.pack("<Q", 1 << 7))
        self.ok("df", f"--emu={self.image}")
        self.ok("check", f"--emu={self.image}")

    def test_newer_version(self):
        self.edit_every_superblock(12, struct.pack("<I", 4))
        self.refused("version 4", "newer")

    def edit_every_superblock(self, offset, packed):
        made = self.make_volume()
        image = Image(self.image)
        edited = 0
        for zone in made["metadata_zones"]:
            if image.read(image.zone(zone), 8) == b"ZENFS3SB":
                image.edit_superblock(zone, offset, packed)
                edited += 1
        self.assertGreater(edited, 0)

    def test_wrong_geometry(self):
        self.edit_every_superblock(76, struct.pack("<I", 17))
        self.refused("16", "17")

    def test_damaged_metadata_is_reported_by_check(self):
        made = self.make_volume()
        with self.mounted() as volume:
            for number in range(20):
                self.assertEqual(volume.request(f"write f{number} 5000 {number}"), "ok 0")
        image = Image(self.image)
        for zone in made["metadata_zones"]:  # the first frame behind the superblock
            if image.read(image.zone(zone), 8) == b"ZENFS3SB":
                image.damage(image.zone(zone) + 4096 + 50)
        with self.unchanged():
            outcome = self.zenfs("check", f"--emu={self.image}")
            self.assertEqual((outcome.status, outcome.err), (1, ""))
            self.assertRegex(outcome.out, r"the header of the metadata log.* can't be read \(zone \d+, device offset \d+\)")
            self.assertIn("zenfs check --repair", outcome.out)
            self.assertIn("UUID", self.zenfs("fs-info", f"--emu={self.image}").out)

    def test_read_only_file(self):
        self.make_volume()
        os.chmod(self.image, stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
        os.chmod(self.dir, 0o755)
        self.run_without_privileges()
        for verb in LOOKING:
            self.ok(verb, f"--emu={self.image}")
        with self.unchanged():
            self.fails("mkfs", f"--emu={self.image}", "--force", saying=[self.image, "ermission denied"])


if __name__ == "__main__":
    unittest.main()
