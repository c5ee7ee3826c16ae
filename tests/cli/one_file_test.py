"""The verbs that copy single files: cat, get and put."""
import os
import pathlib
import random
import resource
import signal
import stat
import subprocess
import unittest

from cli_case import ZENFS, CliCase, Image

BYTES = random.Random(7).randbytes(3_000_001)  # every byte, and more than a chunk of the copier


class OneFile(CliCase):
    def setUp(self):
        super().setUp()
        self.make_volume("--zones=32", "--zone-size=2M", "--zone-capacity=1M", "--max-open=8", "--max-active=8")
        self.emu = f"--emu={self.image}"
        self.local = os.path.join(self.dir, "local.sst")
        pathlib.Path(self.local).write_bytes(BYTES)
        self.ok("mkdir", self.emu, "db")
        self.ok("put", self.emu, self.local, "db/1.sst")

    def path(self, name):
        return os.path.join(self.dir, name)

    def cat(self, *words, **more):
        return subprocess.run([ZENFS, "cat", self.emu, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, **more)

    def names(self):
        return [entry["name"] for entry in self.ok_json("list", self.emu, "--recursive")["entries"]]

    def damage_file(self):
        """One byte of db/1.sst."""
        extent = self.ok_json("dump", self.emu)["files"][0]["extents"][0]
        image = Image(self.image)
        image.damage(image.data_offset + extent["start"] + 5)


class Cat(OneFile):
    def test_it_prints_the_bytes_of_all_files(self):
        small = self.path("small")
        pathlib.Path(small).write_bytes(b"\0\xff\x1b[2J\n")
        self.ok("put", self.emu, small, "small")
        done = self.cat("db/1.sst", "/small", "db/1.sst")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(done.stdout, BYTES + b"\0\xff\x1b[2J\n" + BYTES)

    def test_an_error_keeps_no_other_file_from_being_printed(self):
        done = self.cat("no", "db", "db/1.sst")
        self.assertEqual((done.returncode, done.stdout), (1, BYTES))
        self.assertEqual(done.stderr.decode(), "zenfs cat: no: no such file or directory\nzenfs cat: db: is a directory\n")
        self.fails("cat", self.emu, saying="VOLUME-PATH is missing: zenfs cat VOLUME-PATH")

    def test_a_damaged_file_is_named_with_its_zone(self):
        self.damage_file()
        done = self.cat("db/1.sst")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode(), r"\Azenfs cat: db/1\.sst: bytes 0 to \d+ do not match their checksum; they are in zone [^\n]*\n\Z")

    def test_a_closed_pipe_is_no_message(self):
        for ignored in (False, True):
            def confine():
                signal.signal(signal.SIGPIPE, signal.SIG_IGN if ignored else signal.SIG_DFL)
            process = subprocess.Popen([ZENFS, "cat", self.emu, "db/1.sst", "db/1.sst"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       preexec_fn=confine)
            self.assertEqual(process.stdout.read(10), BYTES[:10])
            process.stdout.close()
            self.assertEqual(process.stderr.read(), b"")
            process.stderr.close()
            self.assertEqual(process.wait(), 1 if ignored else -signal.SIGPIPE)

    def test_a_full_output_is_an_error(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([ZENFS, "cat", self.emu, "db/1.sst"], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, b"zenfs cat: the output could not be written in full: No space left on device\n")

    def test_it_shows_what_a_running_program_has_flushed(self):
        with self.mounted() as volume:
            self.assertEqual(volume.request("append a.log 2 1000 1"), "ok 0")
            done = self.cat("a.log")
        self.assertEqual((done.returncode, len(done.stdout), done.stderr), (0, 2000, b""))


class Get(OneFile):
    def get(self, *words):
        return self.ok("get", self.emu, *words)

    def test_it_copies_to_a_name_or_into_a_directory(self):
        out = self.path("out")
        self.assertEqual(self.get("/db/1.sst", out), "")
        self.assertEqual(pathlib.Path(out).read_bytes(), BYTES)
        self.assertEqual(stat.S_IMODE(os.stat(out).st_mode), 0o600)
        self.get("db/1.sst", self.dir)
        self.assertEqual(pathlib.Path(self.path("1.sst")).read_bytes(), BYTES)
        os.mkdir(self.path("here"))
        done = subprocess.run([ZENFS, "get", self.emu, "db/1.sst"], cwd=self.path("here"), capture_output=True, check=True)
        self.assertEqual((done.stdout, done.stderr, os.listdir(self.path("here"))), (b"", b"", ["1.sst"]))

    def test_it_replaces_a_file_only_with_force_and_keeps_its_mode(self):
        out = self.path("out")
        pathlib.Path(out).write_text("old", encoding="utf-8")
        os.chmod(out, 0o644)
        self.fails("get", self.emu, "db/1.sst", out, saying=[f"{out} exists already; it was not changed", "--force replaces it"])
        self.assertEqual(pathlib.Path(out).read_text(encoding="utf-8"), "old")
        self.get("db/1.sst", out, "--force")
        self.assertEqual(pathlib.Path(out).read_bytes(), BYTES)
        self.assertEqual(stat.S_IMODE(os.stat(out).st_mode), 0o644)
        self.get("db/1.sst", out, "--force", "--mode=640")
        self.assertEqual(stat.S_IMODE(os.stat(out).st_mode), 0o640)

    def refused(self, *words, saying):
        before = sorted(os.listdir(self.dir))
        self.fails("get", self.emu, *words, saying=saying)
        self.assertEqual(sorted(os.listdir(self.dir)), before, "a half copy is left")

    def test_what_can_not_be_copied(self):
        self.refused("no", self.path("out"), saying="zenfs get: no: no such file or directory")
        self.refused("db", self.path("out"), saying=["db: is a directory", "zenfs backup"])
        self.refused("db/1.sst", self.path("no/out"), saying=["no/out", "No such file or directory"])
        self.refused("db/1.sst", self.local + "/out", saying="Not a directory")
        os.symlink(self.local, self.path("link"))
        self.refused("db/1.sst", self.path("link"), "--force", saying=["link", "symbolic link"])
        self.refused(saying="VOLUME-PATH is missing")
        self.damage_file()
        self.refused("db/1.sst", self.path("out"), saying=["db/1.sst", "do not match their checksum", "zone"])

    def test_a_full_host_leaves_nothing(self):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
        try:
            self.refused("db/1.sst", self.path("out"), saying=[self.path("out"), "File too large"])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    def test_beside_a_running_program(self):
        with self.mounted():
            self.get("db/1.sst", self.path("out"))
        self.assertEqual(pathlib.Path(self.path("out")).read_bytes(), BYTES)


class Put(OneFile):
    def refused(self, *words, saying):
        before = self.names()
        self.fails("put", self.emu, *words, saying=saying)
        self.assertEqual(self.names(), before)

    def test_it_copies_to_a_name_or_into_a_directory(self):
        self.assertEqual(self.ok("put", self.emu, self.local, "/db/"), "")
        self.ok("put", self.emu, self.local, "/")
        self.ok("put", self.emu, self.local, "db/2.log")
        os.symlink(self.local, self.path("link"))
        self.ok("put", self.emu, self.path("link"), "db")
        self.assertEqual(self.names(), ["db", "db/1.sst", "db/2.log", "db/link", "db/local.sst", "local.sst"])
        for name in ("db/1.sst", "db/2.log", "db/link", "db/local.sst"):
            self.assertEqual(self.cat(name).stdout, BYTES, name)
        framed = {entry["name"]: entry.get("framed") for entry in self.ok_json("list", self.emu, "--path=db")["entries"]}
        self.assertEqual((framed["1.sst"], framed["2.log"]), (False, True))
        self.assertTrue(self.ok_json("check", self.emu, "--read-data")["clean"])

    def test_it_replaces_a_file_only_with_force(self):
        with open(self.path("new"), "wb"):
            pass
        self.refused(self.path("new"), "db/1.sst", saying="db/1.sst: already exists; --force replaces it")
        self.assertEqual(self.cat("db/1.sst").stdout, BYTES)
        self.ok("put", self.emu, self.path("new"), "db/1.sst", "--force")
        self.assertEqual(self.cat("db/1.sst").stdout, b"")

    def test_what_can_not_be_copied(self):
        self.refused(self.path("no"), "x", saying=[self.path("no"), "No such file or directory"])
        self.refused(self.dir, "x", saying=[f"{self.dir} is a directory", "zenfs restore"])
        self.refused("/dev/null", "x", saying=["/dev/null", "not a regular file"])
        self.refused(self.local, "no/x", saying=["no: no such file or directory", "zenfs mkdir --parents"])
        self.refused(self.local, "no/", saying=["no: no such file or directory", "zenfs mkdir --parents"])
        self.refused(self.local, "db/1.sst/x", saying="db/1.sst: is not a directory")
        self.refused(self.local, "x" * 256, saying="255")
        self.refused(self.local, ".zenfs_restore/x", saying="restores use this name")
        self.refused(self.local, saying="VOLUME-PATH is missing: zenfs put PATH VOLUME-PATH")
        with open(self.path("huge"), "wb") as file:
            file.truncate(1 << 30)
        self.refused(self.path("huge"), "x", saying=["has room for", "1.00 GiB are to be written; nothing was changed"])
        with self.mounted():
            self.fails("put", self.emu, self.local, "x", saying=["process", "volume_tool"])

    def test_an_unreadable_file(self):
        os.chmod(self.local, 0)
        os.chmod(self.dir, 0o777)
        os.chmod(self.image, 0o666)
        self.run_without_privileges()
        self.fails("put", self.emu, self.local, "x", saying=[self.local, "Permission denied"])

    def interrupted(self, how):
        uri = f"--uri=zenfs://emu:{self.image}?latency_us:20000"
        process = subprocess.Popen([ZENFS, "put", uri, self.local, "x.sst"], stderr=subprocess.PIPE, text=True)
        while ".zenfs_restore/put" not in self.zenfs("list", self.emu, "--recursive").out:
            self.assertIsNone(process.poll(), "the put was too fast")
        process.send_signal(how)
        _, err = process.communicate(timeout=60)
        return process.returncode, err

    def test_an_interrupt_leaves_nothing(self):
        status, err = self.interrupted(signal.SIGTERM)
        self.assertEqual(status, 1)
        self.assertRegex(err, r"\Azenfs put: [^\n]*\n\Z")
        self.assertEqual(self.names(), ["db", "db/1.sst"])

    def test_what_a_killed_put_left_has_no_name_and_goes_with_the_next(self):
        self.interrupted(signal.SIGKILL)
        self.assertNotIn("x.sst", self.names())
        with open(self.path("empty"), "wb"):
            pass
        self.ok("put", self.emu, self.path("empty"), "y")
        self.assertEqual(self.names(), ["db", "db/1.sst", "y"])

    def test_it_keeps_what_an_interrupted_restore_needs(self):
        with self.mounted() as volume:
            for request in ("mkdir .zenfs_restore", "write .zenfs_restore/0 5000 1"):
                self.assertEqual(volume.request(request), "ok 0")
        self.ok("put", self.emu, self.local, "x")
        self.assertIn(".zenfs_restore/0", self.names())


if __name__ == "__main__":
    unittest.main()
