"""backup and restore: what they print, what they refuse, and what is left when they are cut off at any moment."""
import hashlib
import json
import os
import re
import random
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

from cli_case import UUID, CliCase, VolumeTool

FILES = {"db/000014.sst": (300000, 1), "db/000015.sst": (2500000, 2), "db/000029.log": (70000, 3), "db/CURRENT": (16, 4),
         "db/old/000001.sst": (1, 5), "top.sst": (1048576, 6)}


def tree(path):
    """Every file below `path`, with the hash of its bytes."""
    found = {}
    for where, _, names in os.walk(path):
        for name in names:
            full = os.path.join(where, name)
            with open(full, "rb") as file:
                found[os.path.relpath(full, path)] = hashlib.sha256(file.read()).hexdigest()
    return found


class BackupCase(CliCase):
    def setUp(self):
        super().setUp()
        self.dest = os.path.join(self.dir, "backup")
        self.second = os.path.join(self.dir, "second.img")

    def fill(self, files=None):
        self.make_volume("--zones=32", "--zone-size=2M", "--zone-capacity=1M", "--max-open=8", "--max-active=8")
        with self.mounted() as volume:
            self.assertEqual(volume.request("mkdir db/old"), "ok 0")
            self.assertEqual(volume.request("mkdir db/empty"), "ok 0")
            for path, (size, seed) in (files or FILES).items():
                self.assertEqual(volume.request(f"write {path} {size} {seed}"), "ok 0", path)

    def make_second(self):
        self.make_device("--zones=32", "--zone-size=2M", "--zone-capacity=1M", "--max-open=8", "--max-active=8", path=self.second)
        self.ok("mkfs", f"--emu={self.second}", "--force")

    def data(self):
        """What a backup holds of the volume."""
        return {path: text for path, text in tree(self.dest).items()
                if path not in ("zenfs_backup.jsonl", "write_lifetime_hints.dat")}

    def end_line(self):
        with open(os.path.join(self.dest, "zenfs_backup.jsonl")) as file:
            last = file.read().splitlines()[-1]
        return json.loads(last)["type"] == "end"

    def list_of(self, image):
        entries = self.ok_json("list", f"--emu={image}", "--recursive")["entries"]
        return [(e["name"], e["type"], e["size"], e.get("lifetime"), e.get("framed")) for e in entries]

    def backup(self, *flags):
        return self.ok("backup", f"--emu={self.image}", f"--path={self.dest}", *flags)

    def restore(self, *flags):
        return self.ok("restore", f"--emu={self.second}", f"--path={self.dest}", *flags)

    def figures(self, text):
        """Without what differs from run to run."""
        return re.sub(r", [\d.]+ s, [\d.]+ [KMG]?i?B/s$", "", text, flags=re.M)


