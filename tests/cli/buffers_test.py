"""zenfs buffers: what mounts keep in shared memory, and what may be removed of it."""
import os
import pathlib
import re
import shutil
import struct
import tempfile
import unittest

from cli_case import CliCase, VolumeTool, crc32c

SHARED = "/dev/shm"
HEADER = 4096
KEY = slice(352, 368)  # docs/formats/shared-memory.md


class BuffersCase(CliCase):
    def setUp(self):
        super().setUp()
        if not os.access(SHARED, os.W_OK):
            self.skipTest(f"NOT RUN: needs a tmpfs at {SHARED}")
        self.shared = tempfile.mkdtemp(prefix="zenfs-cli-", dir=SHARED)
        self.addCleanup(shutil.rmtree, self.shared)
        self.make_volume()

    def mount(self):
        return VolumeTool("mount", self.image, self.shared)

    def die(self, *requests):
        """A mount that ends by kill -9. Returns the path of its buffers."""
        tool = self.mount()
        before = set(self.files())
        for request in requests:
            self.assertTrue(tool.request(request).startswith("ok"), request)
        tool.process.kill()
        tool.process.communicate()
        self.assertEqual(len(before), 1)
        return before.pop()

    def files(self):
        return [os.path.join(self.shared, name) for name in sorted(os.listdir(self.shared)) if name.startswith("zenfs-")]

    def rows(self, *flags):
        rows = self.ok_json("buffers", f"--dir={self.shared}", *flags)["buffers"]
        return {row["path"]: row for row in rows}

    def row(self, *flags):
        rows = self.rows(*flags)
        self.assertEqual(len(rows), 1)
        return next(iter(rows.values()))

    @property
    def emu(self):
        return f"--emu={self.image}"

    def edit_header(self, path, at, data):
        file = pathlib.Path(path)
        whole = bytearray(file.read_bytes())
        whole[at:at + len(data)] = data
        struct.pack_into("<I", whole, 12, 0)
        struct.pack_into("<I", whole, 12, crc32c(whole[:HEADER]))
        with open(path, "r+b") as out:
            out.write(whole)


class Listed(BuffersCase):
    def test_none(self):
        self.assertIn("No append buffers", self.ok("buffers", f"--dir={self.shared}"))
        self.assertEqual(self.rows(), {})
        self.fails("buffers", f"--dir={self.shared}/none", saying=["--dir", "none"])

    def test_of_a_mount_that_lives(self):
        with self.mount() as tool:
            tool.request("append a.log 1 1000 1")
            row = self.row(self.emu)
            self.assertEqual((row["state"], row["alive"], row["process"]), ("in use", True, tool.process.pid))
            self.assertEqual(row["device"], f"emu:{self.image}")
            self.fails("buffers", "--remove", row["path"], self.emu, saying=[row["path"], f"process {tool.process.pid}"])
            self.assertIn("Nothing to remove; 1 file kept", self.ok("buffers", f"--dir={self.shared}", "--remove"))
            self.assertEqual(tool.request("append a.log 1 1000 1"), "ok 0")
        self.assertEqual(self.rows(), {})

    def test_of_a_mount_that_died(self):
        path = self.die("append a.log 3 1000 1")
        row = self.row(self.emu)
        self.assertEqual((row["state"], row["alive"], row["bytes_not_on_device"]), ("needed", False, 3000))
        self.assertEqual(row["uuid"], "01234567-89ab-4cde-8f01-23456789abcd")
        self.assertEqual(row["size"], os.path.getsize(path))
        self.assertLess(row["age_seconds"], 600)
        table = self.ok("buffers", f"--dir={self.shared}", self.emu)
        self.assertRegex(table, rf"{path} +emu:\S+ +01234567\S+ +\d+ +needed +\d+ (s|min) +\S+ MiB +2.92 KiB\n")
        self.assertIn("read-write mount", table)
        self.assertNotIn("key", str(row))

    def test_of_other_users_are_escaped_and_not_followed(self):
        path = self.die("append a.log 1 1000 1")
        self.edit_header(path, 96, b"\x1b[2J\xc2\x9b31mevil\0")
        self.assertNotIn("\x1b", self.ok("buffers", f"--dir={self.shared}"))
        os.symlink("/etc/passwd", os.path.join(self.shared, "zenfs-0123456789abcdef-0123456789abcdef"))
        os.mkfifo(os.path.join(self.shared, "zenfs-0123456789abcdef-0123456789abcde0"))
        states = sorted(row["state"] for row in self.rows().values())
        self.assertEqual(states, ["no device", "unclear", "unclear"])
        for name in ["zenfs-0123456789abcdef-0123456789abcdef", "zenfs-0123456789abcdef-0123456789abcde0"]:
            self.zenfs("buffers", "--remove", os.path.join(self.shared, name))
        self.assertTrue(os.path.exists("/etc/passwd"))

    def test_that_the_mount_has_used_up_are_gone(self):
        self.die("append a.log 3 1000 1")
        with self.mount():
            pass
        self.assertEqual(self.rows(self.emu), {})


