"""scripts/bench as a program, with a db_bench that does what a test wants. Needs ZENFS, the command."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

from trial_case import ROOT
from trial import results

PLACE = "/dev/shm"
FAKE = """#!{python}
import os, pathlib, sys, time
flags = dict(word.lstrip("-").split("=", 1) for word in sys.argv[1:] if "=" in word)
if "--version" in sys.argv:
    print("db_bench version 0.0.0"); sys.exit()
folder = pathlib.Path(flags["db"]); folder.mkdir(parents=True, exist_ok=True)
name = flags["benchmarks"].split(",")[0]
fail = os.environ.get("FAKE_FAIL", "")
if fail and fail in flags["db"] and name == os.environ.get("FAKE_PHASE", name):
    if os.environ.get("FAKE_HOW") == "hang":
        print("waiting for ever", flush=True); time.sleep(600)
    print("put error: No space left on device", flush=True); sys.exit(3)
with open(folder / "000001.sst", "ab") as file:
    file.write(b"x" * 50000)
with open(os.environ["FAKE_LOG"], "a") as log:
    log.write(flags["db"].split("/")[2] + " " + name + " " + flags["use_existing_db"] + "\\n")
print(f"{{name:12}} :       2.000 micros/op 500000 ops/sec 0.2 seconds 1000 operations;")
print("Microseconds per write:\\nCount: 1000 Average: 2.0  StdDev: 1.0\\nMin: 1  Median: 2.0  Max: 9\\n"
      "Percentiles: P50: 2.00 P75: 2.10 P99: 5.00 P99.9: 8.00 P99.99: 9.00")