class FlushedBytes(BackupCase):
    """Bytes that are only in the shared memory of a program that runs or was killed."""

    def setUp(self):
        super().setUp()
        self.shared = tempfile.mkdtemp(prefix="zenfs-cli-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, self.shared)
        self.make_volume("--zones=32", "--zone-size=2M", "--zone-capacity=1M", "--max-open=8", "--max-active=8")

    def write(self, kill):
        volume = VolumeTool("mount", self.image, self.shared)
        self.assertEqual(volume.request("write synced.sst 5000 1"), "ok 0")
        self.assertEqual(volume.request("append a.log 1 3000 2"), "ok 0")
        self.assertEqual(volume.request("append b.sst 3 400000 3"), "ok 0")
        if kill:
            volume.process.kill()
            volume.process.communicate()
        return volume

    def verify_restored(self):
        self.make_second()
        self.ok("restore", f"--emu={self.second}", f"--path={self.dest}")
        with VolumeTool("mount", self.second) as volume:
            self.assertEqual(volume.request("verify synced.sst 5000 1"), "ok 0")
            self.assertEqual(volume.request("verify a.log 3000 2"), "ok 0")
            sizes = {e["name"]: e["size"] for e in self.ok_json("list", f"--emu={self.second}")["entries"]}
        self.assertEqual(sizes["b.sst"], 1200000)

    def test_of_a_killed_program_are_in_a_backup(self):
        self.write(kill=True)
        self.ok("backup", f"--emu={self.image}", f"--path={self.dest}")
        self.verify_restored()

    def test_of_a_running_program_are_in_a_backup(self):
        with self.write(kill=False):
            self.ok("backup", f"--emu={self.image}", f"--path={self.dest}")
        self.verify_restored()

    def test_that_cannot_be_read_fail_a_backup_unless_it_may_go_on(self):
        self.write(kill=True)
        (name,) = os.listdir(self.shared)
        os.remove(os.path.join(self.shared, name))
        backup = ["backup", f"--emu={self.image}", f"--path={self.dest}"]
        outcome = self.zenfs(*backup)
        self.assertEqual((outcome.status, outcome.out), (1, ""))
        self.assertIn("--without-unsynced", outcome.err)
        self.assertIn(name, outcome.err)
        self.assertFalse(os.path.exists(self.dest))
        outcome = self.zenfs(*backup, "--without-unsynced")
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertRegex(outcome.err, r"backup: note: .*may be missing")
        self.assertTrue(os.path.exists(os.path.join(self.dest, "synced.sst")))
        for verb in ("list", "df", "dump"):
            outcome = self.zenfs(verb, f"--emu={self.image}")
            self.assertEqual(outcome.status, 0)
            self.assertRegex(outcome.err, rf"{verb}: note: .*{name}.*may be missing")
        for verb in ("check", "scrub"):
            outcome = self.zenfs(verb, f"--emu={self.image}", "--json")
            self.assertEqual(outcome.status, 0)
            self.assertRegex(outcome.err, rf"{verb}: note: .*{name}.*may be missing")
            self.assertTrue(json.loads(outcome.out)["clean"])

    def test_synced_ones_that_a_dead_log_zone_had_fail_a_check_and_a_backup(self):
        volume = VolumeTool("mount", self.image, self.shared)
        for request in ("write other.sst 5000 1", "append a.log 1 3000 2", "sync a.log"):
            self.assertEqual(volume.request(request), "ok 0")
        volume.process.kill()
        volume.process.communicate()
        (frames,) = [f["frames"] for f in self.ok_json("dump", f"--emu={self.image}")["files"] if f["frames"]]
        zone = frames[0]["start"] // (2 << 20)
        with open(self.image, "r+b") as file:
            file.seek(4096 + 8 * zone)
            (word,) = struct.unpack("<Q", file.read(8))
            file.seek(4096 + 8 * zone)
            file.write(struct.pack("<Q", (word & ~0x1f) | 0xf))
        outcome = self.zenfs("check", f"--emu={self.image}")
        self.assertEqual(outcome.status, 1, outcome.out)
        self.assertRegex(outcome.out, rf"log zone {zone} is offline.*a\.log")
        outcome = self.zenfs("backup", f"--emu={self.image}", f"--path={self.dest}")
        self.assertEqual(outcome.status, 1)
        self.assertRegex(outcome.err, r"were synced: /a\.log\n$")
        self.assertTrue(os.path.exists(os.path.join(self.dest, "other.sst")))

    def test_damaged_ones_fail_a_check(self):
        self.write(kill=True)
        (name,) = os.listdir(self.shared)
        with open(os.path.join(self.shared, name), "r+b") as file:
            file.write(b"?")
        self.assertEqual(self.zenfs("check", f"--emu={self.image}").status, 1)
        self.assertEqual(self.zenfs("backup", f"--emu={self.image}", f"--path={self.dest}").status, 1)


class Backup(BackupCase):
    def test_a_tree_beyond_all_paths_costs_only_what_is_too_deep(self):
        self.fill()
        with VolumeTool("device", self.image) as device:
            self.assertEqual(device.request("deep 21 " + "d" * 200), "ok 0")
        for flags in ([], ["--force", "--verify"]):
            outcome = self.zenfs("backup", f"--emu={self.image}", f"--path={self.dest}", *flags)
            self.assertEqual(outcome.status, 1)
            lines = outcome.err.splitlines()
            self.assertEqual(lines[-1], "zenfs backup: the backup lacks 1 name, named above")
            self.assertEqual([" has 4220 bytes, more than 4095" in line for line in lines], [True, False])
            self.assertEqual(sorted(path for path in self.data() if not path.startswith("d" * 200)), sorted(FILES))
            self.assertTrue(self.end_line())
        self.make_second()
        outcome = self.zenfs("restore", f"--emu={self.second}", f"--path={self.dest}")
        self.assertEqual(outcome.status, 1)
        self.assertIn(" is not in the backup: its path has 4220 bytes", outcome.err)
        self.assertEqual([name for name, kind, *_ in self.list_of(self.second) if kind == "file"], sorted(FILES))

    def test_paths_are_printed_and_hints_written_as_before(self):
        self.fill()
        self.golden("backup.txt", self.figures(self.backup("--jobs=1")))
        with open(os.path.join(self.dest, "write_lifetime_hints.dat")) as file:
            self.assertEqual(file.read(), "".join(f"{path}\t3\n" for path in sorted(FILES)))
        with open(os.path.join(self.dest, "zenfs_backup.jsonl")) as file:
            manifest = file.read().splitlines()
        self.assertEqual(json.loads(manifest[0])["volume"], UUID)
        self.assertEqual(json.loads(manifest[-1])["files"], len(FILES))
        self.assertTrue(os.path.isdir(os.path.join(self.dest, "db/empty")))

    def test_the_volume_is_not_changed_and_may_be_written_meanwhile(self):
        self.fill()
        with self.unchanged():
            self.backup()
        shutil.rmtree(self.dest)
        with self.mounted() as volume:
            self.assertEqual(volume.request("write db/more.sst 1000 9"), "ok 0")
            self.assertIn("db/more.sst\n", self.backup())

    def test_json_has_the_summary_only(self):
        self.fill()
        summary = json.loads(self.backup("--json"))
        self.assertEqual((summary["files"], summary["bytes"]), (len(FILES), sum(size for size, _ in FILES.values())))
        again = json.loads(self.backup("--json", "--force", "--verify"))
        self.assertEqual((again["files"], again["already_there"]), (0, len(FILES)))

    def test_only_the_owner_may_read_a_backup_unless_a_mode_is_given(self):
        self.fill()
        mode = lambda *path: oct(os.stat(os.path.join(self.dest, *path)).st_mode & 0o7777)
        self.backup()
        self.assertEqual([mode(), mode("db"), mode("db", "CURRENT"), mode("zenfs_backup.jsonl")], ["0o700", "0o700", "0o600", "0o600"])
        shutil.rmtree(self.dest)
        self.backup("--mode=0644")
        self.assertEqual([mode(), mode("db"), mode("db", "CURRENT"), mode("zenfs_backup.jsonl")], ["0o755", "0o755", "0o644", "0o644"])
        for wrong in ("rw", "400", "1777", "-600", "", "68"):
            self.fails("backup", f"--emu={self.image}", f"--path={self.dest}", f"--mode={wrong}", saying="--mode")

    def test_a_link_in_the_backup_is_named_and_not_followed(self):
        self.fill()
        self.backup()
        outside = os.path.join(self.dir, "outside")
        os.rename(os.path.join(self.dest, "db"), outside)
        os.symlink(outside, os.path.join(self.dest, "db"))
        before = tree(outside)
        with self.mounted() as volume:
            self.assertEqual(volume.request("unlink db/CURRENT"), "ok 0")
        for verb in ("backup", "restore"):
            self.fails(verb, f"--emu={self.image}", f"--path={self.dest}", "--force",
                       saying=os.path.join(self.dest, "db") + " is a symbolic link")
        self.assertEqual(tree(outside), before)

    def test_part_of_the_volume(self):
        self.fill()
        self.backup("--backup_path=db/old/")
        self.assertEqual(list(self.data()), ["000001.sst"])
        self.fails("backup", f"--emu={self.image}", f"--path={self.dest}", "--backup_path=no/such", saying="no/such")

    def test_destinations_that_cannot_be(self):
        self.fill()
        with open(os.path.join(self.dir, "file"), "w") as file:
            file.write("mine")
        to = lambda path: self.fails("backup", f"--emu={self.image}", f"--path={path}", saying=[path.split("/below")[0]])
        to(os.path.join(self.dir, "file"))
        to(os.path.join(self.dir, "file", "below"))
        to(os.path.join(self.dir, "no", "such", "parent"))
        to("/proc/zenfs")
        self.fails("backup", f"--emu={self.image}", saying="--path")
        os.mkdir(self.dest)
        with open(os.path.join(self.dest, "other"), "w") as file:
            file.write("mine")
        self.assertIn("--force", to(self.dest))
        self.assertEqual(list(tree(self.dest)), ["other"])

    def test_a_directory_without_permission(self):
        self.fill()
        os.chmod(self.dir, 0o755)
        os.chmod(self.image, 0o644)
        os.mkdir(self.dest, 0o555)
        self.run_without_privileges()
        line = self.fails("backup", f"--emu={self.image}", f"--path={self.dest}", saying=[self.dest, "ermission"])
        self.assertNotIn("incomplete", line)
        self.assertEqual(tree(self.dest), {})

    def tmpfs(self, size):
        os.mkdir(self.dest)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", self.dest], capture_output=True, text=True)
        if mounted.returncode != 0:
            if os.environ.get("CI") == "true":
                self.fail(f"this test mounts a tmpfs: {mounted.stderr}")
            self.skipTest(f"a full disk is not tested: mounting a tmpfs needs root: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", self.dest])

    def test_a_full_directory_holds_a_partial_backup_that_goes_on(self):
        self.fill()
        self.tmpfs("2m")
        outcome = self.zenfs("backup", f"--emu={self.image}", f"--path={self.dest}", "--jobs=1")
        self.assertEqual((outcome.status, outcome.err.count("\n")), (1, 1), outcome.err)
        for text in ("No space left on device", "incomplete backup", self.dest):
            self.assertIn(text, outcome.err)
        self.assertFalse(self.end_line())
        self.make_second()
        self.fails("restore", f"--emu={self.second}", f"--path={self.dest}", saying="unfinished")
        subprocess.run(["mount", "-o", "remount,size=64m", self.dest], check=True)
        self.backup()
        self.assertTrue(self.end_line())
        self.assertEqual(sorted(self.data()), sorted(FILES))

    def test_a_directory_mounted_read_only(self):
        self.fill()
        self.tmpfs("2m")
        subprocess.run(["mount", "-o", "remount,ro", self.dest], check=True)
        self.fails("backup", f"--emu={self.image}", f"--path={self.dest}", saying=[self.dest, "Read-only"])

    def test_an_interrupt_ends_it_with_a_line(self):
        self.fill({f"{n}.sst": (1000000, n) for n in range(24)})
        slow = subprocess.Popen([self.program, "backup", f"--uri=emu:{self.image}?latency_us:3000", f"--path={self.dest}", "--jobs=1"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not (os.path.isdir(self.dest) and any(name.endswith(".sst") for name in os.listdir(self.dest))):
            self.assertIsNone(slow.poll(), "it ended before it could be interrupted")
            time.sleep(0.001)
        slow.send_signal(signal.SIGINT)
        _, err = slow.communicate(timeout=60)
        self.assertEqual(slow.returncode, 1)
        self.assertRegex(err, r"^zenfs backup: interrupted; .* is an incomplete backup, \d+ of 24 files are in it; .*\n$")
        self.assertFalse(self.end_line())
        self.assertGreater(json.loads(self.backup("--json"))["already_there"], 0)
        self.assertTrue(self.end_line())


class Restore(BackupCase):
    def test_a_restored_volume_lists_and_reads_as_the_first(self):
        self.fill()
        self.backup()
        self.make_second()
        self.golden("restore.txt", self.figures(self.restore("--jobs=1")))
        self.assertEqual(self.list_of(self.second), self.list_of(self.image))
        self.image, self.dest, first = self.second, os.path.join(self.dir, "again"), self.data()
        self.backup()
        self.assertEqual(self.data(), first)
        self.assertTrue(self.ok_json("check", f"--emu={self.second}", "--read-data")["clean"])

    def test_a_backup_by_the_older_command_is_restored(self):
        os.makedirs(os.path.join(self.dest, "rocksdbtest/dbbench"))
        for name, text in {"rocksdbtest/dbbench/000014.sst": b"s" * 5000, "rocksdbtest/dbbench/CURRENT": b"MANIFEST-000004\n",
                           "write_lifetime_hints.dat": b"rocksdbtest/dbbench/000014.sst\t5\nrocksdbtest/dbbench/CURRENT\t0\n"}.items():
            with open(os.path.join(self.dest, name), "wb") as file:
                file.write(text)
        self.make_second()
        self.restore("--restore_path=/")
        found = {name: lifetime for name, kind, _, lifetime, _ in self.list_of(self.second) if kind == "file"}
        self.assertEqual(found, {"rocksdbtest/dbbench/000014.sst": "extreme", "rocksdbtest/dbbench/CURRENT": "not set"})

    def test_names_that_are_there_are_kept_without_force(self):
        self.fill()
        self.backup()
        self.make_second()
        self.restore()
        before = self.ok_json("dump", f"--emu={self.second}")["files"]
        line = self.fails("restore", f"--emu={self.second}", f"--path={self.dest}", saying=["db/000014.sst", "6 in all", "--force"])
        self.assertIn("nothing was changed", line)
        self.assertEqual([f["id"] for f in self.ok_json("dump", f"--emu={self.second}")["files"]], [f["id"] for f in before])
        summary = json.loads(self.restore("--force", "--json"))
        self.assertEqual((summary["files"], summary["already_there"]), (0, len(FILES)))

    def test_damage_is_refused_by_name(self):
        self.fill()
        self.backup()
        self.make_second()
        with open(os.path.join(self.dest, "db/000015.sst"), "r+b") as file:
            file.seek(1234567)
            file.write(b"damage")
        refused = lambda *saying: self.fails("restore", f"--emu={self.second}", f"--path={self.dest}", saying=saying)
        refused("db/000015.sst is damaged", "--partial")
        os.remove(os.path.join(self.dest, "top.sst"))
        refused("top.sst is missing", "--partial")
        self.assertEqual(self.list_of(self.second), [])
        outcome = self.zenfs("restore", f"--emu={self.second}", f"--path={self.dest}", "--partial", "--json")
        self.assertEqual((outcome.status, json.loads(outcome.out)["left_out"]), (0, 2))
        self.assertEqual(outcome.err.count("not restored: "), 2)
        with open(os.path.join(self.dest, "zenfs_backup.jsonl"), "r+b") as file:
            file.seek(40)
            file.write(b"\xff\xff")
        refused("zenfs_backup.jsonl", "line 1")

    def test_what_can_not_be_read_is_not_called_damaged(self):
        self.fill()
        self.backup()
        self.make_second()
        for path in (self.dir, self.dest, self.second):
            os.chmod(path, 0o777)
        subprocess.run(["chmod", "-R", "a+rX", self.dest], check=True)
        self.run_without_privileges()
        refused = lambda *saying: self.fails("restore", f"--emu={self.second}", f"--path={self.dest}", saying=saying)
        for name in ("db/000015.sst", "zenfs_backup.jsonl"):
            os.chmod(os.path.join(self.dest, name), 0)
            self.assertNotIn("damaged", refused(name, "Permission denied", "--partial"))

    def test_sources_that_cannot_be(self):
        self.make_second()
        refused = lambda path, *saying: self.fails("restore", f"--emu={self.second}", f"--path={path}", saying=saying)
        refused(self.dest, self.dest, "no such file")
        os.mkdir(self.dest)
        os.symlink("/etc/passwd", os.path.join(self.dest, "link"))
        refused(self.dest, "link is a symbolic link")
        refused("/dev/null", "/dev/null")
        os.remove(os.path.join(self.dest, "link"))
        with open(os.path.join(self.dest, "large"), "wb") as file:
            file.truncate(1 << 30)
        refused(self.dest, "1.00 GiB are to be written")
        self.assertEqual(self.list_of(self.second), [])

    def test_one_file(self):
        self.fill()
        self.backup()
        self.make_second()
        out = self.ok("restore", f"--emu={self.second}", f"--path={self.dest}/top.sst", "--restore_path=/a/b")
        self.assertTrue(out.startswith(f"{self.dest}/top.sst\n"))
        self.assertIn(("a/b/top.sst", "file", 1048576, "medium", False), self.list_of(self.second))


class Killed(BackupCase):
    """kill -9 at random moments; what is left never looks complete, and the next run ends it."""

    ROUNDS = 20

    def many(self):
        files = {f"db/{n:06}.sst": (random.Random(n).randrange(1, 900000), n) for n in range(20)}
        return files | {"db/000029.log": (50000, 99), "db/CURRENT": (16, 98)}

    def kill_after(self, seconds, *words):
        process = subprocess.Popen([self.program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
        return process.wait() == 0

    def parts(self, words):
        """Random parts of the time of one whole run, which is measured."""
        begin = time.monotonic()
        self.ok(*words)
        self.whole = time.monotonic() - begin
        chance = random.Random(7)
        return [chance.uniform(0, 0.9) for _ in range(self.ROUNDS)]

    def cut_off(self, part, *words):
        """True if the run was killed. One that ends before tells that the whole run was measured on a busier machine."""
        seconds = part * self.whole
        if not self.kill_after(seconds, *words):
            return True
        self.whole = seconds
        return False

    def test_a_backup_cut_off_anywhere_is_partial_and_goes_on(self):
        self.fill(self.many())
        words = ["backup", f"--uri=emu:{self.image}?latency_us:300", f"--path={self.dest}"]
        parts = self.parts(words)
        whole = self.data()
        self.assertEqual(sorted(whole), sorted(self.many()))
        cut = 0
        for part in parts:
            shutil.rmtree(self.dest)
            if self.cut_off(part, *words):
                cut += 1
                record = os.path.join(self.dest, "zenfs_backup.jsonl")
                if os.path.exists(record) and os.path.getsize(record):
                    for path, text in self.data().items():  # what has its name is whole
                        self.assertIn(text, [whole.get(path)] if ".zenfs_backup" not in path else [text])
            self.kill_after(part * self.whole, *words)
            if not (os.path.exists(self.dest) and os.path.exists(os.path.join(self.dest, "zenfs_backup.jsonl")) and self.end_line()):
                self.ok(*words)
            self.assertEqual(self.data(), whole)
            self.assertTrue(self.end_line())
        self.assertGreater(cut, self.ROUNDS // 3)

    def test_a_restore_cut_off_anywhere_leaves_whole_files_and_goes_on(self):
        files = self.many()
        self.fill(files)
        self.backup()
        self.make_second()
        words = ["restore", f"--uri=emu:{self.second}?latency_us:300", f"--path={self.dest}"]
        parts = self.parts(words)
        whole = self.list_of(self.second)
        cut = 0
        for part in parts:
            self.ok("mkfs", f"--emu={self.second}", "--force")
            cut += self.cut_off(part, *words)
            left = self.list_of(self.second)
            for name, kind, size, _, _ in left:
                if kind == "file" and not name.startswith(".zenfs_restore"):
                    self.assertEqual(size, files[name][0], name)
            self.kill_after(part * self.whole, *words)
            if self.list_of(self.second) != whole:
                self.ok(*words)
            self.assertEqual(self.list_of(self.second), whole)
            self.image, kept = self.second, self.image
            with self.mounted() as volume:
                for path, (size, seed) in files.items():
                    self.assertEqual(volume.request(f"verify {path} {size} {seed}"), "ok 0")
            self.image = kept
        self.assertGreater(cut, self.ROUNDS // 3)


if __name__ == "__main__":
    unittest.main()
