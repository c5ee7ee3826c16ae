"""zenfs emu create and info: the shape asked for, or one line that says what is wrong with it."""
import os
import pathlib
import struct
import subprocess
import unittest

from cli_case import SMALL, CliCase, Image, VolumeTool


class Emulator(CliCase):
    def test_create_and_info(self):
        out = self.ok("emu", "create", self.image, "--zones=64", "--zone-size=16M", "--zone-capacity=12M",
                      "--max-open=14", "--max-active=14", "--conventional=4")
        self.golden("emu-create.txt", out)
        self.golden("emu-info.txt", self.ok("emu", "info", self.image))
        info = self.ok_json("emu", "info", self.image)
        self.assertEqual((info["zones"], info["conventional"], info["zone_capacity"]), (64, 4, 12 << 20))

    def test_a_reserved_device_has_its_space_and_keeps_it(self):
        def space():
            return os.stat(self.image).st_blocks * 512

        self.ok("emu", "create", self.image, "--zones=32", "--zone-size=1M", "--zone-capacity=768K", "--reserve")
        info = self.ok_json("emu", "info", self.image)
        self.assertTrue(info["reserved"])
        self.assertGreaterEqual(info["allocated_bytes"], 32 * 768 << 10)
        whole = space()
        for _ in range(2):  # the second one resets what the first one wrote
            self.ok("mkfs", f"--emu={self.image}", "--force")
        self.assertEqual(space(), whole)
        self.ok("emu", "create", self.image, "--zones=32", "--zone-size=1M", "--force")
        self.assertFalse(self.ok_json("emu", "info", self.image)["reserved"])
        self.assertLess(space(), whole)

    def test_random_write_areas(self):
        def area(*flags):
            self.ok("emu", "create", self.image, "--force", *SMALL, *flags)
            return self.ok_json("emu", "info", self.image)["random_area"]

        self.assertIsNone(area())
        self.assertEqual(area("--random-area=64K"), {"bytes": 65536, "unit": 16384, "zones": 8})
        self.assertIn("Random write area:     64 KiB, commits of 16 KiB, 8 zones at most",
                      self.ok("emu", "info", self.image))
        self.ok("mkfs", f"--emu={self.image}")
        self.assertEqual(self.ok_json("fs-info", f"--emu={self.image}")["random_area"]["bytes"], 65536)
        self.assertEqual(self.ok_json("devices", f"--emu={self.image}")["devices"][0]["random_area"]["zones"], 8)
        self.assertEqual(area("--random-area=32K", "--random-unit=8K", "--random-zones=2", "--volatile-cache"),
                         {"bytes": 32768, "unit": 8192, "zones": 2})

    def test_bad_random_write_areas(self):
        def bad(*flags, saying):
            self.fails("emu", "create", self.image, *SMALL, *flags, saying=saying)
            self.assertFalse(os.path.exists(self.image), flags)

        bad("--random-unit=16K", saying="need --random-area")
        bad("--random-zones=2", saying="need --random-area")
        bad("--random-area=24K", saying="not a multiple of the random unit 16.0 KiB")
        bad("--random-area=64K", "--random-unit=2K", saying="not a multiple of the block size 4096")
        bad("--random-area=64K", "--random-unit=0", saying="not a multiple of the block size 4096")
        bad("--random-area=64K", "--random-zones=0", saying="0 zones")
        bad("--random-area=1G", saying="above the capacity")
        bad("--random-area=512K", "--volatile-cache", saying="above 256 KiB (64 blocks)")

    def test_copies_inside_the_device(self):
        self.make_device(*SMALL)
        self.ok("mkfs", f"--emu={self.image}")
        self.assertEqual(self.ok_json("fs-info", f"--emu={self.image}")["max_copy_bytes"], 0)
        self.assertEqual(self.ok_json("devices", f"--emu={self.image}")["devices"][0]["max_copy_bytes"], 0)
        self.assertIn("Copy at most:          64 KiB", self.ok("fs-info", f"--uri=zenfs://emu:{self.image}?copy_kib:64"))

    def test_timing_is_recorded_and_can_be_overridden(self):
        self.make_device("--timing=bufferless", *SMALL)
        self.assertEqual(self.ok_json("emu", "info", self.image)["timing"], "bufferless")
        self.ok("mkfs", f"--uri=zenfs://emu:{self.image}?timing:none")
        self.ok("fs-info", f"--uri=zenfs://emu:{self.image}?timing:zn540")
        self.fails("fs-info", f"--uri=zenfs://emu:{self.image}?timing:fast", saying=["fast", "zn540", "bufferless"])
        other = os.path.join(self.dir, "other.img")
        self.fails("emu", "create", other, "--timing=fast", saying=["fast", "none, zn540, bufferless, smr and smallzone"])
        self.assertFalse(os.path.exists(other))
        Image(self.image).edit_header(52, (9).to_bytes(4, "little"))
        self.fails("emu", "info", self.image, saying=["timing profile 9", "newer"])

    def test_geometry_of_a_drive(self):
        def shape(*flags):
            self.ok("emu", "create", self.image, "--force", "--geometry=zn540", *flags)
            info = self.ok_json("emu", "info", self.image)
            return info["zones"], info["zone_size"] >> 20, info["zone_capacity"] >> 20, info["max_open"], info["timing"]

        self.assertEqual(shape(), (904, 2048, 1077, 14, "none"))
        self.assertLess(self.ok_json("emu", "info", self.image)["allocated_bytes"], 1 << 20)
        self.assertEqual(shape("--zones=40", "--timing=zn540"), (40, 2048, 1077, 14, "zn540"))
        self.assertEqual(shape("--zone-size=64M"), (904, 64, 64, 14, "none"))
        self.fails("emu", "create", self.image, "--force", "--geometry=pm1731a", saying="zn540")

    def test_only_its_user_may_read_a_device_unless_asked_otherwise(self):
        def mode(path):
            return oct(os.stat(path).st_mode & 0o7777)

        copy = os.path.join(self.dir, "b.img")
        self.make_device()
        self.assertEqual(mode(self.image), "0o600")
        os.chmod(self.image, 0o644)
        self.clone()
        self.assertEqual(mode(self.copy), "0o600")
        self.ok("emu", "create", self.image, "--force", *SMALL)
        self.assertEqual(mode(self.image), "0o644")
        self.ok("emu", "create", self.image, "--force", "--mode=640", *SMALL)
        self.assertEqual(mode(self.image), "0o640")
        self.ok("emu", "clone", self.image, copy, "--mode=0660")
        self.assertEqual(mode(copy), "0o660")
        self.fails("emu", "create", self.dir + "/c.img", "--mode=648", saying=["648", "three octal digits"])

    def test_an_image_that_claims_many_zones_costs_little_memory(self):
        self.make_device("--zones=1048576", "--zone-size=64K")  # as many as there may be
        self.assertLess(self.memory_of_looking(), 512 << 20)
        image, zones, data = Image(self.image), 1 << 24, 130 << 20
        image.edit_header(20, struct.pack("<IQQ", zones, 65536, 65536))
        image.edit_header(64, struct.pack("<Q", data))
        os.truncate(self.image, data + zones * 65536)
        self.assertLess(self.memory_of_looking(), 512 << 20)
        self.fails("emu", "info", self.image, saying="16777216 zones: an emulated device has 1 to 1048576")

    def memory_of_looking(self):
        """The most that `zenfs devices` has in memory, in bytes."""
        with subprocess.Popen([self.program, "devices"], env=os.environ | {"ZENFS_DEVICES": self.image},
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as looking:
            _, status, usage = os.wait4(looking.pid, 0)
            looking.returncode = os.waitstatus_to_exitcode(status)
        return usage.ru_maxrss << 10

    def test_the_file_is_sparse(self):
        self.make_device("--zones=64", "--zone-size=1G")
        info = self.ok_json("emu", "info", self.image)
        self.assertGreater(info["file_bytes"], 63 << 30)
        self.assertLess(info["allocated_bytes"], 1 << 20)

    def test_defaults_are_shown_in_the_help(self):
        text = self.ok("emu", "create", "--help")
        for shown in ["64", "16M", "14", "4096"]:
            self.assertIn(shown, text)

    def test_an_existing_device_is_kept_without_force(self):
        self.make_device()
        with self.unchanged():
            self.fails("emu", "create", self.image, saying=[self.image, "--force"])
        self.ok("emu", "create", self.image, "--force", "--zones=8")
        self.assertEqual(self.ok_json("emu", "info", self.image)["zones"], 8)

    def test_anything_else_is_kept_even_with_force(self):
        pathlib.Path(self.image).write_text("a letter to my aunt\n")
        with self.unchanged():
            self.fails("emu", "create", self.image, "--force", saying=self.image)

    def test_bad_sizes(self):
        def bad(flag, *saying):
            self.fails("emu", "create", self.image, flag, saying=saying)
            self.assertFalse(os.path.exists(self.image), flag)

        for size in ["", "16MB", "-1", "1.5G", "0x10", "16Q", " 4K", "99999999999999999999"]:
            bad(f"--zone-size={size}", "--zone-size", "zenfs emu create --help")
        bad("--zone-size=70000T", "too large")
        bad("--zones=16M", "--zones", "not a whole number")
        bad("--zones=0", "zones")
        bad("--zones=4294967296", "not a whole number")
        bad("--zone-size=5000", "5000", "block size")
        bad("--zone-capacity=32M", "above the zone size")
        bad("--block-size=1000", "power of two")
        bad("--block-size=8G", "block size")
        bad("--conventional=64", "conventional")
        bad("--max-active=2", "max-active")

    def test_missing_path_and_missing_folder(self):
        self.fails("emu", "create", saying=["PATH is missing", "zenfs emu create --help"])
        self.fails("emu", "create", self.dir + "/no/such/folder.img", saying=["/no/such/folder.img", "No such file"])
        self.fails("emu", "info", self.dir + "/none.img", saying=["none.img", "No such file"])

    def test_info_of_what_is_not_a_device(self):
        self.fails("emu", "info", self.dir, saying=self.dir)
        for name, content in [("empty", b""), ("short", b"ZENFSEMU"), ("other", b"x" * 100000)]:
            path = os.path.join(self.dir, name)
            pathlib.Path(path).write_bytes(content)
            self.fails("emu", "info", path, saying=path)

    def test_info_of_a_damaged_and_a_newer_device(self):
        self.make_device()
        Image(self.image).edit_header(8, (4).to_bytes(4, "little"))
        self.fails("emu", "info", self.image, saying="newer")
        Image(self.image).damage(24)
        self.fails("emu", "info", self.image, saying=self.image)

    def test_info_takes_no_lock(self):
        self.make_device(*SMALL)
        with VolumeTool("device", self.image):
            self.ok("emu", "info", self.image)
            self.fails("emu", "create", self.image, "--force", saying=["process", "volume_tool"])

    def test_power_cut_takes_what_was_not_flushed_and_says_what(self):
        self.make_device("--volatile-cache", *SMALL)
        self.assertTrue(self.ok_json("emu", "info", self.image)["volatile_cache"])
        lost = []
        for seed in range(12):
            self.make_device("--volatile-cache", "--force", *SMALL)
            with VolumeTool("device", self.image) as device:
                for zone in (3, 5):
                    self.assertEqual(device.request(f"write {zone} 40960 7"), "ok 40960")
            cut = self.ok_json("emu", "power-cut", self.image, f"--seed={seed}")
            self.assertEqual((cut["seed"], cut["zones_at_risk"], cut["blocks_at_risk"]), (seed, 2, 20))
            lost.append(cut["blocks"])
        self.assertIn(20, lost)
        self.assertIn(0, lost)
        self.assertRegex(self.ok("emu", "power-cut", self.image),
                         r"^Power cut: .*device.img, seed \d+: 0 of 0 zones lost 0 of 0 unflushed blocks.\n$")

    def test_power_cut_leaves_a_file_system_what_was_synced(self):
        self.make_device("--volatile-cache", *SMALL)
        self.ok("mkfs", f"--emu={self.image}")
        with self.mounted() as volume:
            self.assertEqual(volume.request("write a.sst 300000 1"), "ok 0")
        for seed in range(4):
            self.ok("emu", "power-cut", self.image, f"--seed={seed}")
            self.assertTrue(self.ok_json("check", f"--emu={self.image}", "--read-data")["clean"])
            with self.mounted() as volume:
                self.assertEqual(volume.request("verify a.sst 300000 1"), "ok 0")
                self.assertEqual(volume.request(f"write {seed}.sst 50000 2"), "ok 0")

    def test_power_cut_of_what_it_can_not_be_cut_of(self):
        self.make_device(*SMALL)
        with self.unchanged():
            self.fails("emu", "power-cut", self.image, saying=[self.image, "no volatile cache", "--volatile-cache"])
        self.make_device("--volatile-cache", "--force", *SMALL)
        with VolumeTool("device", self.image):
            self.fails("emu", "power-cut", self.image, saying=[self.image, "in use", "volume_tool"])
        self.fails("emu", "power-cut", self.dir + "/none.img", saying="none.img")
        self.fails("df", f"--uri=zenfs://emu:{self.image}?hostsync", saying="hostsync")

    def clone(self, *flags):
        self.copy = os.path.join(self.dir, "clone.img")
        return self.ok("emu", "clone", self.image, self.copy, *flags)

    def test_clone_is_a_file_system_of_its_own_with_all_files(self):
        self.make_volume()
        with self.mounted() as volume:
            for request in ["mkdir db", "write db/a.sst 300000 1", "write db/b.log 5000 2"]:
                self.assertEqual(volume.request(request), "ok 0")
        with self.unchanged():
            out = self.clone()
        fs_info = self.ok_json("fs-info", f"--emu={self.copy}")
        self.assertIn(fs_info["uuid"], out)
        self.assertNotEqual(fs_info["uuid"], self.ok_json("fs-info", f"--emu={self.image}")["uuid"])
        self.assertEqual(self.ok("list", f"--emu={self.copy}", "--recursive"),
                         self.ok("list", f"--emu={self.image}", "--recursive"))
        self.assertTrue(self.ok_json("check", f"--emu={self.copy}", "--read-data")["clean"])

    def test_clone_and_original_are_mounted_and_written_at_once(self):
        self.make_volume()
        with self.mounted() as volume:
            self.assertEqual(volume.request("write a.sst 300000 1"), "ok 0")
        self.clone()
        with self.mounted() as volume, VolumeTool("mount", self.copy) as copy:
            self.assertEqual(volume.request("write b.sst 100000 2"), "ok 0")
            self.assertEqual(copy.request("write c.log 5000 3"), "ok 0")
            self.assertEqual(copy.request("verify a.sst 300000 1"), "ok 0")
            self.assertIn("not found", copy.request("verify b.sst 100000 2").replace("_", " "))
        uuid = self.ok_json("fs-info", f"--emu={self.copy}")["uuid"]
        self.clone("--force")  # a clone can be made again, and is another one then
        self.assertNotEqual(self.ok_json("fs-info", f"--emu={self.copy}")["uuid"], uuid)
        for path in (self.image, self.copy):
            self.assertTrue(self.ok_json("check", f"--emu={path}")["clean"])

    def test_a_clone_of_a_clone_keeps_its_files(self):
        self.make_volume()
        with self.mounted() as volume:
            self.assertEqual(volume.request("write a.log 5000 1"), "ok 0")
        self.clone()
        again = os.path.join(self.dir, "again.img")
        self.ok("emu", "clone", self.copy, again)
        with VolumeTool("mount", again) as volume:
            self.assertEqual(volume.request("verify a.log 5000 1"), "ok 0")

    def test_clone_of_a_device_whose_mount_died_says_what_it_lacks(self):
        self.make_volume()
        volume = self.mounted()
        self.assertEqual(volume.request("write a.log 5000 1"), "ok 0")
        volume.process.kill()
        volume.process.communicate()
        self.assertIn("not synced is not in the clone", self.clone())
        with VolumeTool("mount", self.copy) as copy, self.mounted() as original:
            for one in (copy, original):
                self.assertEqual(one.request("verify a.log 5000 1"), "ok 0")
        self.assertNotIn("not synced", self.clone("--force"))

    def test_clone_of_a_device_in_use_is_refused(self):
        self.make_volume()
        with self.mounted():
            self.fails("emu", "clone", self.image, self.dir + "/b.img", saying=[self.image, "in use", "volume_tool"])
        self.assertEqual(os.listdir(self.dir), ["device.img"])

    def test_clone_keeps_what_is_there_without_force(self):
        self.make_device()
        self.make_device("--zones=8", path=self.dir + "/b.img")
        self.fails("emu", "clone", self.image, self.dir + "/b.img", saying=["b.img exists already", "--force"])
        self.assertEqual(self.ok_json("emu", "info", self.dir + "/b.img")["zones"], 8)
        pathlib.Path(self.dir + "/letter").write_text("to my aunt")
        self.fails("emu", "clone", self.image, self.dir + "/letter", "--force", saying="letter can't be replaced")
        self.fails("emu", "clone", self.image, self.image, "--force", saying="to clone")
        self.fails("emu", "clone", self.image, self.dir + "/no/such/b.img", saying="No such file")
        self.fails("emu", "clone", self.dir + "/none.img", self.dir + "/c.img", saying="none.img")

    def test_clone_of_a_device_with_a_volatile_cache_has_one(self):
        self.make_device("--volatile-cache", *SMALL)
        with VolumeTool("device", self.image) as device:
            self.assertEqual(device.request("write 3 8192 7"), "ok 8192")
        self.clone()
        for path in (self.image, self.copy):
            self.assertEqual(self.ok_json("emu", "power-cut", path)["blocks_at_risk"], 2)

    def test_a_device_without_a_file_system_is_copied_as_it_is(self):
        self.make_device("--zones=64", "--zone-size=1G")
        with VolumeTool("device", self.image) as device:
            self.assertEqual(device.request("write 3 8192 7"), "ok 8192")
        self.assertIn("plain copy", self.clone())
        one, other = Image(self.image), Image(self.copy)
        self.assertEqual(one.read(one.zone(3), 8192), other.read(other.zone(3), 8192))
        info = self.ok_json("emu", "info", self.copy)
        self.assertLess(info["allocated_bytes"], 4 << 20)
        self.assertNotEqual(info["uuid"], self.ok_json("emu", "info", self.image)["uuid"])


if __name__ == "__main__":
    unittest.main()
