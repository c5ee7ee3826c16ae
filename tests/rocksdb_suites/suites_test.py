#!/usr/bin/env python3
"""Tests of scripts/rocksdb-tests itself, with a program that behaves as badly as a test program can."""
import io
import os
import pathlib
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent / "scripts")]

from tooling.places import BUILD_ROOT, ToolError  # noqa: E402
from tooling.screen import Screen  # noqa: E402

from rocksdb_suites import command, differences, gtest_program, programs, report, running  # noqa: E402
from rocksdb_suites.candidates import Zenfs  # noqa: E402
from rocksdb_suites.gtest_program import Case  # noqa: E402

FAKE = pathlib.Path(__file__).resolve().parent / "fake_tests.py"


def run_fake(cases, part=(0, 1), seconds=60):
    environment = dict(os.environ, FAKE_CASES=cases)
    listed = gtest_program.list_cases(FAKE, environment)
    with tempfile.TemporaryDirectory() as directory:
        return gtest_program.run_cases(FAKE, listed, part, environment, directory, io.BytesIO(), seconds, lambda *_: None)


class FakeBuilder:
    def program(self, name):
        if name == "b":
            raise ToolError("b can't be built: undefined reference")


class BuildTest(unittest.TestCase):
    def test_program_that_can_not_be_built_is_told_and_the_others_are_built(self):
        selected = [programs.Program(name, "uri", 1, 0, 60) for name in "abc"]
        unbuilt = command.build_programs(FakeBuilder(), selected, Screen(io.StringIO()))
        self.assertEqual(unbuilt, {"b": "b can't be built: undefined reference"})

    def test_program_that_was_not_built_is_a_failure(self):
        result = running.not_run("b", "b can't be built: undefined reference")
        self.assertEqual(report.failures(result), 1)
        self.assertIn("NOT RUN: b can't be built", report.line(result))


class ProgramTest(unittest.TestCase):
    def test_every_case_has_its_verdict(self):
        results = run_fake("A.One=pass A.Two=fail B/A.Three/0=skip B/A.DISABLED_Four=fail")
        self.assertEqual({name: case.verdict for name, case in results.items()},
                         {"A.One": "passed", "A.Two": "failed", "B/A.Three/0": "skipped"})
        self.assertIn("wanted more", results["A.Two"].evidence)

    def test_case_that_kills_the_program_is_named_and_the_rest_runs(self):
        results = run_fake("A.One=pass A.Two=die A.Three=exit A.Four=pass")
        self.assertEqual([case.verdict for case in results.values()], ["passed", "died", "died", "passed"])
        self.assertIn("about to die", results["A.Two"].evidence)
        self.assertIn("SIGSEGV", results["A.Two"].evidence)
        self.assertIn("status 3", results["A.Three"].evidence)

    def test_hanging_case_is_named_and_the_rest_runs(self):
        results = run_fake("A.One=pass A.Two=hang A.Three=pass", seconds=1)
        self.assertEqual([case.verdict for case in results.values()], ["passed", "hung", "passed"])

    def test_parts_are_all_cases_once(self):
        cases = " ".join(f"A.Case{number}={'die' if number == 4 else 'pass'}" for number in range(7))
        parts = [run_fake(cases, part=(index, 3)) for index in range(3)]
        self.assertEqual([len(part) for part in parts], [3, 2, 2])
        self.assertEqual(len(set().union(*parts)), 7)


def compare(posix, zenfs, listed="", again=None):
    """The result of a program whose cases got these verdicts, and do so again, or on ZenFS those of `again`."""
    runner = running.Runner.__new__(running.Runner)
    runner.listed, runner.screen = differences.parse(listed), Screen(io.StringIO())
    verdicts = {"posix": posix, "zenfs": zenfs}
    second = {"posix": posix, "zenfs": again or zenfs}

    def cases_of(verdicts):
        return {case: Case(verdict, 0, "evidence") for case, verdict in verdicts.items()}

    runner.run_part = lambda _, candidate, part, again: cases_of(second[candidate.name])
    results = {name: cases_of(first) for name, first in verdicts.items()}
    return runner.result(programs.Program("p_test", "uri"), results, 1)


