"""scripts/bench peers without a guest: which units are pending, the lines of a guest, the tables, the mirror."""
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

from trial_case import ROOT

sys.path.insert(0, str(ROOT / "tests" / "vm"))
from peers import cases, packages  # noqa: E402
from peers.boots import News  # noqa: E402
from peers.results import Results, units_of  # noqa: E402
from peers.tables import Tables  # noqa: E402
from tooling.places import ToolError  # noqa: E402


def unit(repetition, candidate, case="fillseq"):
    return {"repetition": repetition, "case": case, "candidate": candidate}


def sample(of, rate, written=0, regular=0, phase="fillseq"):
    return {**of, "phase": phase, "ops_per_second": rate, "operations": 10, "seconds": 1.0, "latency_us": {"p99.9": 2e6 / rate},
            "cpu_us_per_op": 5.0, "zoned_written": written, "regular_written": regular, "zone_resets": 0}


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.results = self.open({"kernel": "7.3"})

    def open(self, setup):
        return Results(self.folder / "results.json", setup)


class Resuming(InFolder):
    units = [unit(0, "a"), unit(0, "b"), unit(1, "a")]

    def test_ended_units_are_not_pending_in_the_next_run(self):
        self.results.add(self.units[0], [sample(self.units[0], 5)], [])
        again = self.open({"kernel": "7.3"})
        self.assertEqual(again.pending(self.units), self.units[1:])
        self.assertEqual(again.samples, [sample(self.units[0], 5)])

    def test_failed_units_are_pending_again_on_request_only(self):
        self.results.add(self.units[0], [sample(self.units[0], 5)], [])
        self.results.add(self.units[1], [sample(self.units[1], 7)], [{**self.units[1], "reason": "no space", "tail": ""}])
        again = self.open({"kernel": "7.3"})
        self.assertEqual(again.pending(self.units), self.units[2:])
        again.forget_failures()
        self.assertEqual(again.pending(self.units), self.units[1:])
        self.assertEqual((again.samples, again.failures), ([sample(self.units[0], 5)], []))

    def test_results_of_other_programs_are_refused(self):
        self.results.write()
        with self.assertRaisesRegex(ToolError, "other kernel: remove it"):
            self.open({"kernel": "7.4"})

    def test_another_file_is_refused(self):
        for text in ("{}", "{"):
            (self.folder / "results.json").write_text(text)
            with self.assertRaises(ToolError):
                self.open({})

    def test_each_turn_begins_with_another_candidate(self):
        found = units_of(2, ["x", "y"], ["a", "b", "c"])
        self.assertEqual("".join(one["candidate"] for one in found), "abc" "bca" "bca" "cab")


class Lines(InFolder):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "lines"
        self.path.touch()
        self.news = News(self.path, self.results, lambda _: None)

    def write(self, *lines, end="\n"):
        with open(self.path, "a", encoding="utf-8") as file:
            file.write("\n".join(json.dumps(line) for line in lines) + end)
        self.assertFalse(self.news())

    def test_samples_count_when_their_unit_has_ended(self):
        self.write({"begin": unit(0, "a")}, {"sample": sample(unit(0, "a"), 5)})
        self.assertEqual((self.results.samples, self.news.begun), ([], unit(0, "a")))
        self.write({"end": unit(0, "a")})
        self.assertEqual((self.results.samples, self.news.begun), ([sample(unit(0, "a"), 5)], None))

    def test_half_a_line_waits_for_its_rest(self):
        self.write({"begin": unit(0, "a")})
        text = json.dumps({"end": unit(0, "a")})
        self.write(end=text[:9])
        self.assertEqual(self.results.ended, [])
        self.write(end=text[9:] + "\n")
        self.assertEqual(self.results.ended, [unit(0, "a")])

    def test_a_unit_with_a_lost_command_is_measured_again_twice(self):
        lost = {**sample(unit(0, "a"), 5), "lost_commands": 1}
        for _ in range(2):
            self.write({"begin": unit(0, "a")}, {"sample": lost}, {"end": unit(0, "a")})
            self.assertEqual(self.results.ended, [])
        self.write({"begin": unit(0, "a")}, {"sample": lost}, {"end": unit(0, "a")})
        self.assertEqual((self.results.ended, self.results.samples), ([unit(0, "a")], [lost]))

    def test_a_crash_does_not_end_a_unit(self):
        self.write({"begin": unit(0, "a")}, {"sample": sample(unit(0, "a"), 5)}, {"crashing": unit(0, "a")})
        self.write({"sample": sample(unit(0, "a"), 6)}, {"end": unit(0, "a")})
        self.assertEqual([one["ops_per_second"] for one in self.results.samples], [5, 6])


