"""What is made of db_bench's output and of several samples; the size of databases; how numbers are shown."""
import json
import pathlib
import tempfile
import unittest

from trial_case import results, sample
from tooling.process import ProcessFailed
from trial import db_bench_output, numbers_text, results as document, sets, summary, ycsb
from trial.candidates import Place
from trial.zenfs_command import bytes_by_cause

OUTPUT = """RocksDB:    version 11.8.1
fillrandom   :       5.810 micros/op 171349 ops/sec 1.167 seconds 200000 operations;   19.0 MB/s
Microseconds per write:
Count: 200000 Average: 5.8096  StdDev: 550.06
Min: 1  Median: 2.1019  Max: 180574
Percentiles: P50: 2.10 P75: 2.74 P99: 5.87 P99.9: 35.45 P99.99: 4400.00
------------------------------------------------------
[       0,       1 ]     3665   1.833%   1.833%
waitforcompaction(/db): started
DB path: [/db]
readwhilewriting :      44.810 micros/op 22316 ops/sec 5.001 seconds 111611 operations;    2.4 MB/s (70999 of 111611 found)
Microseconds per read:
Count: 111611 Average: 44.8096  StdDev: 5.06
Min: 1  Median: 40.1019  Max: 1805
Percentiles: P50: 40.10 P75: 52.74 P99: 99.87 P99.9: 350.45 P99.99: 1440.00
------------------------------------------------------
Microseconds per write:
Count: 5230 Average: 9.1  StdDev: 5.06
Min: 1  Median: 8.1019  Max: 180
Percentiles: P50: 8.10 P75: 9.74 P99: 20.87 P99.9: 35.45 P99.99: 44.00
------------------------------------------------------
"""


class DbBenchOutput(unittest.TestCase):
    def test_a_result_has_its_rate_and_its_percentiles(self):
        result = db_bench_output.result_of(OUTPUT, "fillrandom")
        self.assertEqual((result.ops_per_second, result.operations, result.seconds), (171349, 200000, 1.167))
        self.assertEqual(len(result.histograms), 1)
        self.assertEqual(result.histograms[0].percentiles, {"p50": 2.1, "p99": 5.87, "p99.9": 35.45, "p99.99": 4400.0})
        self.assertEqual(result.histograms[0].max, 180574)

    def test_reads_beside_writes_have_a_histogram_each(self):
        result = db_bench_output.result_of(OUTPUT, "readwhilewriting")
        self.assertEqual([(one.kind, one.count) for one in result.histograms], [("read", 111611), ("write", 5230)])

    def test_what_was_not_run_has_no_result(self):
        self.assertIsNone(db_bench_output.result_of(OUTPUT, "readrandom"))
        self.assertIsNone(db_bench_output.result_of("", "fillrandom"))

    def test_a_name_with_a_repeat_count_is_found(self):
        line = "readrandom [X2 AVG] : 2.500 micros/op 400000 ops/sec 1.0 seconds 1000 operations;"
        self.assertEqual(db_bench_output.result_of(line, "readrandom").ops_per_second, 400000)


