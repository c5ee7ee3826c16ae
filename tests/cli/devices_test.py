"""What finds devices: zenfs devices, zenfs ls-uuid, URIs with a UUID, and the lists of devices."""
import json
import os
import pathlib
import re
import shutil
import unittest

from cli_case import SMALL, UUID, CliCase

OTHER_UUID = "11111111-2222-4333-8444-555555555555"


def zoned_devices_of_this_host():
    """What would stand in the output beside what the tests put there."""
    models = [path.read_text().strip() for path in pathlib.Path("/sys/block").glob("*/queue/zoned")]
    mounts = pathlib.Path("/proc/self/mounts").read_text().split()
    return [model for model in models if model != "none"] + [word for word in mounts if word == "zonefs"]


@unittest.skipIf(zoned_devices_of_this_host(), "this host has zoned devices of its own: run it where there are none")
class Devices(CliCase):
    def listed(self, *paths):
        """A file of devices; returns the environment that names it."""
        file = os.path.join(self.dir, "devices")
        pathlib.Path(file).write_text("".join(f"{path}\n" for path in paths))
        return {"ZENFS_DEVICES_FILE": file}

    def path(self, name):
        return os.path.join(self.dir, name)

    # --- devices ---
    def test_a_volume_that_a_program_has_mounted_names_the_program(self):
        self.make_volume()
        device, = self.ok_json("devices", f"--emu={self.image}")["devices"]
        self.assertIsNone(device["in_use_by"])
        with self.mounted() as volume:
            user = f"process {volume.process.pid} (volume_tool)"
            self.assertIn(f"ZenFS {UUID} (test), in use by {user}", self.ok("devices", f"--emu={self.image}"))
            device, = self.ok_json("devices", f"--emu={self.image}")["devices"]
            self.assertEqual(device["in_use_by"], user)
        self.assertNotIn("in use by", self.ok("devices", f"--emu={self.image}"))

    def test_a_host_without_devices_gets_one_line_that_helps(self):
        self.golden("devices-none.txt", self.ok("devices"))
        self.assertEqual(self.ok_json("devices")["devices"], [])

    def test_a_table_of_what_there_is_and_the_next_step(self):
        self.make_volume()
        self.make_device(path=self.path("empty.img"))
        out = self.ok("devices", f"--emu={self.image}", "--emu", self.path("empty.img"))
        self.golden("devices.txt", re.sub(" {3,}", "  ", out))  # how wide the columns are depends on the folder's name
        self.assertIn(f"Next: zenfs df --emu={self.image}", self.ok("devices", f"--emu={self.image}"))

    def test_json_has_what_the_table_has(self):
        self.make_volume()
        answer = self.ok_json("devices", f"--emu={self.image}")
        self.assertEqual(answer["kernel"], os.uname().release)
        device, = answer["devices"]
        self.assertEqual((device["device"], device["kind"], device["flag"]),
                         (f"emu:{self.image}", "emulated", f"--emu={self.image}"))
        self.assertEqual((device["zones"], device["zone_size"], device["zone_capacity"], device["size"]),
                         (16, 2 << 20, 1 << 20, 32 << 20))
        self.assertEqual((device["max_open"], device["max_active"], device["scheduler"]), (8, 8, None))
        self.assertEqual(device["holds"], {"kind": "zenfs", "uuid": UUID, "label": "test"})
        self.assertTrue(device["readable"] and device["writable"] and device["writes_in_order"])

    def test_all_verbs_agree_on_whether_there_is_a_volatile_cache(self):
        for flags, has_cache in ((SMALL, False), (["--volatile-cache", *SMALL], True)):
            self.make_device("--force", *flags)
            self.ok("mkfs", f"--emu={self.image}")
            self.assertIs(self.ok_json("emu", "info", self.image)["volatile_cache"], has_cache)
            self.assertIs(self.ok_json("fs-info", f"--emu={self.image}")["volatile_cache"], has_cache)
            device, = self.ok_json("devices", f"--emu={self.image}")["devices"]
            self.assertIs(device["volatile_cache"], has_cache)
            self.assertIn("volatile" if has_cache else "write-through", self.ok("devices", f"--emu={self.image}"))
            power_cut = self.zenfs("emu", "power-cut", self.image)
            self.assertEqual(power_cut.status, 0 if has_cache else 1)

    def test_what_is_no_device_is_a_row_with_the_reason(self):
        pathlib.Path(self.path("letter")).write_text("to my aunt")
        for name in ("letter", "none", "."):
            out = self.ok("devices", "--emu", self.path(name))
            self.assertIn("not usable", out)
            self.assertIn(f"{self.path(name)}: ", out)
            self.assertIn("zenfs emu create", out)

    def test_devices_without_permission_are_shown_as_far_as_can_be(self):
        self.make_volume()
        os.chmod(self.image, 0)
        os.chmod(self.dir, 0o755)
        self.run_without_privileges()
        out = self.ok("devices", f"--emu={self.image}")
        self.assertIn("no permission", out)
        self.assertIn("docs/use/devices.md", out)
        holds = self.ok_json("devices", f"--emu={self.image}")["devices"][0]["holds"]
        self.assertEqual(holds["kind"], "unreadable")
        self.assertIn("Permission denied", holds["why"])

    def test_devices_takes_no_lock_and_changes_nothing(self):
        self.make_volume()
        with self.mounted():
            self.assertIn(UUID, self.ok("devices", f"--emu={self.image}"))
            self.assertIn(UUID, self.ok("ls-uuid", f"--emu={self.image}"))
        with self.unchanged():
            self.ok("devices", f"--emu={self.image}")
            self.ok("ls-uuid", f"--emu={self.image}")

    # --- lists of devices ---
    def test_devices_of_the_file_and_the_variable_are_known(self):
        self.make_volume()
        self.make_device(path=self.path("b.img"))
        environment = self.listed("# ours", "", self.path("b.img")) | {"ZENFS_DEVICES": self.image}
        names = [one["device"] for one in json.loads(self.ok("devices", "--json", **environment))["devices"]]
        self.assertEqual(names, [f"emu:{self.image}", f"emu:{self.path('b.img')}"])

    def test_the_file_in_the_home_directory_is_found(self):
        self.make_volume()
        os.makedirs(self.path("home/.config/zenfs"))
        pathlib.Path(self.path("home/.config/zenfs/devices")).write_text(f"emu:{self.image}\n")
        home = {"HOME": self.path("home"), "XDG_CONFIG_HOME": "", "ZENFS_DEVICES_FILE": ""}
        self.assertEqual(self.ok("ls-uuid", **home), f"{UUID}\temu:{self.image}\n")

    def test_a_line_that_is_no_device_is_named_by_file_and_line(self):
        self.make_volume()
        environment = self.listed(self.image, "tape:0")
        for verb in ("devices", "ls-uuid"):
            outcome = self.zenfs(verb, **environment)
            self.assertEqual((outcome.status, outcome.err.count("\n")), (0, 1))
            self.assertIn(f"zenfs {verb}: {self.path('devices')}:2: tape:0", outcome.err)
            self.assertIn(UUID, outcome.out)

    # --- ls-uuid ---
    def test_ls_uuid_lists_what_it_is_told_of(self):
        self.make_volume()
        other = self.path("other.img")
        self.make_device(path=other)
        self.assertEqual(self.ok("ls-uuid", f"--emu={self.image}"), f"{UUID}\temu:{self.image}\n")
        named = self.ok_json("ls-uuid", f"--emu={self.image}", f"--emu={self.image}")["file_systems"]
        self.assertEqual([(one["uuid"], one["label"]) for one in named], [(UUID, "test")])
        outcome = self.zenfs("ls-uuid", ZENFS_DEVICES=f"{other}:zenfs://emu:{self.image}:/no/such::{self.dir}")
        self.assertEqual((outcome.status, outcome.out, outcome.err), (0, f"{UUID}\temu:{self.image}\n", ""))
        self.assertEqual(self.ok("ls-uuid"), "")

    def test_ls_uuid_skips_what_is_something_else(self):
        self.make_device()
        garbage = self.path("garbage")
        pathlib.Path(garbage).write_bytes(os.urandom(1 << 20))
        for path in (self.image, garbage, self.dir, self.path("none"), "/dev/zero"):
            outcome = self.zenfs("ls-uuid", f"--emu={path}")
            self.assertEqual((outcome.status, outcome.out, outcome.err.count("\n")), (0, "", 1), path)
            self.assertIn("is skipped", outcome.err)

    def test_ls_uuid_says_what_it_may_not_read(self):
        self.make_volume()
        os.chmod(self.image, 0)
        os.chmod(self.dir, 0o755)
        self.run_without_privileges()
        outcome = self.zenfs("ls-uuid", ZENFS_DEVICES=self.image)
        self.assertEqual((outcome.status, outcome.out, outcome.err.count("\n")), (0, "", 1))
        self.assertIn(f"emu:{self.image} is skipped", outcome.err)
        self.assertIn("Permission denied", outcome.err)

    # --- uuid: ---
    def test_every_verb_takes_a_uuid(self):
        self.make_volume()
        environment = self.listed(self.image)
        for verb in ("df", "list", "fs-info", "zones", "check", "dump"):
            self.ok(verb, f"--uri=zenfs://uuid:{UUID}", **environment)
        self.assertEqual(self.ok("fs-info", "--json", f"--uri=uuid:{UUID.upper()}", **environment),
                         self.ok("fs-info", "--json", f"--emu={self.image}"))

    def test_a_uuid_that_no_device_has(self):
        self.make_volume()
        uri = f"--uri=zenfs://uuid:{OTHER_UUID}"
        self.fails("df", uri, saying=[OTHER_UUID, "among the 0", "ZENFS_DEVICES"])
        outcome = self.zenfs("df", uri, **self.listed(self.image, self.path("none.img")))
        self.assertEqual((outcome.status, outcome.out, outcome.err.count("\n")), (1, "", 1))
        self.assertIn("among the 1", outcome.err)
        self.assertIn("none.img", outcome.err)
        self.fails("df", "--uri=zenfs://uuid:1234", saying=["uuid:1234", "xxxxxxxx-"])

    def test_a_copy_makes_a_uuid_ambiguous(self):
        self.make_volume()
        copy = shutil.copy(self.image, self.path("copy.img"))
        outcome = self.zenfs("df", f"--uri=uuid:{UUID}", **self.listed(self.image, copy))
        self.assertEqual((outcome.status, outcome.out), (1, ""))
        self.assertIn(f"emu:{self.image} and emu:{copy}", outcome.err)

    def test_a_clone_is_found_by_its_own_uuid(self):
        self.make_volume()
        clone = self.path("clone.img")
        self.ok("emu", "clone", self.image, clone)
        uuid = self.ok_json("fs-info", f"--emu={clone}")["uuid"]
        environment = self.listed(self.image, clone)
        self.assertEqual(json.loads(self.ok("fs-info", "--json", f"--uri=uuid:{uuid}", **environment))["uuid"], uuid)


if __name__ == "__main__":
    unittest.main()
