"""What `zenfs doctor` looks at may be anybody's: it runs none of it, and neither its size nor its processes hold the command up."""
import json
import os
import shutil
import struct
import subprocess
import time
import unittest
import zipfile

import cli_case
from cli_case import CliCase

PROGRAM = os.environ["RUNNING_PROGRAM"]
STATIC = os.environ["STATIC_PROGRAM"]
LIBRARY = os.path.realpath(os.environ["RUNNING_LIBRARY"])
TIB = 1 << 40


def elf_library(size, *segments):
    """The headers of a library whose bytes are loaded as a whole, and of further segments: (type, offset, bytes)."""
    headers = b"".join(struct.pack("<IIQQQQQQ", kind, 4, offset, offset, offset, length, length, 4096)
                       for kind, offset, length in ((1, 0, size), *segments))
    return b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, len(segments) + 1, 0, 0,
                                                            0) + headers


class DoctorCase(CliCase):
    def setUp(self):
        super().setUp()
        self.trace = os.path.join(self.dir, "ran")

    def doctor(self, *words, **environment):
        return self.zenfs("doctor", *words, LIBRARY_RAN=self.trace, **environment)

    def assert_nothing_ran(self):
        self.assertFalse(os.path.exists(self.trace), "code of what was looked at ran")


class ForeignPrograms(DoctorCase):
    def test_no_code_of_a_program_or_of_its_libraries_runs(self):
        outcome = self.doctor(PROGRAM)
        self.assertEqual((outcome.status, outcome.err), (0, ""))
        self.assertRegex(outcome.out, r"RocksDB 7\.9\.2 in /\S*/librunning\.so\.7\.9: ZenFS reaches it")
        self.assert_nothing_ran()

    def test_no_code_of_a_library_runs(self):
        found = json.loads(self.doctor(LIBRARY, "--json").out)
        self.assertEqual(found["rocksdb"], [{"object": LIBRARY, "version": "7.9.2", "reached": True, "linked": "dynamically",
                                             "new_strings": False, "rtti": False}])
        self.assert_nothing_ran()

    def test_a_version_that_the_file_does_not_name_is_unknown(self):
        copy = shutil.copy(LIBRARY, os.path.join(self.dir, "librocksdb.so"))
        outcome = self.doctor(copy)
        self.assertIn(f"RocksDB in {copy}: ZenFS reaches it", outcome.out)
        self.assertIn("its version is not known", outcome.out)
        self.assert_nothing_ran()

    def test_a_static_program_with_visible_symbols_is_told_from_a_hidden_one(self):
        outcome = self.doctor(STATIC)
        self.assertEqual(outcome.status, 1)
        self.assertIn("linked statically with visible symbols: a default device does not reach it", outcome.out)
        self.assertIn("old std::string, no RTTI", outcome.out)
        self.assertEqual(json.loads(self.doctor(STATIC, "--json").out)["rocksdb"][0]["linked"], "statically")
        self.assert_nothing_ran()

    def test_the_jars_among_the_arguments_are_looked_at(self):
        jar = os.path.join(self.dir, "app.jar")
        with zipfile.ZipFile(jar, "w") as archive:
            archive.write(LIBRARY, "librocksdbjni-linux64.so")
        found = json.loads(self.doctor("--json", "--", "/bin/true", "-cp", f"/nowhere.jar:{jar}", "Main").out)
        self.assertEqual([(one["object"], one["reached"]) for one in found["rocksdb"]], [(jar, True)])
        self.assertIn("java ...", found["advice"])
        self.assertEqual(self.doctor("--", "/bin/true", "-v").status, 1)

    def test_a_jar_that_cannot_be_looked_at_ends_nothing(self):
        loop = os.path.join(self.dir, "loop.jar")
        os.symlink(loop, loop)
        outcome = self.doctor("--", "/bin/true", "-jar", loop)
        self.assertEqual((outcome.status, outcome.err), (1, ""))

    def test_a_name_is_searched_in_path_only(self):
        shutil.copy(PROGRAM, os.path.join(self.dir, "ls"))
        shutil.copy(PROGRAM, os.path.join(self.dir, "own"))
        os.mkdir(os.path.join(self.dir, "first"))
        os.mkdir(os.path.join(self.dir, "first", "ls"))
        path = os.path.join(self.dir, "first") + ":" + os.environ["PATH"]
        before = os.getcwd()
        os.chdir(self.dir)
        self.addCleanup(os.chdir, before)
        self.assertRegex(self.doctor("ls", PATH=path).out, r"\A/\S*/ls\n  no RocksDB")
        self.assertIn("type ./own", self.fails("doctor", "own"))
        self.assertIn("RocksDB 7.9.2", self.doctor("./own").out)

    def test_the_search_path_of_the_loader_is_followed(self):
        moved = os.path.join(self.dir, "moved")
        os.mkdir(moved)
        copy = shutil.copy(LIBRARY, os.path.join(moved, "librunning.so.7.9"))
        found = json.loads(self.doctor(PROGRAM, "--json", LD_LIBRARY_PATH=f"/nowhere:{moved}").out)
        self.assertEqual([one["object"] for one in found["rocksdb"]], [copy])

    def test_holes_of_a_file_are_not_searched(self):
        sparse = os.path.join(self.dir, "sparse")
        for begin in (b"PK\3\4", elf_library(3 * TIB)):
            with self.subTest(begin=begin), open(sparse, "wb") as file:
                file.write(begin)
                file.truncate(3 * TIB)
                file.flush()
                outcome = self.doctor(sparse)
                self.assertEqual((outcome.status, outcome.err), (1, ""))
                self.assertIn("no RocksDB", outcome.out)

    def test_the_places_for_libraries_are_bounded(self):
        names = b"\0" + b"".join(b"%05d\0" % number for number in range(4096))
        strings = names + b":" * 4000 + b"\0"
        entries = [(1, 1 + 6 * number) for number in range(4096)]  # DT_NEEDED
        entries += [(29, len(names)), (5, 4096), (10, len(strings)), (0, 0)]  # DT_RUNPATH, DT_STRTAB, DT_STRSZ
        dynamic = 4096 + len(strings)
        path = os.path.join(self.dir, "library")
        with open(path, "wb") as file:
            file.write(elf_library(1 << 20, (2, dynamic, 16 * len(entries))).ljust(4096, b"\0") + strings)
            file.write(b"".join(struct.pack("<QQ", *entry) for entry in entries))
        self.fails("doctor", path, saying="too many places for its libraries")

    def write_needing(self, path, offsets, strings, loaded=1):
        """A library that needs the names at these offsets of its strings, and has so many segments that are loaded."""
        dynamic = 4096 + 64 * loaded
        entries = [*((1, offset) for offset in offsets), (5, dynamic + 16 * (len(offsets) + 3)), (10, len(strings)), (0, 0)]
        size = dynamic + 16 * len(entries) + len(strings)
        headers = elf_library(size, *[(1, TIB, 16)] * (loaded - 1), (2, dynamic, 16 * len(entries)))
        with open(path, "wb") as file:
            file.write(headers.ljust(dynamic, b"\0") + b"".join(struct.pack("<QQ", *entry) for entry in entries) + strings)

    def test_names_that_many_libraries_need_take_little_memory(self):
        paths = [os.path.join(self.dir, f"library{number:03}") for number in range(300)]
        for path in paths:
            self.write_needing(path, [0] * 4096, b"n" * 4095 + b"\0")
        program = os.path.join(self.dir, "program")
        names = [path.encode() + b"\0" for path in paths]
        self.write_needing(program, [sum(map(len, names[:number])) for number in range(300)], b"".join(names))
        with subprocess.Popen([self.program, "doctor", program], stdout=subprocess.DEVNULL) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 1)
        self.assertLess(used.ru_maxrss, 1 << 20, "KiB")

    def test_the_names_of_libraries_are_bounded(self):
        paths = [os.path.join(self.dir, f"library{number:02}") for number in range(12)]
        for number, path in enumerate(paths):
            strings = b"".join(b"/none/%02d%04d\0" % (number, name) for name in range(1024))
            self.write_needing(path, range(0, len(strings), 13), strings)
        program = os.path.join(self.dir, "program")
        names = [path.encode() + b"\0" for path in paths]
        self.write_needing(program, [sum(map(len, names[:number])) for number in range(12)], b"".join(names))
        self.fails("doctor", program, saying="too many libraries")

    def test_a_library_with_many_names_is_read_once(self):
        library = os.path.join(self.dir, "library")
        self.write_needing(library, [0] * 4096, b"n" * 4095 + b"\0", loaded=1000)
        names = [self.dir.encode() + b"/" * (1 + number) + b"library\0" for number in range(1000)]
        program = os.path.join(self.dir, "program")
        self.write_needing(program, [sum(map(len, names[:number])) for number in range(1000)], b"".join(names))
        begin = time.monotonic()
        self.assertEqual(self.doctor(program).status, 1)
        self.assertLess(time.monotonic() - begin, 3)

    def test_a_pipe_is_not_opened(self):
        pipe = os.path.join(self.dir, "pipe")
        os.mkfifo(pipe)
        self.fails("doctor", pipe, saying="not a regular file")