"""


class Run(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="zenfs-bench-test-", dir=PLACE)
        self.addCleanup(self.folder.cleanup)
        self.dir = pathlib.Path(self.folder.name)
        fake = self.dir / "db_bench"
        fake.write_text(FAKE.format(python=sys.executable))
        fake.chmod(0o755)
        (self.dir / "a").mkdir()
        (self.dir / "b").mkdir()
        self.log = self.dir / "log"
        self.words = [sys.executable, "-B", str(ROOT / "scripts" / "bench"), "--build", os.path.dirname(os.environ["ZENFS"]),
                      f"--db-bench={fake}", f"--place={self.dir}", f"--out={self.dir}/out", "--num=1000", "--seconds=1",
                      f"--candidate=a=posix:{self.dir}/a", f"--candidate=b=posix:{self.dir}/b"]

    def start(self, *more, **environment):
        return subprocess.Popen([*self.words, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "FAKE_LOG": str(self.log), **environment})

    def bench(self, *more, **environment):
        process = self.start(*more, **environment)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def nothing_left(self):
        self.assertEqual([path.name for place in "ab" for path in (self.dir / place).iterdir()], [])
        self.assertEqual([path.name for path in self.dir.iterdir() if path.name.startswith("zenfs-bench-")], [])

    def test_a_candidate_with_options_of_an_unknown_profile_is_refused(self):
        code, _, err = self.bench("--candidate=c=zenfs-floppy?wal:blocking")
        self.assertNotEqual(code, 0)
        self.assertIn("zenfs-bufferless", err)
        self.assertFalse(self.log.exists(), "something was measured")

    def test_candidates_take_turns_and_leave_nothing(self):
        code, out, err = self.bench("--repetitions=2")
        self.assertEqual((code, err), (0, ""), out)
        found = results.read(self.dir / "out" / "results.json")
        turns = [(one["case"], one["repetition"], one["candidate"]) for one in found["samples"] if one["phase"].startswith("fill")]
        self.assertEqual(turns, [(case, turn, name) for case in ("fillseq", "random") for turn in (0, 1) for name in "ab"])
        self.assertEqual({row["phase"] for row in found["summary"]}, {"fillseq", "fillrandom", "readrandom"})
        self.assertEqual(found["programs"]["rocksdb"], "0.0.0")
        sample = found["samples"][0]
        self.assertGreater(sample["device_bytes"]["host"], 49999)
        self.assertGreater(sample["cpu_us_per_op"], 0)
        self.assertGreaterEqual(sample["used_bytes"], 50000)
        self.assertIn("fillseq, fillseq", out)
        self.assertIn("<svg", (self.dir / "out" / "index.html").read_text())
        self.nothing_left()

    def test_the_second_phase_finds_what_the_first_made(self):
        self.bench("--repetitions=1")
        self.assertEqual([line.split()[1:] for line in self.log.read_text().splitlines()][2:4],
                         [["fillrandom", "0"], ["readrandom", "1"]])

    def test_a_failure_is_told_with_its_output_and_the_others_go_on(self):
        code, out, err = self.bench("--repetitions=2", FAKE_FAIL=f"{self.dir}/b/", FAKE_PHASE="fillrandom")
        self.assertEqual(code, 1)
        self.assertIn("random, fillrandom on b: db_bench ended with status 3", err)
        self.assertIn("    | put error: No space left on device", err)
        self.assertEqual(err.count("ended with status"), 1, "what failed is not tried again")
        found = results.read(self.dir / "out" / "results.json")
        self.assertEqual([(one["case"], one["candidate"]) for one in found["failures"]], [("random", "b")])
        self.assertEqual({one["candidate"] for one in found["samples"] if one["phase"] == "readrandom"}, {"a"})
        self.assertEqual({one["candidate"] for one in found["samples"] if one["phase"] == "fillseq"}, {"a", "b"})
        self.assertIn("FAILED: random fillrandom on b", out)
        self.nothing_left()

    def test_what_hangs_is_killed_and_told(self):
        code, _, err = self.bench("--repetitions=1", "--patience=1", FAKE_FAIL=f"{self.dir}/a/", FAKE_PHASE="fillseq", FAKE_HOW="hang")
        self.assertEqual(code, 1)
        self.assertIn("fillseq, fillseq on a: db_bench had not ended after 1 s and was killed", err)
        self.assertIn("| waiting for ever", err)
        self.nothing_left()

    def test_an_interrupt_ends_everything_and_cleans_up(self):
        process = self.start(FAKE_FAIL=f"{self.dir}/b/", FAKE_PHASE="fillseq", FAKE_HOW="hang")
        while not any((self.dir / "b").glob("*/db")):  # until the one that hangs has begun
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertIn("interrupted", err)
        self.nothing_left()

    def test_refusals_name_what_is_wrong(self):
        for words, saying in ((["nonsense"], "there is no set 'nonsense'"),
                              (["--case=nonsense"], "--case nonsense: no case of quick"),
                              (["--candidate=nonsense"], "there is no candidate 'nonsense'"),
                              (["--candidate=c=ftp://x"], "with options, zenfs://... nor posix:DIRECTORY"),
                              (["--candidate=a=posix:/tmp"], "given twice"),
                              (["--candidate=posix-disk=zenfs://dev:x"], "a name of its own"),
                              (["--candidate=c=posix:/no/where"], "/no/where is not a directory"),
                              (["--candidate=c=zenfs://emu:/no/where.img"], "/no/where.img"),
                              (["--candidate=c=zenfs://emu:/x.img?ro"], "read-only"),
                              (["--num=100000000000"], "take a smaller --num"),
                              (["--place=/proc"], "not on a tmpfs"),
                              (["--db-bench=/no/db_bench"], "/no/db_bench is missing")):
            code, out, err = self.bench(*words)
            self.assertEqual((code, out), (2, ""), words)
            self.assertIn(saying, err)
            self.assertEqual(err.count("\n"), 1, err)
        self.nothing_left()

    def test_only_the_cases_that_are_named_run(self):
        code, _, _ = self.bench("--repetitions=1", "--case=random")
        self.assertEqual(code, 0)
        found = results.read(self.dir / "out" / "results.json")
        self.assertEqual([one["name"] for one in found["cases"]], ["random"])
        self.assertEqual({one["case"] for one in found["samples"]}, {"random"})

    def test_a_volume_that_is_named_is_never_formatted(self):
        image = self.dir / "device.img"
        subprocess.run([os.environ["ZENFS"], "emu", "create", image, "--zones=16", "--zone-size=4M"], check=True,
                       stdout=subprocess.DEVNULL)
        before = image.read_bytes()
        code, _, err = self.bench(f"--candidate=c=zenfs://emu:{image}")
        self.assertEqual(code, 2)
        self.assertIn("never formats a device", err)
        self.assertEqual(image.read_bytes(), before)

    def test_the_list_names_sets_and_candidates(self):
        code, out, _ = self.bench("--list", "--json=-")
        self.assertEqual(code, 0)
        listed = json.loads(out)
        self.assertIn("base-performance", [one["name"] for one in listed["sets"]])
        self.assertIn("ideal-zn540", [one["name"] for one in listed["candidates"]])


if __name__ == "__main__":
    unittest.main()