class Removed(BuffersCase):
    def remove(self, *flags):
        return self.ok_json("buffers", f"--dir={self.shared}", "--remove", *flags)["removed"]

    def test_never_what_a_device_that_is_there_needs(self):
        path = self.die("append a.log 3 1000 1")
        self.assertEqual(self.remove(self.emu), [])
        self.fails("buffers", "--remove", path, self.emu, saying=["3000 bytes", self.image, "discard_unsynced"])
        with self.mount() as tool:
            self.assertEqual(tool.request("verify a.log 3000 1").split()[0], "error")  # three times the same thousand
            self.assertEqual(tool.request("truncate a.log 1000"), "ok 0")
            self.assertEqual(tool.request("verify a.log 1000 1"), "ok 0")

    def test_never_by_itself_what_holds_bytes_of_a_device_that_is_not_found(self):
        path = self.die("append a.log 3 1000 1")
        self.assertEqual(self.row()["state"], "no device")
        self.assertEqual(self.remove(), [])
        self.assertIn(f"zenfs buffers --remove {path}", self.ok("buffers", f"--dir={self.shared}"))
        self.assertTrue(os.path.exists(path))

    def test_what_holds_bytes_of_a_device_that_is_gone_by_its_path(self):
        path = self.die("append a.log 3 1000 1")
        os.remove(self.image)
        said = self.ok("buffers", "--remove", path)
        self.assertIn("lost with it, at most: 3000 bytes", said)
        self.assertFalse(os.path.exists(path))

    def test_what_an_earlier_mount_of_the_device_left(self):
        path = self.die("append a.log 1 1000 1")
        kept = os.path.join(self.dir, "kept")
        shutil.copy(path, kept)
        with self.mount():
            pass
        shutil.copy(kept, path)  # the mount is over, nobody will look at them
        os.chmod(path, 0o600)
        self.assertEqual(self.row(self.emu)["state"], "left over")
        self.assertIn("Next: zenfs buffers --remove", self.ok("buffers", f"--dir={self.shared}", self.emu))
        self.assertEqual([row["path"] for row in self.remove(self.emu)], [path])
        self.assertFalse(os.path.exists(path))

    def test_what_carries_another_key_than_the_device_holds(self):
        path = self.die("append a.log 1 1000 1")
        forged = path[:-1] + ("0" if path[-1] != "0" else "1")
        shutil.copy(path, forged)
        os.chmod(forged, 0o600)
        self.edit_header(forged, KEY.start, b"k" * 16)
        states = {name: row["state"] for name, row in self.rows(self.emu).items()}
        self.assertEqual(states, {path: "needed", forged: "left over"})
        self.assertEqual([row["path"] for row in self.remove(self.emu)], [forged])

    def test_needed_buffers_are_known_under_another_path(self):
        path = self.die("append a.log 1 1000 1")
        moved = path[:-1] + ("0" if path[-1] != "0" else "1")
        os.rename(path, moved)
        self.assertEqual(self.row(self.emu)["state"], "needed")
        self.assertEqual(self.remove(self.emu), [])

    def test_what_was_never_finished(self):
        path = os.path.join(self.shared, "zenfs-0123456789abcdef-0123456789abcdef")
        for size in [0, 8192]:
            with open(path, "wb") as file:
                file.write(bytes(size))
            os.chmod(path, 0o600)
            self.assertEqual(self.row()["state"], "left over")
            self.assertEqual([row["path"] for row in self.remove()], [path])

    def test_nothing_that_is_no_file_of_buffers(self):
        letter = os.path.join(self.shared, "zenfs-letter")
        with open(letter, "w", encoding="utf-8") as file:
            file.write("Dear reader")
        self.assertEqual(self.rows(), {})
        self.fails("buffers", "--remove", letter, saying=letter)
        self.fails("buffers", "--remove", os.path.join(self.shared, "nothing"), saying="No such file")
        self.assertTrue(os.path.exists(letter))

    def test_damaged_ones_only_by_their_path_and_if_no_device_needs_them(self):
        path = self.die("append a.log 1 1000 1")
        with open(path, "r+b") as file:
            file.seek(100)
            file.write(b"\xff")
        self.assertEqual(self.row()["state"], "unclear")
        self.assertEqual(self.remove(), [])
        self.fails("buffers", "--remove", path, self.emu, saying=[path, "needs it"])
        self.assertIn("its content is unknown", self.ok("buffers", "--remove", path))
        self.assertFalse(os.path.exists(path))

    def test_what_is_with_the_device_may_go(self):
        path = self.die("append a.log 1 1000 1", "sync a.log")
        row = self.row(self.emu)
        self.assertEqual((row["state"], row["bytes_not_on_device"]), ("spent", 0))
        self.assertEqual(self.remove(self.emu), [])
        self.assertIn("nothing is lost", self.ok("buffers", "--remove", path, self.emu))


