"""The verb mount: a volume as a directory of the host, also beside a program that writes it."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import subprocess
import time
import unittest

from cli_case import ZENFS, CliCase, Image, VolumeTool

NOBODY = 65534


def setUpModule():
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        raise unittest.SkipTest(f"NOT RUN: mounts are not tested without FUSE: {error}") from error
    if shutil.which("fusermount3") is None:
        raise unittest.SkipTest("NOT RUN: mounts are not tested without fusermount3; see scripts/packages.txt")


def has_mount(path):
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        return any(line.split()[1] == path for line in mounts)


def wait_until(condition):
    end = time.monotonic() + 30
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it has not happened in 30 s")
        time.sleep(0.01)


class MountCase(CliCase):
    def setUp(self):
        super().setUp()
        self.emu = f"--emu={self.image}"
        self.root = self.path("mount")
        os.mkdir(self.root)
        self.make_volume("--zones=40", "--zone-size=2M", "--zone-capacity=1M", "--max-open=8", "--max-active=8")
        self.addCleanup(self.unmount)

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def at(self, *names):
        return os.path.join(self.root, *names)

    def mount(self, *flags):
        self.assertEqual(self.ok("mount", self.emu, self.root, *flags), "")
        self.assertTrue(has_mount(self.root))

    def unmount(self):
        if has_mount(self.root):
            subprocess.run(["fusermount3", "-u", "-z", self.root], check=True, **self.identity)

    def foreground(self, *flags, program=ZENFS):
        process = subprocess.Popen([program, "mount", self.emu, self.root, "--foreground", *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, **self.identity)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), f"Mounted on {self.root}; Ctrl-C unmounts\n")
        return process

    def ends(self, process, err=""):
        out = process.communicate(timeout=30)
        self.assertEqual((process.returncode, out), (0, ("", err)))
        self.assertFalse(has_mount(self.root))

    def put(self, name, data):
        local = self.path("local")
        pathlib.Path(local).write_bytes(data)
        self.ok("put", self.emu, local, name)

    def read(self, *names):
        return pathlib.Path(self.at(*names)).read_bytes()

    def eventually(self, path, size):
        wait_until(lambda: os.stat(path).st_size == size)


class Contents(MountCase):
    def setUp(self):
        super().setUp()
        self.table = os.urandom(2_500_001)
        self.log = os.urandom(70_003)
        self.ok("mkdir", self.emu, "db")
        self.put("db/1.sst", self.table)
        self.put("db/LOG", self.log)
        self.ok("link", self.emu, "--src_file=db/1.sst", "--dest_file=second.sst")

    def test_files_have_their_bytes_and_attributes(self):
        self.mount()
        self.assertEqual(self.read("db", "1.sst"), self.table)
        self.assertEqual(self.read("db", "LOG"), self.log)
        ids = {name: file["id"] for file in self.zenfs_json("dump")["files"] for name in file["filename"]}
        listed = {entry["name"]: entry["mtime"] for entry in self.ok_json("list", self.emu, "--recursive")["entries"]}
        for name, size, links in (("db/1.sst", len(self.table), 2), ("second.sst", len(self.table), 2), ("db/LOG", len(self.log), 1)):
            found = os.stat(self.at(name))
            self.assertEqual((oct(found.st_mode), found.st_size, found.st_nlink), (oct(stat.S_IFREG | 0o444), size, links), name)
            self.assertEqual((found.st_ino, found.st_mtime, found.st_uid), (ids[name], listed[name], os.getuid()), name)
        self.assertEqual(oct(os.stat(self.at("db")).st_mode), oct(stat.S_IFDIR | 0o555))
        self.assertEqual(sorted(os.listdir(self.root)), ["db", "second.sst"])
        with open(self.at("db/1.sst"), "rb") as file:
            file.seek(1_234_567)
            self.assertEqual(file.read(1000), self.table[1_234_567:1_235_567])

    def zenfs_json(self, *words):
        return json.loads(self.ok(*words, self.emu))

    def test_programs_can_copy_and_search(self):
        self.mount()
        for copy, words in (("cp", ["cp", "-r", self.root, self.path("cp")]), ("rsync", ["rsync", "-a", self.root + "/", self.path("rsync")])):
            subprocess.run(words, check=True, capture_output=True)
            self.assertEqual(pathlib.Path(self.path(copy, "db", "1.sst")).read_bytes(), self.table)
            self.assertEqual(pathlib.Path(self.path(copy, "db", "LOG")).read_bytes(), self.log)
        self.assertEqual(os.stat(self.path("rsync", "db", "LOG")).st_mtime, os.stat(self.at("db", "LOG")).st_mtime)
        sums = subprocess.run(["sha256sum", self.at("db", "1.sst")], check=True, capture_output=True, text=True).stdout
        self.assertEqual(sums.split()[0], hashlib.sha256(self.table).hexdigest())
        found = subprocess.run(["find", self.root, "-type", "f", "-links", "2"], check=True, capture_output=True, text=True).stdout
        self.assertEqual(sorted(found.split()), [self.at("db", "1.sst"), self.at("second.sst")])

    def test_nothing_can_be_changed(self):
        with self.unchanged():
            self.mount()
            for change in (lambda: os.open(self.at("db/LOG"), os.O_WRONLY), lambda: os.mkdir(self.at("new")), lambda: os.unlink(self.at("db/LOG")),
                           lambda: os.open(self.at("new"), os.O_CREAT | os.O_WRONLY), lambda: os.rename(self.at("db"), self.at("e"))):
                with self.assertRaises(OSError) as refused:
                    change()
                self.assertEqual(os.strerror(refused.exception.errno), "Read-only file system")
            self.unmount()

    def test_free_space_is_that_of_df(self):
        self.mount()
        space = self.ok_json("df", self.emu)
        found = os.statvfs(self.root)
        self.assertEqual((found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize), (space["total_bytes"], space["free_bytes"]))

    def test_names_may_have_any_bytes(self):
        names = [b"\x1b[2J\xff\n", b" \\x.log", "\u202e".encode()]
        source = os.fsencode(self.path("source"))
        os.mkdir(source)
        for name in names:
            with open(os.path.join(source, name), "wb") as file:
                file.write(name)
        self.ok("restore", self.emu, f"--path={self.path('source')}", "--restore_path=odd")
        self.mount()
        self.assertEqual(sorted(os.listdir(os.fsencode(self.at("odd")))), sorted(names))
        for name in names:
            with open(os.path.join(os.fsencode(self.at("odd")), name), "rb") as file:
                self.assertEqual(file.read(), name)

    def test_log_and_lock_of_an_aux_directory_are_shown(self):
        aux = self.path("aux")
        self.ok("mkfs", self.emu, "--force", f"--aux_path={aux}")
        self.put("LOG", self.log)
        self.assertEqual(os.stat(os.path.join(aux, "LOG")).st_size, len(self.log))
        self.mount()
        self.assertEqual(os.listdir(self.root), ["LOG"])
        self.assertEqual((self.read("LOG"), os.stat(self.at("LOG")).st_size), (self.log, len(self.log)))

    def test_damage_is_an_error_and_a_line(self):
        extent = next(file for file in self.zenfs_json("dump")["files"] if file["size"] == len(self.table))["extents"][0]
        image = Image(self.image)
        image.damage(image.data_offset + extent["start"] + 5)
        process = self.foreground()
        with self.assertRaises(OSError) as failed:
            self.read("db", "1.sst")
        self.assertEqual(os.strerror(failed.exception.errno), "Input/output error")
        self.assertEqual(self.read("db", "LOG"), self.log)
        process.terminate()
        _, err = process.communicate(timeout=30)
        self.assertRegex(err, r"\Azenfs mount: db/1\.sst: bytes 0 to \d+ do not match their checksum; they are in zone [^\n]*\n\Z")

    def test_in_the_background_the_line_goes_to_the_system_log(self):
        if os.geteuid() != 0 or os.path.lexists("/dev/log"):
            self.skipTest("NOT RUN: needs root and a host without a system log, to be that log")
        extent = next(file for file in self.zenfs_json("dump")["files"] if file["size"] == len(self.table))["extents"][0]
        image = Image(self.image)
        image.damage(image.data_offset + extent["start"] + 5)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
            log.bind("/dev/log")
            self.addCleanup(os.unlink, "/dev/log")
            log.settimeout(30)
            self.mount()
            with self.assertRaises(OSError):
                self.read("db", "1.sst")
            self.assertRegex(log.recv(4096).decode(), r"zenfs mount: db/1\.sst: bytes 0 to \d+ do not match their checksum")


class BesideAWriter(MountCase):
    def test_new_files_and_new_bytes_show(self):
        with self.mounted() as volume:
            self.mount()
            self.assertEqual(os.listdir(self.root), [])
            self.assertEqual(volume.request("append a.log 1 1000 1"), "ok 0")
            wait_until(lambda: os.listdir(self.root) == ["a.log"])
            with open(self.at("a.log"), "rb") as log:
                first = log.read()
                self.assertEqual(len(first), 1000)
                self.assertEqual(volume.request("append a.log 2 1000 1"), "ok 0")
                self.assertEqual(log.read(), first + first)
                self.eventually(self.at("a.log"), 3000)
            self.assertEqual(volume.request("write b.sst 5000 1"), "ok 0")
            self.assertEqual(os.stat(self.at("b.sst")).st_size, 5000)

    def test_a_file_that_is_deleted_or_replaced_keeps_its_bytes_while_it_is_open(self):
        with self.mounted() as volume:
            for request in ("write gone.sst 200000 1", "write old.sst 200000 2"):
                self.assertEqual(volume.request(request), "ok 0")
            self.mount()
            before = {name: self.read(name) for name in ("gone.sst", "old.sst")}
            with open(self.at("gone.sst"), "rb") as gone, open(self.at("old.sst"), "rb") as old:
                for request in ("unlink gone.sst", "write new.sst 300000 3", "rename new.sst old.sst"):
                    self.assertEqual(volume.request(request), "ok 0")
                self.assertEqual(gone.read(), before["gone.sst"])
                self.assertEqual(old.read(), before["old.sst"])
                wait_until(lambda: os.fstat(gone.fileno()).st_nlink == 0)
                self.assertEqual(os.fstat(old.fileno()).st_size, 200000)
                self.eventually(self.at("old.sst"), 300000)
                self.assertNotEqual(os.stat(self.at("old.sst")).st_ino, os.fstat(old.fileno()).st_ino)
                self.assertNotEqual(self.read("old.sst")[:1000], before["old.sst"][:1000])
            wait_until(lambda: not os.path.exists(self.at("gone.sst")))

    def test_bytes_that_are_gone_are_an_error_and_never_those_of_another_file(self):
        with self.mounted() as volume:
            self.assertEqual(volume.request("write gone.sst 900000 1"), "ok 0")
            process = self.foreground()
            with open(self.at("gone.sst"), "rb") as gone:
                whole = gone.read()
                gone.seek(0)
                self.assertEqual(volume.request("unlink gone.sst"), "ok 0")
                for round_ in range(2):  # all zones are written anew
                    count = int(volume.request(f"fill f{round_}- 500000").split()[1])
                    for number in range(count):
                        volume.request(f"unlink f{round_}-{number}")
                try:
                    self.assertEqual(gone.read(), whole)
                except OSError as error:
                    self.assertEqual(os.strerror(error.errno), "Stale file handle")
                    process.terminate()
                    _, err = process.communicate(timeout=30)
                    self.assertRegex(err, r"\Azenfs mount: gone\.sst [^\n]* its writer has deleted it [^\n]*\n\Z")

    def test_it_survives_the_death_of_the_writer(self):
        volume = self.mounted()
        self.addCleanup(volume.process.communicate)
        self.assertEqual(volume.request("append a.log 3 1000 1"), "ok 0")
        self.mount()
        before = self.read("a.log")
        volume.process.kill()
        volume.process.wait()
        self.assertEqual((self.read("a.log"), len(before)), (before, 3000))
        with self.mounted() as after:
            self.assertEqual(after.request("write b.sst 5000 1"), "ok 0")
            self.assertEqual((self.read("a.log"), len(self.read("b.sst"))), (before, 5000))


class Ends(MountCase):
    def test_signals_unmount(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.foreground()
            process.send_signal(number)
            self.ends(process)

    def test_fusermount_ends_the_process(self):
        process = self.foreground()
        self.unmount()
        self.ends(process)

    def test_a_program_in_the_directory_does_not_keep_it_mounted(self):
        self.put("a.sst", b"bytes")
        process = self.foreground()
        with open(self.at("a.sst"), "rb") as file:
            process.terminate()
            self.ends(process)
            with self.assertRaises(OSError):
                file.read()

    def test_in_the_background_it_belongs_to_no_terminal_and_ends_by_its_unmount(self):
        self.mount()
        processes = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and self.words(pid)[1:2] == ["mount"] and self.root in self.words(pid)]
        self.assertEqual(len(processes), 1)
        self.assertEqual(os.getsid(processes[0]), processes[0])
        self.assertEqual({os.readlink(f"/proc/{processes[0]}/fd/{fd}") for fd in range(3)}, {"/dev/null"})
        self.unmount()
        wait_until(lambda: not self.words(processes[0]))

    def words(self, pid):
        try:
            return pathlib.Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace").split("\0")[:-1]
        except FileNotFoundError:
            return []


class Refusals(MountCase):
    def refused(self, *words, saying):
        self.fails("mount", *words, saying=saying)
        self.fails("mount", *words, "--foreground", saying=saying)

    def test_mount_points_that_can_not_be_used(self):
        self.refused(self.emu, self.path("no"), saying=[self.path("no"), "No such file or directory", "mkdir"])
        self.refused(self.emu, self.image, saying=[self.image, "is not a directory"])
        self.refused(self.emu, self.dir, saying=[self.dir, "is not empty", "use an empty directory"])
        self.fails("mount", self.emu, saying="DIR is missing: zenfs mount DIR")
        self.mount()
        self.refused(self.emu, self.root, saying=[self.root, "mounted there already", "fusermount3 -u"])

    def test_what_a_killed_mount_left_is_named(self):
        process = self.foreground()
        process.kill()
        process.wait()
        self.refused(self.emu, self.root, saying=[self.root, "program has ended", f"fusermount3 -u {self.root} removes it"])

    def test_volumes_that_can_not_be_read(self):
        self.refused(f"--emu={self.path('no.img')}", self.root, saying=["no.img", "No such file"])
        self.refused(self.root, saying="no device given")
        image = Image(self.image)
        for zone in range(40):
            image.write(image.zone(zone), bytes(8192))
        self.refused(self.emu, self.root, saying=self.image)
        self.assertFalse(has_mount(self.root))

    def test_a_host_without_fuse(self):
        if os.geteuid() != 0:
            self.skipTest("NOT RUN: only root can hide /dev/fuse")
        hidden = f"mount -t tmpfs none /dev && mknod /dev/null c 1 3 && mknod /dev/shm p; {ZENFS} mount {self.emu} {self.root}"
        done = subprocess.run(["unshare", "-m", "sh", "-c", hidden], capture_output=True, text=True, check=False)
        if "unshare" in done.stderr:
            self.skipTest(f"NOT RUN: {done.stderr}")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\Azenfs mount: /dev/fuse: No such file or directory; this host has no FUSE: [^\n]*\n\Z")


@unittest.skipUnless(os.geteuid() == 0, "NOT RUN: only root can act as two users")
class OrdinaryUser(MountCase):
    def setUp(self):
        super().setUp()
        self.put("a.sst", b"bytes")
        os.chmod(self.dir, 0o755)
        os.chmod(self.image, 0o644)
        os.chown(self.root, NOBODY, NOBODY)
        self.run_without_privileges()

    def as_nobody(self, *words):
        return subprocess.run(words, capture_output=True, text=True, check=False, **self.identity)

    def test_it_can_mount_read_and_unmount(self):
        self.mount()
        self.assertEqual(self.as_nobody("cat", self.at("a.sst")).stdout, "bytes")
        self.assertEqual(self.as_nobody("stat", "-c", "%u %a", self.at("a.sst")).stdout, f"{NOBODY} 444\n")
        with self.assertRaises(PermissionError):  # another user, here root
            os.stat(self.at("a.sst"))
        self.unmount()
        self.assertFalse(has_mount(self.root))
        process = self.foreground(program=self.program)
        process.terminate()
        self.ends(process)

    def test_what_it_may_not_do_is_one_line(self):
        os.chown(self.root, 0, 0)
        self.fails("mount", self.emu, self.root, saying=[self.root, "must be writable", "Permission denied", "use a directory of your own"])
        os.chown(self.root, NOBODY, NOBODY)
        os.chmod(self.image, 0o600)
        self.fails("mount", self.emu, self.root, saying=[self.image, "Permission denied"])
        os.chmod(self.image, 0o644)
        allowed = re.search("^user_allow_other", pathlib.Path("/etc/fuse.conf").read_text(encoding="utf-8"), re.M)
        if not allowed:
            self.fails("mount", self.emu, self.root, "--allow-other", saying=["user_allow_other", "leave --allow-other out"])

    def test_without_fusermount(self):
        # A path without it, in a root of its own where /usr/bin/fusermount3 is hidden.
        hidden = f"mount --bind /dev/null {os.path.realpath(shutil.which('fusermount3'))} && exec setpriv --reuid={NOBODY} --clear-groups --regid={NOBODY} " \
                 f"{self.program} mount {self.emu} {self.root}"
        done = subprocess.run(["unshare", "-m", "sh", "-c", hidden], capture_output=True, text=True, check=False)
        if "unshare" in done.stderr or "setpriv" in done.stderr:
            self.skipTest(f"NOT RUN: {done.stderr}")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\Azenfs mount: [^\n]*install fusermount3 [^\n]*\n\Z")

    def test_other_users_can_read_what_root_mounts_for_them(self):
        self.identity = {}
        self.mount("--allow-other")
        self.assertEqual(subprocess.run(["cat", self.at("a.sst")], user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, text=True,
                                        check=False).stdout, "bytes")


class ManyFiles(MountCase):
    def test_a_hundred_thousand_are_found_in_seconds(self):
        os.unlink(self.image)
        self.make_volume("--zones=96", "--zone-size=64M", "--max-open=14", "--max-active=14")
        with VolumeTool("device", self.image) as volume:
            self.assertEqual(volume.request("files 100000"), "ok 100000")
        self.mount()
        begun = time.monotonic()
        found = subprocess.run(["find", self.root, "-size", "+1", "-type", "f"], check=True, capture_output=True, text=True).stdout
        self.assertEqual(found.count("\n"), 100_000)
        self.assertLess(time.monotonic() - begun, 20)  # about 1 s; one request for each file would take longer, too


if __name__ == "__main__":
    unittest.main()
