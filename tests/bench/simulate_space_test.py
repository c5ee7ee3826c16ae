"""scripts/simulate-space as a program. Needs ZENFS_SIMULATE_SPACE, the simulator that it runs."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("ZENFS_SIMULATE_SPACE", "zenfs_simulate_space"))
SVG = "{http://www.w3.org/2000/svg}"
SHORT = ["--device=small", "--workload=leveled", "--device-writes=1", "--warmup=1"]
HEADER = ("zenfs-trace 1 zone_size=16777216 zone_capacity=12582912 zones=64 metadata_zones=3 block_size=4096 max_open=14 "
          "max_active=14\n")


class SimulateSpace(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="zenfs-space-test-")
        self.addCleanup(self.folder.cleanup)
        self.dir = pathlib.Path(self.folder.name)

    def run_tool(self, *words):
        done = subprocess.run([sys.executable, "-B", str(ROOT / "scripts" / "simulate-space"), f"--build={PROGRAM.parent}", *words],
                              capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stdout, done.stderr

    def results(self, *words):
        status, out, err = self.run_tool("--json", *words)
        self.assertEqual((status, err), (0, ""))
        return json.loads(out)["runs"]

    def fails(self, *words, saying, status=2):
        found, out, err = self.run_tool(*words)
        self.assertEqual(found, status, err)
        self.assertEqual(out, "")
        self.assertIn(saying, err)
        self.assertNotIn("Traceback", err)
        return err

    def test_every_policy_has_a_row_for_each_live_share(self):
        status, out, err = self.run_tool(*SHORT, "--live=50,80")
        self.assertEqual((status, err), (0, ""))
        lines = out.splitlines()
        self.assertEqual(len(lines), 1 + 2 * 4)
        self.assertIn("leveled, 50 % live", lines[1])
        for number, policy in enumerate(("lifetime", "cold", "upstream", "fill")):
            self.assertIn(policy, lines[1 + number])
        self.assertNotIn("\r", out)

    def test_figures_depend_on_the_seed_alone(self):
        def figures(*words):
            return [{key: value for key, value in run.items() if key != "seconds"} for run in self.results(*SHORT, "--live=80", *words)]
        first = figures("--jobs=1")
        self.assertEqual(first, figures("--jobs=3"))
        self.assertNotEqual(first, figures("--seed=2"))
        for run in first:
            self.assertAlmostEqual(
                run["write_amplification"],
                (run["user_bytes"] + run["copied_bytes"] + run["padding_bytes"]) / run["user_bytes"])
            self.assertEqual(len(run["samples"]), 20)

    def test_trace_of_a_workload_gives_the_figures_of_the_workload(self):
        trace = self.dir / "trace"
        words = ["--workload=zipf", "--live=0.7", "--file-mib=1", "--zones=64", "--zone-mib=64", "--capacity-mib=48", "--writes=2",
                 f"--write-trace={trace}"]
        made = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=True)
        direct = json.loads(made.stdout.splitlines()[-1])
        replayed = self.results(str(trace), "--policy=lifetime")[0]
        self.assertEqual(replayed["trace"], "trace")
        for key in ("user_bytes", "copied_bytes", "zones_copied", "resets"):
            self.assertEqual(replayed[key], direct[key], key)

    def test_trace_runs_on_a_larger_device(self):
        trace = self.dir / "trace"
        trace.write_text(HEADER + "0 begin\n1 create 5 table medium\n2 close 5 3000000\n3 end\n")
        run = self.results(str(trace), "--scale=10", "--device=100t", "--policy=fill")[0]
        self.assertEqual((run["zones"], run["user_bytes"], run["no_space"]), (93000, 30000000, False))

    def test_plot_has_a_bar_for_each_run(self):
        plot = self.dir / "plot.svg"
        self.assertEqual(self.run_tool(*SHORT, "--live=50,80", f"--svg={plot}")[0], 0)
        texts = [text.text for text in xml.etree.ElementTree.fromstring(plot.read_text()).iter(SVG + "text")]
        for name in ("50 %", "80 %", "lifetime", "fill", "upstream"):
            self.assertIn(name, texts)
        self.assertEqual(len([text for text in texts if re.fullmatch(r"\d+\.\d\d", text)]), 8)

    def test_each_trace_has_a_panel(self):
        plot = self.dir / "plot.svg"
        self.assertEqual(self.run_tool("--device=small", "--workload=uniform,zipf", "--device-writes=1", "--live=50", f"--svg={plot}")[0], 0)
        texts = [text.text for text in xml.etree.ElementTree.fromstring(plot.read_text()).iter(SVG + "text")]
        self.assertIn("uniform", texts)
        self.assertIn("zipf", texts)

    def test_full_device_is_a_result(self):
        status, out, _ = self.run_tool(*SHORT, "--live=150", "--policy=fill")
        self.assertEqual(status, 0)
        self.assertIn("no space", out)

    def test_bad_traces_are_one_line(self):
        (self.dir / "other").write_text("Dear reader\n")
        (self.dir / "version").write_text("zenfs-trace 7 x\n")
        (self.dir / "damaged").write_text(HEADER + "0 begin\n1 delete 5\n2 end\n")
        for name, saying in (("missing", "there is no such trace"), ("other", "is not a trace"), ("version", "version 7"),
                             ("damaged", "line 3 is damaged"), (".", "can't be read")):
            err = self.fails(str(self.dir / name), saying=saying)
            self.assertEqual(len(err.splitlines()), 1, err)

    def test_bad_arguments_are_one_line(self):
        self.assertEqual(self.fails("--policy=size", saying="no policy 'size'; the policies are lifetime").count("\n"), 1)
        self.fails("--workload=btree", saying="no workload 'btree'")
        self.fails("x", "--workload=zipf", saying="either traces or --workload")
        self.fails("--device=floppy", saying="invalid choice")
        self.fails("--live=0", saying="--live")
        self.fails(*SHORT, "--live=50", "--policy=fill", "--zones=5", saying="too small")

    def test_help_and_list_name_what_there_is(self):
        self.assertIn("--policy", self.run_tool("--help")[1])
        _, out, _ = self.run_tool("--list")
        for word in ("lifetime", "upstream", "leveled", "zipf", "100t"):
            self.assertIn(word, out)


if __name__ == "__main__":
    unittest.main()
