#!/usr/bin/env python3
"""RocksDB programs of those who come from the older ZenFS: databases on its devices, and what its own scripts do, in their order."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ZENFS = os.environ["ZENFS"]
VOLUME_TOOL = os.environ["VOLUME_TOOL"]
PLUGIN = os.environ["LIBZENFS"]


class OlderZenFs(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="zenfs-older-")
        self.addCleanup(shutil.rmtree, self.directory)
        self.image = os.path.join(self.directory, "device.img")
        self.run_ok(ZENFS, "emu", "create", self.image, "--zones=64", "--zone-size=4M", "--max-open=14", "--max-active=14")

    def run_any(self, *command, preload=False):
        environment = dict(os.environ, XDG_CONFIG_HOME=self.directory)
        environment.pop("LD_PRELOAD", None)
        if preload:
            environment["LD_PRELOAD"] = PLUGIN
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, cwd=self.directory)

    def run_ok(self, *command, preload=False):
        result = self.run_any(*command, preload=preload)
        self.assertEqual(result.returncode, 0, f"{command}\n{result.stdout}{result.stderr}")
        return result.stdout

    def scan(self, *place):
        return self.run_ok("ldb", "scan", "--hex", *place, preload=True)

    def bench(self, *flags):
        return self.run_ok("db_bench", "--num=20000", "--value_size=800", "--histogram", "--write_buffer_size=2097152",
                           "--target_file_size_base=2097152", *flags, preload=True)

    def test_a_database_is_read_where_it_is_and_written_after_the_upgrade(self):
        on_host = os.path.join(self.directory, "db")
        # The last memtable is not written at the end, so the log has its keys.
        self.bench(f"--db={on_host}", "--benchmarks=fillrandom")
        copy = os.path.join(self.directory, "copy")
        shutil.copytree(on_host, copy)
        expected = self.scan(f"--db={copy}")
        self.assertGreater(expected.count("\n"), 10000)
        with subprocess.Popen([VOLUME_TOOL, "device", self.image], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as tool:
            out, _ = tool.communicate(f"older-copy {on_host}\n")
        self.assertNotIn("error", out)
        uri = f"--fs_uri=zenfs://emu:{self.image}"
        read_only = self.run_any("ldb", "scan", "--hex", uri + "?ro", "--db=db", preload=True)
        self.assertEqual(read_only.returncode, 0, read_only.stderr)
        self.assertEqual(read_only.stdout, expected)
        refused = self.run_any("ldb", "put", uri, "--db=db", "a", "b", preload=True)
        self.assertIn("zenfs upgrade takes it over in place", refused.stdout + refused.stderr)

        self.run_ok(ZENFS, "upgrade", f"--emu={self.image}", "--yes")
        self.assertEqual(self.scan(uri, "--db=db"), expected)
        self.run_ok("ldb", "put", uri, "--db=db", "a", "b", preload=True)
        self.assertIn("b", self.run_ok("ldb", "get", uri, "--db=db", "a", preload=True))
        self.run_ok(ZENFS, "check", f"--emu={self.image}", "--read-data")

    def test_its_scripts_run_and_a_restore_over_other_files_wants_force(self):
        device = f"--emu={self.image}"
        uri = f"--fs_uri=zenfs://emu:{self.image}"
        aux = os.path.join(self.directory, "aux")
        self.run_ok(ZENFS, "mkfs", device, f"--aux-path={aux}", "--force", "--finish-threshold=5")
        for benchmark, *flags in (["fillseq"], ["fillrandom"], ["overwrite", "--use_existing_db"],
                                  ["readwhilewriting", "--use_existing_db", "--duration=2"]):
            out = self.bench(uri, f"--benchmarks={benchmark}", "--db=rocksdbtest/dbbench", *flags)
            self.assertRegex(out, rf"{benchmark}\s+:")
        listed = self.run_ok(ZENFS, "list", device, "--path=rocksdbtest/dbbench").splitlines()
        self.assertGreater(len(listed), 3)
        self.run_ok(ZENFS, "df", device)
        saved = pathlib.Path(self.directory, "backup")
        self.run_ok(ZENFS, "backup", device, f"--path={saved}")
        self.assertEqual(len(os.listdir(saved / "rocksdbtest/dbbench")), len(listed))
        expected = self.scan(uri, "--db=rocksdbtest/dbbench")
        self.assertEqual(self.scan(f"--db={saved}/rocksdbtest/dbbench"), expected)  # it writes to the backup: its MANIFEST differs now

        shutil.copy(saved / "write_lifetime_hints.dat", saved / "rocksdbtest/dbbench")
        restore = [ZENFS, "restore", device, f"--path={saved}/rocksdbtest/dbbench/", "--restore-path=rocksdbtest/dbbench"]
        before = self.run_ok(ZENFS, "list", device, "--path=rocksdbtest/dbbench")
        refused = self.run_any(*restore)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("--force", refused.stderr)
        self.assertEqual(self.run_ok(ZENFS, "list", device, "--path=rocksdbtest/dbbench"), before)
        self.run_ok(*restore, "--force")
        self.assertEqual(self.scan(uri, "--db=rocksdbtest/dbbench"), expected)


if __name__ == "__main__":
    if os.environ.get("SANITIZE"):
        print("skipped: a sanitizer's runtime can't be preloaded into programs built without it")
        sys.exit(77)
    for program in ("db_bench", "ldb"):
        if shutil.which(program) is None:
            print(f"skipped: {program} is missing (scripts/setup installs it)")
            sys.exit(77)
    unittest.main(verbosity=2)
