"""The page: every plot is well-formed SVG with what it should show, whatever the names hold."""
import re
import unittest
import xml.etree.ElementTree

from trial_case import results, sample
from trial import plot_svg
from trial.page import Page

SVG = "{http://www.w3.org/2000/svg}"


def parsed(text):
    return xml.etree.ElementTree.fromstring(text)


def rects(root, colour):
    return [rect for rect in root.iter(SVG + "rect") if rect.get("style") == f"fill:var(--{colour})"]


class Bars(unittest.TestCase):
    def test_lengths_are_to_scale(self):
        root = parsed(plot_svg.bars([{"name": "a", "colour": "c0", "value": 50, "text": "50", "note": ""},
                                     {"name": "b", "colour": "c1", "value": 100, "text": "100", "note": "2.00×"}], "t"))
        short, long = (float(rects(root, colour)[0].get("width")) for colour in ("c0", "c1"))
        self.assertAlmostEqual(short * 2, long)
        self.assertIn("2.00×", [text.text for text in root.iter(SVG + "text")])

    def test_a_whisker_stays_within_the_plot(self):
        root = parsed(plot_svg.bars([{"name": "a", "colour": "c0", "value": 5, "low": 4, "high": 80, "text": "", "note": ""}], "t"))
        ends = [float(line.get("x2")) for line in root.iter(SVG + "line")]
        self.assertEqual(len(ends), 3)
        self.assertLessEqual(max(ends), plot_svg.WIDTH - plot_svg.VALUES)

    def test_all_zero_is_no_error(self):
        parsed(plot_svg.bars([{"name": "a", "colour": "c0", "value": 0, "text": "", "note": ""}], "t"))


class Lines(unittest.TestCase):
    def test_higher_is_slower_and_missing_points_are_left_out(self):
        svg = plot_svg.lines([{"name": "a", "colour": "c0", "values": [1, 10, None, 1000]}], ("w", "x", "y", "z"), "t", str)
        points = list(parsed(svg).iter(SVG + "circle"))
        heights = [float(point.get("cy")) for point in points]
        self.assertEqual(len(points), 3)
        self.assertEqual(heights, sorted(heights, reverse=True))
        self.assertAlmostEqual(heights[0] - heights[1], (heights[1] - heights[2]) / 2, places=0)

    def test_without_values_there_is_no_plot(self):
        self.assertEqual(plot_svg.lines([{"name": "a", "colour": "c0", "values": [None]}], ("w",), "t", str), "")

    def test_ticks_enclose_the_values(self):
        self.assertEqual(plot_svg.log_ticks(2, 850), [1, 10, 100, 1000])
        self.assertEqual(plot_svg.log_ticks(10, 10), [10, 100])


class Stacks(unittest.TestCase):
    def test_parts_stand_behind_one_another(self):
        root = parsed(plot_svg.stacks([{"name": "a", "parts": [("x", "c0", 30), ("y", "c1", 10), ("none", "c2", 0)],
                                        "text": ""}], "t", str))
        first, second = rects(root, "c0")[0], rects(root, "c1")[0]
        self.assertAlmostEqual(float(first.get("x")) + float(first.get("width")), float(second.get("x")), places=1)
        self.assertEqual(rects(root, "c2"), [])


class WholePage(unittest.TestCase):
    def setUp(self):
        samples = [sample("random", phase, name, turn, rate) for turn in range(2) for name, rate in (("a", 100), ("b<i>", 150))
                   for phase in ("fillrandom", "readrandom")]
        failures = [{"case": "random", "phase": "overwrite", "candidate": "b<i>", "reason": "ended with status 1",
                     "tail": "put error: <no space>"}]
        self.results = results(samples, "a", failures)
        self.page = Page(self.results).render()

    def test_it_is_whole_and_loads_nothing(self):
        self.assertTrue(self.page.startswith("<!doctype html>"))
        for word in ("<script", "src=", "http://", "https://", "@import", "url("):
            self.assertNotIn(word, self.page.replace('xmlns="http://www.w3.org/2000/svg"', ""), word)
        self.assertIn("prefers-color-scheme: dark", self.page)

    def test_every_plot_is_well_formed(self):
        plots = re.findall(r"<svg.*?</svg>", self.page, re.S)
        self.assertEqual(len(plots), 2 * 4 + 1)  # throughput, latency, CPU and bytes of both phases; space of the case
        for plot in plots:
            parsed(plot)

    def test_the_figure_has_the_throughput_of_each_phase_and_its_own_colours(self):
        figure = Page(self.results).figure()
        root = parsed(figure)
        self.assertEqual(len(rects(root, "track")), 2 * 2)
        short, long = (float(rects(root, colour)[0].get("width")) for colour in ("c0", "c1"))
        self.assertAlmostEqual(short * 1.5, long, places=1)
        self.assertIn("--c1: #", figure)

    def test_names_and_output_are_text(self):
        self.assertNotIn("b<i>", self.page)
        self.assertNotIn("<no space>", self.page)
        self.assertIn("put error: &lt;no space&gt;", self.page)
        self.assertIn("Z80 &lt;A&amp;B&gt;", self.page)

    def test_what_has_a_limit_is_compared_with_it(self):
        self.assertNotIn("to its limit", self.page)
        samples = [sample("random", "readrandom", name, 0, rate) for name, rate in
                   (("posix", 100), ("zenfs-zn540", 45), ("ideal-zn540", 50))]
        page = Page(results(samples, "posix")).render()
        self.assertIn("<th>zenfs-zn540 to its limit</th>", page)
        self.assertIn("0.90×", page)

    def test_it_says_how_the_figures_came_about(self):
        for text in ("1.50×", "scripts/bench quick", "db_bench --num=10", "RocksDB", "11.8.1", "geometric mean"):
            self.assertIn(text, self.page)


if __name__ == "__main__":
    unittest.main()
