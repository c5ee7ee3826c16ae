#!/usr/bin/env python3
"""Unmodified programs that open databases by a path, on a default device: ZENFS_DEFAULT_URI and LD_PRELOAD=libzenfs.so.
Each runs on the host as well, and both must give the same. ctest names the files in the environment."""

import filecmp
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

PLUGIN = os.environ.get("LIBZENFS", "")
ZENFS = os.environ.get("ZENFS", "")
SHARED = os.environ.get("PUT_AND_GET", "")
STATIC = os.environ.get("PUT_AND_GET_STATIC", "")
SKIP = 77  # what ctest takes for "could not run"


class DefaultDeviceTest(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="zenfs-default-")
        self.addCleanup(shutil.rmtree, self.top)
        self.image = os.path.join(self.top, "device.img")
        self.host = os.path.join(self.top, "host")
        os.mkdir(self.host)
        subprocess.run([os.environ["MAKE_VOLUME"], self.image], check=True)
        self.uri = "zenfs://emu:" + self.image

    def environment(self, **more):
        base = {name: value for name, value in os.environ.items() if not name.startswith(("LD_PRELOAD", "ZENFS_"))}
        settings = {"LD_PRELOAD": PLUGIN, "ZENFS_DEFAULT_URI": self.uri, "ZENFS_DEFAULT_PREFIX": self.host, **more}
        return {**base, **{name: value for name, value in settings.items() if value is not None}}

    def run_with(self, *command, check=True, cwd=None, **more):
        """Runs a command on the default device; `name=None` unsets a variable."""
        result = subprocess.run(command, env=self.environment(**more), capture_output=True, text=True, timeout=300,
                                cwd=cwd or self.host)
        if check and result.returncode != 0:
            raise AssertionError(f"{' '.join(command)} ended with {result.returncode}\n{result.stdout}{result.stderr}")
        return result

    def run_on_host(self, *command, cwd, check=True):
        return self.run_with(*command, cwd=cwd, check=check, LD_PRELOAD=None, ZENFS_DEFAULT_URI=None,
                             ZENFS_DEFAULT_PREFIX=None)

    def on_volume(self):
        """Paths of all files in the volume."""
        listed = subprocess.run([ZENFS, "list", f"--emu={self.image}", "--recursive", "--json"], capture_output=True,
                                text=True, check=True).stdout
        return listed

    def assert_only_markers(self, directory):
        for path, _, files in os.walk(directory):
            self.assertLessEqual(set(files), {"LOCK", "ZENFS"}, path)

    def test_a_program_without_settings_keeps_its_database_in_the_volume(self):
        self.assertIn("NotFound", self.run_with(SHARED, "db", "k", "one").stdout)
        self.assertEqual(self.run_with(SHARED, os.path.join(self.host, "db"), "k", "two").stdout, "one\n")
        self.assertEqual(self.run_with(SHARED, "../host/./db", "k", "three").stdout, "two\n")
        self.assert_only_markers(self.host)
        self.assertIn("CURRENT", self.on_volume())

    def test_other_paths_are_the_hosts(self):
        outside = os.path.join(self.top, "outside")
        self.run_with(SHARED, outside, "k", "one")
        self.assertIn("CURRENT", os.listdir(outside))
        self.assertEqual(self.run_with(SHARED, outside, "k", "two", LD_PRELOAD=None).stdout, "one\n")

    def test_without_a_prefix_all_paths_are_the_volumes(self):
        self.run_with(SHARED, "db", "k", "one", ZENFS_DEFAULT_PREFIX=None)
        self.assertEqual(self.run_with(SHARED, "db", "k", "two", ZENFS_DEFAULT_PREFIX=None).stdout, "one\n")
        self.assert_only_markers(self.host)

    def test_a_wiped_database_is_empty_after_any_order_of_wipes_kills_and_restarts(self):
        database = os.path.join(self.host, "db")
        wipes = [lambda: shutil.rmtree(database), lambda: os.unlink(os.path.join(database, "ZENFS")),
                 lambda: (shutil.rmtree(database), os.mkdir(database))]
        for number, wipe in enumerate(wipes):
            for killed in (False, True):
                self.run_with(SHARED, "db", "stale", "x")
                if killed:
                    filler = subprocess.Popen(["db_bench", "--benchmarks=fillseq", "--num=100000000", f"--db={database}",
                                               "--use_existing_db=1"], env=self.environment(), cwd=self.host,
                                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    while "000" not in self.on_volume() and filler.poll() is None:
                        pass
                    filler.send_signal(signal.SIGKILL)
                    filler.wait()
                wipe()
                again = self.run_with(SHARED, "db", "stale", "y")
                self.assertIn("NotFound", again.stdout, f"wipe {number}, killed {killed}")
                self.assertIn("was removed or emptied on the host", again.stderr)
                self.assertEqual(self.run_with(SHARED, "db", "stale", "z").stdout, "y\n")
                shutil.rmtree(database)

    def test_a_killed_program_finds_its_synced_records(self):
        for program in (SHARED,):
            self.run_with(program, "db", "before", "x")
        bench = subprocess.Popen(["db_bench", "--benchmarks=fillseq", "--num=100000000", "--sync=1", f"--db={self.host}/db",
                                  "--use_existing_db=1"], env=self.environment(), stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        while self.on_volume().count(".log") < 1 and bench.poll() is None:
            pass
        bench.send_signal(signal.SIGKILL)
        bench.wait()
        self.assertEqual(self.run_with(SHARED, "db", "before", "y").stdout, "x\n")

    def test_bad_settings_end_with_one_line_and_write_nothing(self):
        text = os.path.join(self.top, "text")
        with open(text, "w", encoding="ascii") as file:
            file.write("hello\n")
        below = os.path.join(self.host, "below")
        os.mkdir(below)
        cases = [({"ZENFS_DEFAULT_URI": "zenfs://emu:/nonexistent"}, "/nonexistent"),
                 ({"ZENFS_DEFAULT_URI": f"zenfs://emu:{text}"}, text),
                 ({"ZENFS_DEFAULT_URI": "zenfs:/emu:x"}, "the form is zenfs://dev:NAME"),
                 ({"ZENFS_DEFAULT_URI": self.uri + "?speed:11"}, "speed"),
                 ({"ZENFS_DEFAULT_URI": None}, "ZENFS_DEFAULT_URI is not"),
                 ({"ZENFS_DEFAULT_PREFIX": "host"}, "not an absolute path"),
                 ({"ZENFS_DEFAULT_PREFIX": "/nonexistent"}, "/nonexistent"),
                 ({"ZENFS_DEFAULT_PREFIX": text}, "not a directory"),
                 ({"ZENFS_DEFAULT_PREFIX": f"{self.host}:{below}"}, "one is in the other"),
                 ({"ZENFS_DEFAULT_PREFIX": ":"}, "names no directory")]
        for settings, reason in cases:
            refused = self.run_with(SHARED, "db", "k", "v", check=False, **settings)
            self.assertEqual(refused.returncode, 1, settings)
            first = refused.stderr.splitlines()[0]
            self.assertTrue(first.startswith("ZenFS: "), first)
            self.assertIn(reason, first)
            self.assertFalse(set(os.listdir(self.host)) - {"below", "db"})
            self.assertEqual(os.listdir(os.path.join(self.host, "db")) if os.path.exists(
                os.path.join(self.host, "db")) else [], [], settings)

    def test_the_second_of_two_programs_is_told_who_has_the_volume(self):
        with subprocess.Popen(["db_bench", "--benchmarks=fillseq", "--num=100000000", f"--db={self.host}/db"],
                              env=self.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
            try:
                while "CURRENT" not in self.on_volume():
                    self.assertIsNone(first.poll())
                second = self.run_with(SHARED, "other", "k", "v", check=False)
                self.assertEqual(second.returncode, 1)
                self.assertIn(f"process {first.pid}", second.stderr)
                self.assertIn("?ro", second.stderr)
                self.assertFalse(os.path.exists(os.path.join(self.host, "other", "CURRENT")))
                reader = self.run_with("ldb", f"--db={self.host}/db", "scan", "--max_keys=1",
                                       ZENFS_DEFAULT_URI=self.uri + "?ro")
                self.assertEqual(reader.returncode, 0)
            finally:
                first.kill()

    def test_an_unreachable_rocksdb_is_named_at_the_end_and_refused_if_required(self):
        told = self.run_with(STATIC, "db", "k", "v")
        self.assertEqual(told.stderr.count("\n"), 1)
        self.assertIn("ZENFS_DEFAULT_URI had no effect", told.stderr)
        self.assertIn(STATIC, told.stderr)
        refused = self.run_with(STATIC, "required", "k", "v", check=False, ZENFS_REQUIRED="1")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("ZENFS_REQUIRED", refused.stderr)
        self.assertNotIn("CURRENT", os.listdir(os.path.join(self.host, "required")))
        outside = os.path.join(self.top, "outside")
        self.run_with(STATIC, outside, "k", "v", ZENFS_REQUIRED="1")
        self.run_with(SHARED, "reached", "k", "v", ZENFS_REQUIRED="1")
        self.assertEqual(self.run_with(STATIC, outside, "k", "v", ZENFS_DEFAULT_URI=None, ZENFS_DEFAULT_PREFIX=None).stderr,
                         "")

    def test_a_plugin_that_is_loaded_after_rocksdb_says_that_the_default_has_no_effect(self):
        late = [os.environ["LOAD_AT_RUN_TIME"], PLUGIN, self.uri]
        told = self.run_with(*late, LD_PRELOAD=None)
        self.assertEqual((told.stdout, told.stderr.count("\n")), ("ok\n", 1))
        self.assertIn("ZENFS_DEFAULT_URI has no effect", told.stderr)
        refused = self.run_with(*late, check=False, LD_PRELOAD=None, ZENFS_REQUIRED="1")
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))
        self.assertIn("ZENFS_REQUIRED", refused.stderr)

    def test_another_library_may_define_the_default_as_well(self):
        both = f"{os.environ['OTHER_DEFAULT']}:{PLUGIN}"
        for uri in (None, self.uri):
            result = self.run_with(SHARED, "db", "k", "v", LD_PRELOAD=both, ZENFS_DEFAULT_URI=uri, ZENFS_DEFAULT_PREFIX=None)
            self.assertEqual(result.stderr, "")
            shutil.rmtree(os.path.join(self.host, "db"))

    def test_a_thread_may_ask_for_the_default_while_another_loads_a_library(self):
        load = f"import ctypes; ctypes.CDLL({os.environ['ASKS_WHILE_LOADING']!r}); print('loaded')"
        for settings in ({}, {"ZENFS_DEFAULT_URI": None, "ZENFS_DEFAULT_PREFIX": None}):
            self.assertEqual(self.run_with(sys.executable, "-c", load, **settings).stdout, "loaded\n")

    def test_programs_without_rocksdb_do_not_notice(self):
        for command in (["ls", "/"], ["sh", "-c", "echo out; true | cat"], [sys.executable, "-c", "print(1)"]):
            result, without = self.run_with(*command), self.run_on_host(*command, cwd=self.host)
            self.assertEqual((result.stdout, result.stderr), (without.stdout, without.stderr))

    def test_only_a_program_that_uses_rocksdb_complains_about_bad_settings(self):
        script = f"ls / > out; cat out > /dev/null; {SHARED} db k v"
        bad = self.run_with("sh", "-c", script, check=False, ZENFS_DEFAULT_PREFIX="/nonexistent")
        self.assertEqual(bad.returncode, 1)
        self.assertEqual([line.startswith("ZenFS: ") for line in bad.stderr.splitlines()], [True, False], bad.stderr)

    # --- zenfs doctor ---

    def doctor(self, *words):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("LD_PRELOAD", "ZENFS_"))}
        return subprocess.run([ZENFS, "doctor", *words], env=environment, capture_output=True, text=True, timeout=300,
                              cwd=self.host)

    def test_doctor_tells_which_rocksdb_a_program_has_and_what_to_type(self):
        shared = self.doctor(SHARED)
        self.assertEqual(shared.returncode, 0, shared.stderr)
        self.assertRegex(shared.stdout, r"RocksDB 7\.8\.3 in /\S*librocksdb\.so\S*: ZenFS reaches it")
        self.assertIn(f"LD_PRELOAD=libzenfs.so {SHARED}", shared.stdout)
        static = self.doctor(STATIC)
        self.assertEqual(static.returncode, 1)
        self.assertIn("ZenFS does not reach it", static.stdout)
        found = json.loads(self.doctor("sortmerna", "--json").stdout)
        self.assertEqual([one["version"] for one in found["rocksdb"]], ["7.8.3"])
        other = os.path.join(self.top, "rocksdbjni-9.7.3.jar")
        with open(other, "wb") as file:
            file.write(b"PK\3\4")
        self.assertIn("build the plugin for RocksDB 9.7.3", self.doctor(other).stdout)
        fat = os.path.join(self.top, "application.jar")
        with open(fat, "wb") as file:
            file.write(b"PK\3\4 BOOT-INF/lib/rocksdbjni-10.4.2.jar")
        self.assertIn("build the plugin for RocksDB 10.4.2", self.doctor(fat).stdout)
        script = os.path.join(self.top, "script")
        with open(script, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n")
        self.assertIn("--run", self.doctor(script).stdout)
        self.assertIn("no RocksDB", self.doctor("ls").stdout)
        for wrong, reason in (("no-such-program", "no such program"), (self.top, "not a regular file"), (self.image, "neither")):
            refused = self.doctor(wrong)
            self.assertEqual((refused.returncode, refused.stdout), (1, ""))
            self.assertIn(reason, refused.stderr)

    def test_doctor_shows_what_a_run_wrote_where(self):
        ran = self.doctor("--run", f"--emu={self.image}", "--", "ldb", "--db=db", "--create_if_missing", "put", "k", "v")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertRegex(ran.stdout, r"in the volume: [1-9]\d* files new or changed")
        self.assertIn(f"on the host below {self.host}: 0 files", ran.stdout)
        hidden = self.doctor("--run", f"--emu={self.image}", "--", STATIC, "host-db", "k", "v")
        self.assertIn("in the volume: 0 files", hidden.stdout)
        self.assertRegex(hidden.stdout, r"on the host below \S+: [1-9]\d* files new or changed")
        self.assertEqual(self.doctor("--run", f"--emu={self.image}", "--", "sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(self.doctor("--run", f"--emu={self.image}", "--", "no-such-program").returncode, 127)

    def test_doctor_looks_at_the_host(self):
        looked = json.loads(self.doctor("--json").stdout)["host"]
        self.assertLessEqual({"plugin", "shared memory", "io_uring", "file size limit"}, {one["what"] for one in looked})
        plugin = next(one for one in looked if one["what"] == "plugin")
        self.assertIn("for RocksDB 7.8.3", plugin["found"])
        self.assertIn("LD_LIBRARY_PATH", plugin["cure"])

    # --- unmodified programs of the distribution ---

    def test_ldb_and_sst_dump(self):
        model = os.path.join(self.top, "model")
        os.mkdir(model)
        commands = [["ldb", "--db=db", "--create_if_missing", "put", "apple", "red"], ["ldb", "--db=db", "put", "pear", "green"],
                    ["ldb", "--db=db", "compact"], ["ldb", "--db=db", "scan"], ["ldb", "--db=db", "delete", "apple"],
                    ["ldb", "--db=db", "scan"], ["ldb", "--db=db", "checkpoint", "--checkpoint_dir=copy"],
                    ["ldb", "--db=copy", "scan"], ["ldb", "--db=db", "backup", "--backup_dir=backup"],
                    ["ldb", "--db=restored", "restore", "--backup_dir=backup"], ["ldb", "--db=restored", "scan"],
                    ["ldb", "--db=db", "drop_column_family", "none"]]
        for command in commands:
            ours, hosts = self.run_with(*command, check=False), self.run_on_host(*command, cwd=model, check=False)
            self.assertEqual((ours.returncode, ours.stdout), (hosts.returncode, hosts.stdout), command)
        self.assert_only_markers(self.host)
        dumped = self.run_with("sst_dump", "--file=restored", "--command=scan", check=False)
        self.assertIn("pear", dumped.stdout)

    def test_db_bench(self):
        model = os.path.join(self.top, "model")
        os.mkdir(model)
        command = ["db_bench", "--benchmarks=fillrandom,compact,readrandom", "--num=20000", "--seed=1", "--db=db",
                   "--value_size=100", "--compression_type=none", "--threads=1"]
        self.run_with(*command)
        self.run_on_host(*command, cwd=model)
        scan = ["ldb", "--db=db", "scan", "--hex"]
        ours, hosts = self.run_with(*scan).stdout, self.run_on_host(*scan, cwd=model).stdout
        self.assertEqual(ours, hosts)
        self.assertGreater(ours.count("\n"), 10000)
        self.assert_only_markers(self.host)

    def test_python(self):
        example = os.path.join(os.environ["SOURCE_DIR"], "examples", "python", "hello.py")
        self.assertEqual(self.run_with(sys.executable, example, "db").stdout, "hello from a zone\n")
        self.assert_only_markers(self.host)
        self.assertEqual(self.run_with("ldb", "--db=db", "get", "greeting").stdout, "hello from a zone\n")

    def test_sortmerna(self):
        rng = random.Random(1)
        bases = lambda count: "".join(rng.choices("ACGT", k=count))
        references = [bases(1500) for _ in range(20)]
        files = {"references.fa": "".join(f">r{i}\n{text}\n" for i, text in enumerate(references)), "reads.fa": ""}
        for i in range(200):
            start = rng.randrange(1400)
            files["reads.fa"] += f">q{i}\n{rng.choice(references)[start:start + 100] if i % 3 else bases(100)}\n"
        model = os.path.join(self.top, "model")
        os.mkdir(model)
        for directory in (self.host, model):
            for name, text in files.items():
                with open(os.path.join(directory, name), "w", encoding="ascii") as file:
                    file.write(text)
        command = ["sortmerna", "--ref", "references.fa", "--reads", "reads.fa", "--workdir", "work", "--fastx", "--blast", "1",
                   "--threads", "2"]
        self.run_on_host(*command, cwd=model)
        killed = subprocess.Popen(command, env=self.environment(), cwd=self.host, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        while not os.path.exists(os.path.join(self.host, "work", "kvdb", "ZENFS")) and killed.poll() is None:
            pass
        killed.kill()
        killed.wait()
        for again in range(2):
            shutil.rmtree(os.path.join(self.host, "work", "kvdb"))  # sortmerna wants it empty
            self.run_with(*command)
            for name in ("aligned.blast", "aligned.fa"):
                self.assertTrue(filecmp.cmp(os.path.join(self.host, "work/out", name), os.path.join(model, "work/out", name),
                                            shallow=False), f"{name}, {again}")
        self.assert_only_markers(os.path.join(self.host, "work/kvdb"))

    def balboa(self, directory, **settings):
        """Starts the server; returns it and its port once it answers."""
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = str(taken.getsockname()[1])
        server = subprocess.Popen(["balboa-rocksdb", "-d", directory, "-p", port], env=self.environment(**settings),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (server.kill(), server.wait()))
        while server.poll() is None:
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", int(port))) == 0:
                    return server, port
        self.fail(f"balboa-rocksdb ended with {server.returncode}")

    def balboa_dump(self, port, entries):
        """All that the server has, once it has so many entries: it takes them in without an answer."""
        deadline = time.monotonic() + 60
        dump = b""
        while dump.count(b".example") < entries and time.monotonic() < deadline:
            dump = subprocess.run(["balboa-backend-console", "dump", "-p", port], check=True, capture_output=True).stdout
        return dump

    def test_balboa(self):
        data = os.path.join(self.top, "data")  # a map of seven fields for each entry, in the format of msgpack
        with open(data, "wb") as file:
            for i in range(500):
                texts = [b"host%d.example" % i, b"A", b"10.0.0.%d" % (i % 250), b"sensor"]
                fields = [b"\xc4" + bytes([len(text)]) + text for text in texts]
                fields += [b"\xce" + number.to_bytes(4, "big") for number in (i + 1, 1000 + i, 2000 + i)]
                file.write(b"\x87" + b"".join(bytes([key]) + field for key, field in enumerate(fields)))
        dumps = []
        for settings in ({}, {"LD_PRELOAD": None, "ZENFS_DEFAULT_URI": None, "ZENFS_DEFAULT_PREFIX": None}):
            directory = os.path.join(self.top, "model") if settings else os.path.join(self.host, "db")
            server, port = self.balboa(directory, **settings)
            subprocess.run(["balboa-backend-console", "replay", "-p", port, "-d", data], check=True, capture_output=True)
            dumps.append(self.balboa_dump(port, 500))
            server.kill()
            server.wait()
            _, port = self.balboa(directory, **settings)
            dumps.append(self.balboa_dump(port, 500))
        self.assertEqual(dumps[0].count(b".example"), 500)
        self.assertEqual(dumps, [dumps[0]] * 4)
        self.assert_only_markers(self.host)


if __name__ == "__main__":
    if os.environ.get("SANITIZE"):
        print("skipped: a sanitizer's runtime can't be preloaded into programs built without it")
        sys.exit(SKIP)
    for tool in ("db_bench", "ldb", "sst_dump", "sortmerna", "balboa-rocksdb", "balboa-backend-console"):
        if shutil.which(tool) is None:
            print(f"skipped: {tool} is missing (scripts/setup installs it)")
            sys.exit(SKIP)
    unittest.main(verbosity=2)
