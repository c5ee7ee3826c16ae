#!/usr/bin/env python3
"""Programs that know nothing of ZenFS, under LD_PRELOAD=libzenfs.so: the distribution's db_bench, ldb and sst_dump,
shell commands, and one that loads the library while it runs. ctest names the files in the environment."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PLUGIN = os.environ.get("LIBZENFS", "")
SKIP = 77  # what ctest takes for "could not run"
EXPORTS = {"zenfs_register", "zenfs_plugin_version",
           "Java_org_rocksdb_ZenFsEnv_openEnv", "Java_org_rocksdb_ZenFsEnv_closeEnv",
           # for a default device
           "_ZN7rocksdb3Env7DefaultEv", "_ZN7rocksdb10FileSystem7DefaultEv", "open", "open64"}


def run(*command, preload=True, check=True):
    """Runs a command to its end, and gives its result with both outputs as text."""
    environment = dict(os.environ)
    environment.pop("LD_PRELOAD", None)
    if preload:
        environment["LD_PRELOAD"] = PLUGIN
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    if check and result.returncode != 0:
        raise AssertionError(f"{' '.join(command)} ended with {result.returncode}\n{result.stdout}{result.stderr}")
    return result


class PreloadTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="zenfs-preload-")
        self.addCleanup(shutil.rmtree, self.directory)
        self.image = os.path.join(self.directory, "device.img")
        run(os.environ["MAKE_VOLUME"], self.image, preload=False)
        self.uri = "zenfs://emu:" + self.image

    def bench(self, benchmarks, *flags, uri=None, check=True):
        return run("db_bench", f"--fs_uri={uri or self.uri}", f"--benchmarks={benchmarks}", "--num=20000",
                   "--key_size=16", "--value_size=800", "--write_buffer_size=2097152",
                   "--target_file_size_base=2097152", "--compression_type=none", "--threads=2",
                   "--max_background_jobs=4", *flags, check=check)

    def test_exports_nothing_but_the_registration_and_the_default_device(self):
        symbols = run("nm", "-D", "--defined-only", PLUGIN, preload=False).stdout
        self.assertEqual({line.split()[-1] for line in symbols.splitlines()}, EXPORTS)

    def test_names_librocksdb_and_is_never_unloaded(self):
        dynamic = run("readelf", "-d", PLUGIN, preload=False).stdout
        self.assertRegex(dynamic, r"NEEDED.*librocksdb\.so")
        self.assertRegex(dynamic, r"NODELETE")

    def test_other_programs_do_not_notice(self):
        for command in (["ls", "/"], ["sh", "-c", "echo out; true | cat"], [sys.executable, "-c", "print(1)"]):
            with_plugin, without = run(*command), run(*command, preload=False)
            self.assertEqual((with_plugin.stdout, with_plugin.stderr), (without.stdout, without.stderr))

    def test_loading_starts_no_thread_and_opens_nothing(self):
        script = "ls /proc/self/task | wc -l; ls -l /proc/self/fd | grep -c zenfs"
        self.assertEqual(run("sh", "-c", script, check=False).stdout.split(), ["1", "0"])

    def test_db_bench_fills_and_reads_back(self):
        for direct in ("false", "true"):
            flags = [f"--use_direct_reads={direct}", f"--use_direct_io_for_flush_and_compaction={direct}"]
            filled = self.bench("fillrandom,compact,stats", *flags)
            self.assertIn("fillrandom", filled.stdout)
            read = self.bench("readrandom,verifychecksum,readseq", "--use_existing_db", *flags)
            found = re.search(r"\((\d+) of (\d+) found\)", read.stdout)
            self.assertGreater(int(found[1]), int(found[2]) // 2, read.stdout)

    def test_the_data_are_in_the_device_and_not_in_host_files(self):
        before = os.stat(self.image).st_blocks
        self.bench("fillseq", "--db=/zenfs-preload-test-db")
        self.assertGreater(os.stat(self.image).st_blocks - before, 20000 * 800 // 512)
        self.assertFalse(os.path.exists("/zenfs-preload-test-db"))
        self.assertEqual(os.listdir(self.directory), ["device.img"])

    def test_ldb_and_sst_dump(self):
        for key in ("apple", "pear"):
            run("ldb", f"--fs_uri={self.uri}", "--db=/db", "--create_if_missing", "put", key, f"a {key}")
        self.assertEqual(run("ldb", f"--fs_uri={self.uri}", "--db=/db", "get", "pear").stdout.strip(), "a pear")
        self.assertRegex(run("ldb", f"--fs_uri={self.uri}", "--db=/db", "scan").stdout, "apple (:|==>) a apple")
        run("ldb", f"--fs_uri={self.uri}", "--db=/db", "compact")
        files = run("ldb", f"--fs_uri={self.uri}", "--db=/db", "list_live_files_metadata").stdout
        table = re.search(r"/?(\d+\.sst)", files)[1]
        dumped = run("sst_dump", f"--fs_uri={self.uri}", f"--file=/db/{table}", "--command=scan").stdout
        self.assertIn("a apple", dumped)

    def test_env_uri_works_as_well(self):
        run("ldb", f"--env_uri={self.uri}", "--db=/db", "--create_if_missing", "put", "k", "v")
        self.assertEqual(run("ldb", f"--fs_uri={self.uri}", "--db=/db", "get", "k").stdout.strip(), "v")

    def test_wrong_uris_end_with_our_line_and_not_with_a_crash(self):
        blank = os.path.join(self.directory, "text")
        with open(blank, "w", encoding="ascii") as file:
            file.write("hello\n")
        for uri, reason in (("zenfs://emu:/nonexistent", "/nonexistent"), (f"zenfs://emu:{blank}", blank),
                            (f"{self.uri}?speed:11", "speed"), ("zenfs://", "zenfs://"),
                            ("zenfs://floppy:0", "floppy")):
            for program in (["db_bench", "--benchmarks=fillseq", "--num=1"], ["ldb", "--db=/db", "scan"]):
                refused = run(*program, f"--fs_uri={uri}", check=False)
                self.assertGreater(refused.returncode, 0, f"{program} {uri}: killed by a signal, or success")
                self.assertIn(reason, refused.stdout + refused.stderr)
                self.assertIn("zenfs: ", refused.stdout + refused.stderr)

    def test_a_misspelt_uri_is_refused_with_the_right_one(self):
        path = self.uri.partition("emu:")[2]
        wrong = ["zenfs:emu:", "zenfs:/emu:", "ZenFS://emu:", "ZENFS:emu:", "emu:"]
        for uri in [start + path for start in wrong]:
            for program in (["db_bench", "--benchmarks=fillseq", "--num=1", f"--db={self.directory}/host"],
                            ["ldb", f"--db={self.directory}/host", "--create_if_missing", "put", "k", "v"]):
                for option in ("--fs_uri", "--env_uri"):
                    refused = run(*program, f"{option}={uri}", check=False)
                    self.assertGreater(refused.returncode, 0, f"{program} {option}={uri}: killed by a signal, or success")
                    self.assertIn(f"zenfs: misspelt, the URI is {self.uri}", refused.stdout + refused.stderr)
                    self.assertFalse(os.path.exists(os.path.join(self.directory, "host")))
        for uri in ("zenfs", "zenfs:", "ZenFS://floppy:0", "nvme:"):
            refused = run("ldb", "--db=/db", "scan", f"--fs_uri={uri}", check=False)
            self.assertGreater(refused.returncode, 0, uri)
            self.assertIn("the form is zenfs://dev:NAME", refused.stdout + refused.stderr)

    def test_second_process_is_told_who_has_the_device(self):
        with subprocess.Popen([os.environ["KILL_WRITER"], self.uri, "0", "sync"], stdout=subprocess.PIPE) as first:
            try:
                self.assertEqual(first.stdout.readline(), b"0\n")  # it has the device, and has written to it
                second = self.bench("fillseq", check=False)
                self.assertGreater(second.returncode, 0)
                self.assertIn(str(first.pid), second.stdout + second.stderr)
            finally:
                first.kill()

    def test_loaded_at_run_time(self):
        program = os.environ["LOAD_AT_RUN_TIME"]
        self.assertEqual(run(program, PLUGIN, self.uri, preload=False).stdout, "ok\n")


if __name__ == "__main__":
    if os.environ.get("SANITIZE"):
        print("skipped: a sanitizer's runtime can't be preloaded into programs built without it")
        sys.exit(SKIP)
    for tool in ("db_bench", "ldb", "sst_dump", "nm", "readelf"):
        if shutil.which(tool) is None:
            print(f"skipped: {tool} is missing (scripts/setup installs it)")
            sys.exit(SKIP)
    unittest.main(verbosity=2)