class OfOthers(BuffersCase):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("NOT RUN: needs root, to act as two users")

    def test_who_may_not_read_them_is_told_so(self):
        path = self.die("append a.log 1 1000 1")
        os.chmod(self.shared, 0o755)
        os.chmod(self.dir, 0o755)
        self.run_without_privileges()
        row = self.row()
        self.assertEqual((row["state"], row["user"]), ("unclear", 0))
        self.assertRegex(row["why"], re.escape(path) + ".*denied")
        self.fails("buffers", "--remove", path, saying=[path, "denied"])
        self.assertTrue(os.path.exists(path))

    def rename(self):
        uri = f"--uri=zenfs://emu:{self.image}?flush_dir:{self.shared}"
        return self.zenfs("rename", uri, "--src_file=a.log", "--dest_file=b.log")

    def test_a_mount_ignores_what_another_user_made(self):
        path = self.die("append a.log 1 1000 1")
        os.chown(path, 65534, 65534)
        said = self.rename()
        self.assertEqual(said.status, 0, said.err)
        self.assertRegex(said.err, r"note: .*belongs to user 65534.*may be missing\n$")
        self.assertEqual(self.ok_json("list", self.emu)["entries"][0]["size"], 0)

    def test_their_figures_are_not_taken_for_those_of_the_mount(self):
        path = self.die("append a.log 1 1000 1")
        self.fails("stats", self.emu, saying="is dead")
        os.chown(path, 65534, 65534)
        self.fails("stats", self.emu, saying="no program on this host has it mounted")
        self.assertEqual(self.ok_json("stats", f"--page={path}")["values"]["epoch"], 1)

    def test_a_mount_takes_what_belongs_to_the_owner_of_the_device(self):
        path = self.die("append a.log 1 1000 1")
        os.chown(path, 65534, 65534)
        os.chown(self.image, 65534, 65534)
        said = self.rename()
        self.assertEqual((said.status, said.err), (0, ""))
        self.assertEqual(self.ok_json("list", self.emu)["entries"][0]["size"], 1000)


if __name__ == "__main__":
    unittest.main()