class YcsbOutput(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.engine = ycsb.Ycsb("/built")
        self.case = next(case for case in sets.ycsb() if case.name == "ycsb-a")._replace(keys=300)

    def result(self, reads, updates, failed=0):
        words = self.engine.words(self.case, self.case.phases[1], Place("/db", "zenfs://emu:x"), 0, False,
                                  pathlib.Path(self.folder.name))
        export = next(word.partition("=")[2] for word in words if word.startswith("exportfile="))
        entries = [("OVERALL", "Throughput(ops/sec)", 1500.0), ("OVERALL", "RunTime(ms)", 200)]
        for name, count in (("READ", reads), ("UPDATE", updates)):
            entries += [(name, "Operations", count), (name, "AverageLatency(us)", 9.5), (name, "MaxLatency(us)", 900),
                        (name, "99.9thPercentileLatency(us)", 77), (name, "50thPercentileLatency(us)", 7), (name, "Return=OK", count)]
        entries.append(("READ", "Return=ERROR", failed))
        pathlib.Path(export).write_text(json.dumps([dict(zip(("metric", "measurement", "value"), one)) for one in entries]))
        return words, self.engine.result(self.case.phases[1], "", pathlib.Path(self.folder.name))

    def test_the_most_frequent_operation_comes_first(self):
        words, result = self.result(100, 200)
        self.assertEqual((result.ops_per_second, result.operations), (1500, 300))
        self.assertEqual([one.kind for one in result.histograms], ["UPDATE", "READ"])
        self.assertEqual(result.histograms[0].percentiles, {"p50": 7, "p99.9": 77})
        self.assertEqual(self.engine.written(self.case.phases[1], result), ("random", 200))
        self.assertIn("rocksdb.env=zenfs://emu:x", words)
        self.assertIn("fieldlength=100", words)

    def test_an_operation_that_failed_is_no_result(self):
        with self.assertRaises(ProcessFailed) as caught:
            self.result(100, 200, failed=3)
        self.assertIn("ERROR 3 times", caught.exception.reason)
        self.assertIsNone(self.engine.result(self.case.phases[1], "", pathlib.Path("/no/where")))


class Summary(unittest.TestCase):
    def test_the_limit_is_the_ideal_with_the_times_of_the_same_device(self):
        samples = [sample("c", "p", name, 0, rate) for name, rate in
                   (("posix-tmpfs", 100), ("zenfs-zn540", 45), ("ideal-none", 300), ("ideal-zn540", 50))]
        rows = {row["candidate"]: row["of_limit"] for row in summary.summarise(samples, "posix-tmpfs")}
        self.assertEqual(rows, {"posix-tmpfs": None, "zenfs-zn540": 0.9, "ideal-none": None, "ideal-zn540": None})

    def test_ratios_are_of_the_turns_and_not_of_the_medians(self):
        samples = [sample("c", "p", "a", 0, 100), sample("c", "p", "a", 1, 200), sample("c", "p", "a", 2, 1000),
                   sample("c", "p", "b", 0, 110), sample("c", "p", "b", 1, 100), sample("c", "p", "b", 2, 900)]
        rows = {row["candidate"]: row for row in summary.summarise(samples, "a")}
        self.assertEqual(rows["b"]["ops_per_second"], 110)
        self.assertAlmostEqual(rows["b"]["ratio"]["ops_per_second"], 0.9)
        self.assertEqual(rows["a"]["ratio"]["ops_per_second"], 1)
        self.assertEqual(rows["b"]["ops_per_second_range"], [100, 900])

    def test_a_turn_that_one_side_lacks_is_left_out(self):
        samples = [sample("c", "p", "a", 0, 100), sample("c", "p", "b", 0, 50), sample("c", "p", "b", 1, 500)]
        rows = summary.summarise(samples, "a")
        self.assertEqual(rows[1]["ratio"]["ops_per_second"], 0.5)
        self.assertEqual(rows[1]["repetitions"], 2)

    def test_without_the_base_there_are_no_ratios(self):
        rows = summary.summarise([sample("c", "p", "b", 0, 50)], "a")
        self.assertIsNone(rows[0]["ratio"]["ops_per_second"])

    def test_candidates_of_a_phase_stand_together(self):
        samples = [sample("c", phase, name, 0, 1) for name in "ab" for phase in ("fill", "read")]
        self.assertEqual([(row["phase"], row["candidate"]) for row in summary.summarise(samples, "a")],
                         [("fill", "a"), ("fill", "b"), ("read", "a"), ("read", "b")])


class Causes(unittest.TestCase):
    def test_padding_is_no_data(self):
        values = {"data_bytes_total": 8192, "data_padding_bytes_total": 3192, "wal_bytes_total": 300,
                  "wal_padding_bytes_total": 3796, "metadata_bytes_total": 4096, "folded_bytes_total": 7, "reclaimed_bytes_total": 1000,
                  "finished_bytes_total": 9}
        self.assertEqual(bytes_by_cause({"values": values}), {"data": 5000, "wal": 300, "padding": 6988, "metadata": 4096,
                                                              "reclaim": 1007, "finish": 9})


class Sets(unittest.TestCase):
    def test_every_case_begins_with_a_write_and_names_its_phases_once(self):
        for name, (title, make) in sets.ALL.items():
            names = [case.name for case in make()]
            self.assertEqual(len(names), len(set(names)), name)
            for case in make():
                first = case.phases[0]
                self.assertTrue(first.distinct or "fillrandom" in first.after, f"{name} {case.name}")
                phases = [phase.name for phase in case.phases]
                self.assertEqual(len(phases), len(set(phases)), f"{name} {case.name}")

    def test_live_keys_are_those_expected_of_random_draws(self):
        case = sets.case("c", "", 84, 100 * 1000, sets.fill("fillrandom"))
        self.assertEqual(case.keys, 1000)
        self.assertEqual(sets.live_keys(case, [("all", 1000)]), 1000)
        self.assertEqual(sets.live_keys(case, [("random", 1000)]), 632)
        self.assertEqual(sets.live_keys(case, [("random", 1000), ("random", 1000)]), 865)

    def test_num_replaces_the_keys_of_every_case(self):
        self.assertEqual({case.keys for case in sets.with_keys(sets.base_performance(), 77)}, {77})


class Text(unittest.TestCase):
    def test_numbers_have_three_digits_that_matter(self):
        self.assertEqual([numbers_text.count(n) for n in (0.5, 99, 8123, 45678, 1234567)],
                         ["0.50", "99.0", "8,123", "45.7k", "1.23M"])
        self.assertEqual([numbers_text.micros(n) for n in (2.1, 35.45, 4400, 1.5e6)], ["2.10 µs", "35.5 µs", "4.40 ms", "1.50 s"])
        self.assertEqual([numbers_text.size(n) for n in (12, 2048, 5 << 20)], ["12 B", "2.00 KiB", "5.00 MiB"])
        self.assertEqual(numbers_text.times(None), "–")


class Document(unittest.TestCase):
    def test_a_run_is_as_the_schema_says(self):
        document.check(results([sample("random", "fillrandom", "a", 0, 10)], "a"))

    def test_what_is_missing_is_named(self):
        bad = results([sample("random", "fillrandom", "a", 0, 10)], "a")
        del bad["samples"][0]["cpu_us_per_op"]
        bad["machine"]["processors"] = "two"
        with self.assertRaises(ValueError) as caught:
            document.check(bad)
        self.assertIn("results.samples[0].cpu_us_per_op is missing", str(caught.exception))
        self.assertIn("results.machine.processors is 'two'", str(caught.exception))

    def test_another_schema_is_refused(self):
        with self.assertRaises(ValueError):
            document.check({**results([], "a"), "schema": "zenfs-bench-0"})


if __name__ == "__main__":
    unittest.main()