class PluginBesideTheCommand(DoctorCase):
    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o755)
        self.program = shutil.copy(cli_case.ZENFS, os.path.join(self.dir, "zenfs"))
        self.plugin = shutil.copy(LIBRARY, os.path.join(self.dir, "libzenfs.so"))

    def plugin_seen(self, **environment):
        return json.loads(self.doctor("ls", "--json", **environment).out)["plugin"]

    def test_a_process_that_a_library_leaves_does_not_delay_the_answer(self):
        begin = time.monotonic()
        self.assertEqual(self.plugin_seen(LIBRARY_STAYS="1"), "1.2.3 for RocksDB 7.9.2")
        self.assertLess(time.monotonic() - begin, 20)

    def test_a_plugin_that_all_users_may_write_to_is_not_run(self):
        os.chmod(self.plugin, 0o777)
        self.assertNotEqual(self.plugin_seen(), "1.2.3 for RocksDB 7.9.2")
        self.assert_nothing_ran()

    @unittest.skipIf(os.geteuid() != 0, "only root can give files away")
    def test_a_plugin_of_another_user_is_not_run(self):
        os.chown(self.plugin, 65534, 65534)
        self.assertNotEqual(self.plugin_seen(), "1.2.3 for RocksDB 7.9.2")
        self.assert_nothing_ran()


if __name__ == "__main__":
    unittest.main()