class Table(unittest.TestCase):
    def tables(self, samples, failures=(), outside=()):
        return Tables({"samples": samples, "failures": list(failures), "outside": list(outside)}, ["zenfs-dev", "xfs", "f2fs"],
                      {"fillseq": "", "room": ""})

    def text(self, samples, failures=()):
        return self.tables(samples, failures).text()

    def test_the_plot_has_medians_and_the_range_of_the_turns(self):
        rates = {"zenfs-dev": (100, 200, 400), "xfs": (50, 200, 100)}
        figure = self.tables([sample(unit(turn, name), rate) for name, all_of in rates.items() for turn, rate in enumerate(all_of)]).figure()
        self.assertEqual(figure["panels"], [{"title": "fillseq · fillseq", "bars": [
            {"name": "zenfs-dev", "value": 200, "low": 100, "high": 400, "text": "200/s"},
            {"name": "xfs", "value": 100, "low": 50, "high": 200, "text": "100/s · 0.50×"}]}])

    def test_ratios_are_those_of_each_turn(self):
        rates = {"zenfs-dev": (100, 200, 400), "xfs": (50, 200, 100)}
        text = self.text([sample(unit(turn, name), rate) for name, all_of in rates.items() for turn, rate in enumerate(all_of)])
        self.assertIn("| fillseq: fillseq | 200 | 100 (0.50) |", text)
        self.assertIn("Medians of 3 turns", text)

    def test_bytes_of_the_regular_drive_stand_apart_and_count(self):
        text = self.text([sample(unit(0, "zenfs-dev"), 1, 100_000_000), sample(unit(0, "xfs"), 1, 90_000_000, 60_000_000)])
        self.assertIn("| fillseq: fillseq | 100.0 | 90.0 + 60.0 (1.50) |", text)

    def test_processor_time_stands_where_it_was_measured(self):
        text = self.text([{**sample(unit(0, "zenfs-dev"), 1), "cpu_us_per_op": 20.0}, {**sample(unit(0, "xfs"), 1), "cpu_us_per_op": None}])
        self.assertIn("| fillseq: fillseq | 20.0 µs | – |", text)

    def test_who_has_failed_says_so(self):
        text = self.text([sample(unit(0, "zenfs-dev"), 100), sample(unit(0, "xfs", "room"), 5, phase="room")],
                         [{**unit(0, "xfs"), "reason": "no space", "tail": ""}])
        self.assertIn("| fillseq: fillseq | 100 | fails |", text)
        self.assertIn("- fillseq on xfs, turn 1: no space", text)
        self.assertIn("| MiB of synced files until an error | – | 40 |", text)


    def test_bytes_and_room_in_the_guest_stand_beside_those_outside(self):
        samples = [sample(unit(0, "zenfs-dev"), 1, 100_000_000), sample(unit(0, "zenfs-dev", "room"), 1, 40_000_000, phase="room")]
        outside = [{"case": "fillseq", "phase": "fillseq", "written": 99_000_000, "operations": 10},
                   {"case": "room", "phase": "room", "written": 44_000_000, "operations": 11},
                   {"case": "room", "phase": "not-in-the-guest", "written": 1, "operations": 1}]
        text = self.tables(samples, outside=outside).text()
        self.assertIn("| fillseq: fillseq | 100.0 | 99.0 | 0.99 |  |  |", text)
        self.assertIn("| room: room | 40.0 | 44.0 | 1.10 | 40 | 44 |", text)
        self.assertNotIn("not-in-the-guest", text)


class Sizes(unittest.TestCase):
    def test_cold_data_reaches_each_level(self):
        phases = next(case for case in cases.CASES if case.name == "full").phases
        cold = 0
        for level in cases.LEVELS:
            cold += sum(one.keys * cases.LARGE_FILE for one in phases if one.name == f"cold-{level}")
            self.assertAlmostEqual((cold + cases.HOT_BYTES) / cases.CAPACITY, level / 100, delta=0.002)

    def test_no_phase_has_the_name_of_another(self):
        for case in cases.CASES:
            self.assertEqual(len({one.name for one in case.phases}), len(case.phases), case.name)


class Mirror(unittest.TestCase):
    def test_it_is_that_of_the_release_itself(self):
        shown = "bookworm-security http://s/\nbookworm-updates http://m/\nbookworm http://m/debian/\n"
        with mock.patch.object(packages, "call", return_value=shown):
            self.assertEqual(packages.mirror(), "http://m/debian/")
        with mock.patch.object(packages, "call", return_value=""), self.assertRaises(ToolError):
            packages.mirror()


if __name__ == "__main__":
    unittest.main()
