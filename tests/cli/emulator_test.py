"""zenfs emu create and info: the shape asked for, or one line that says what is wrong with it."""
import os
import pathlib
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
        self.fails("emu", "create", saying=["path", "zenfs emu create --help"])
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
        Image(self.image).edit_header(8, (2).to_bytes(4, "little"))
        self.fails("emu", "info", self.image, saying="newer")
        Image(self.image).damage(24)
        self.fails("emu", "info", self.image, saying=self.image)

    def test_info_takes_no_lock(self):
        self.make_device(*SMALL)
        with VolumeTool("device", self.image):
            self.ok("emu", "info", self.image)
            self.fails("emu", "create", self.image, "--force", saying=["process", "volume_tool"])


if __name__ == "__main__":
    unittest.main()