class ComparisonTest(unittest.TestCase):
    def test_same_verdicts_are_no_difference(self):
        both = {"A.One": "passed", "A.Two": "failed", "A.Three": "skipped"}
        result = compare(both, both)
        self.assertEqual((result.differences, result.also_on_posix, report.failures(result)), ([], ["A.Two"], 0))

    def test_failure_that_nobody_listed_fails_the_run_and_is_shown(self):
        for verdict in ("failed", "died", "hung", "skipped"):
            result = compare({"A.One": "passed"}, {"A.One": verdict})
            self.assertEqual(report.failures(result), 1, verdict)
            self.assertIn("evidence", "\n".join(report.details(result)))

    def test_case_that_is_missing_on_zenfs_fails_the_run(self):
        self.assertEqual(report.failures(compare({"A.One": "passed", "A.Two": "passed"}, {"A.One": "passed"})), 1)

    def test_case_that_passes_when_all_is_run_again_is_unsteady(self):
        first, again = {"A.One": "failed", "A.Two": "failed"}, {"A.One": "passed", "A.Two": "failed"}
        result = compare({"A.One": "passed", "A.Two": "passed"}, first, again=again)
        self.assertEqual(result.unsteady, ["A.One on zenfs"])
        self.assertEqual([one.case for one in result.differences], ["A.Two"])

    def test_listed_failure_is_expected(self):
        result = compare({"A.One": "passed"}, {"A.One": "failed"}, "it is about POSIX:\np_test A.O*\n")
        self.assertEqual([one.reason for one in result.differences], ["it is about POSIX"])
        self.assertEqual(report.failures(result), 0)

    def test_listed_failure_that_passes_fails_the_run(self):
        listed = "it is about POSIX:\np_test A.*\n"
        result = compare({"A.One": "passed", "A.Two": "passed"}, {"A.One": "failed", "A.Two": "passed"}, listed)
        self.assertEqual(report.failures(result), 1)
        self.assertEqual(report.failures(compare({"B.One": "passed"}, {"B.One": "passed"}, listed)), 1)

    def test_failure_of_the_volume_fails_the_run(self):
        result = compare({"A.One": "passed"}, {"A.One": "passed", running.WHOLE: "failed"})
        self.assertEqual(report.failures(result), 1)

    def test_incomplete_run_counts_as_a_failure(self):
        with tempfile.NamedTemporaryFile("r") as file:
            report.write_json(file.name, [compare({"A.One": "passed"}, {"A.One": "passed"})], complete=False)
            self.assertRegex(file.read(), '"failures": 1')


class DeviceTest(unittest.TestCase):
    def test_program_that_did_not_write_the_device_is_found_out(self):
        if not (BUILD_ROOT / "release" / "zenfs").exists():
            self.skipTest(f"there is no {BUILD_ROOT}/release/zenfs")
        with tempfile.TemporaryDirectory() as work:
            with Zenfs(pathlib.Path(work), None, programs.Program("p_test", "uri")) as device:
                self.assertIn("was not written", device.verdict())
                self.assertIn(f"zenfs://emu:{device.device}", device.environment()["TEST_FS_URI"])
            self.assertEqual(list(pathlib.Path(work).iterdir()), [])


class ListTest(unittest.TestCase):
    def test_lists_in_the_tree_are_readable(self):
        names = [program.name for program in programs.all_programs()]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual({one.program for one in differences.listed()}, set(names))

    def test_odd_lines_are_refused_with_their_number(self):
        with self.assertRaisesRegex(ToolError, "programs.txt:2"):
            programs.parse("a_test uri\nb_test file\n")
        with self.assertRaisesRegex(ToolError, "differences.txt:1"):
            differences.parse("a_test A.One\n")


if __name__ == "__main__":
    unittest.main()
