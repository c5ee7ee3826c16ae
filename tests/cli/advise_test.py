"""Options that suit a device: what the programs that read them make of them."""
import pathlib
import re
import shutil
import subprocess
import unittest

from cli_case import CliCase

MIB = 1 << 20
SHAPE = ["--zones=256", "--zone-size=32M", "--zone-capacity=17M", "--max-open=14", "--max-active=14"]
DB_BENCH = shutil.which("db_bench")


class AdviseTest(CliCase):
    def setUp(self):
        super().setUp()
        self.make_device(*SHAPE)

    def advise(self, *words):
        return self.ok("advise", f"--emu={self.image}", "--memory=1G", "--jobs=4", *words)

    def options(self):
        answer = self.ok_json("advise", f"--emu={self.image}", "--memory=1G", "--jobs=4")
        return {one["option"]: one for one in answer["options"]}

    def test_each_option_has_its_reason(self):
        text = self.advise()
        for name, option in self.options().items():
            self.assertIn(name, text)
            self.assertTrue(option["why"])
        self.assertIn("fills a zone of 17.0 MiB", text)

    def test_what_is_too_little_is_refused_in_words(self):
        emu = f"--emu={self.image}"
        self.fails("advise", emu, "--memory=1", saying="--memory: '1' is too little: memtables and the block cache need 8 MiB at least")
        self.fails("advise", emu, "--memory=0", saying="--memory: '0' is too little")
        self.fails("advise", emu, "--jobs=0", saying="--jobs: '0' is not a whole number from 1 to 128")
        self.ok("advise", emu, "--memory=8M", "--jobs=1")

    def test_a_device_without_a_file_system_is_enough(self):
        self.assertEqual(self.options()["target_file_size_base"]["value"], str(16 * MIB))

    def database_made_by(self, *flags):
        """What RocksDB says that it understood: the OPTIONS file of a database."""
        self.assertIsNotNone(DB_BENCH, "this test needs db_bench (Debian: rocksdb-tools)")
        path = pathlib.Path(self.dir) / "db"
        done = subprocess.run([DB_BENCH, f"--db={path}", "--benchmarks=fillseq", "--num=100", *flags], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        newest = max(path.glob("OPTIONS-*"))
        return dict(re.findall(r"^\s*(\w+)=(.*)$", newest.read_text(), re.M))

    def written(self, name, text):
        file = pathlib.Path(self.dir) / name
        file.write_text(text)
        return file

    def test_rocksdb_loads_the_options_file(self):
        found = self.database_made_by(f"--options_file={self.written('options.ini', self.advise('--format=options'))}")
        for name, option in self.options().items():
            self.assertEqual(found[name], option["value"], name)

    def test_db_bench_takes_the_flags(self):
        found = self.database_made_by(f"--flagfile={self.written('flags', self.advise('--format=db_bench'))}")
        for name in ("target_file_size_base", "write_buffer_size", "max_compaction_bytes", "max_background_jobs"):
            self.assertEqual(found[name], self.options()[name]["value"], name)

    def test_my_cnf_has_every_option_once(self):
        text = self.advise("--format=mycnf")
        self.assertEqual(text.splitlines()[0], "[mysqld]")
        column_family = re.search(r"^rocksdb_default_cf_options=(.*)$", text, re.M).group(1)
        pairs = dict(pair.split("=") for pair in column_family.split(";"))
        pairs |= dict(re.findall(r"^rocksdb_(?!default_cf)(\w+)=(.*)$", text, re.M))
        self.assertEqual(pairs, {name: option["value"] for name, option in self.options().items()})

    def test_a_device_that_is_too_small_is_refused_in_one_line(self):
        self.make_device("--zones=6", "--zone-size=1M", "--force")
        self.fails("advise", f"--emu={self.image}", saying="6 usable zones, and ZenFS needs at least 8")

    def test_an_unknown_format_is_refused(self):
        self.fails("advise", f"--emu={self.image}", "--format=xml", saying="--format")


if __name__ == "__main__":
    unittest.main()
