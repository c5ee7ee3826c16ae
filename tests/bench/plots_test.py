"""Plots: well-formed SVG of what they should show, the same bytes each time, colours that all readers can tell apart."""
import itertools
import re
import subprocess
import tempfile
import unittest
import pathlib
import xml.etree.ElementTree

from trial_case import ROOT
import plots

SVG = "{http://www.w3.org/2000/svg}"
BARS = {"plot": "bars", "label": "Rates", "axis": "operations/s", "panels": [
    {"title": "one", "bars": [{"name": "a", "value": 50, "text": "50/s"},
                              {"name": "b <$i$>", "value": 100, "low": 80, "high": 130, "text": "100/s · 2.00×"}]}]}

# What people without one kind of cones see, after Machado, Oliveira and Fernandes (2009), for linear RGB.
SEEN = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def root_of(text):
    return xml.etree.ElementTree.fromstring(text)


def texts(text):
    return [one.text for one in root_of(text).iter(SVG + "text")]


def extents(text, colour):
    """(x, width, y, height) of each shape of that colour."""
    for path in root_of(text).iter(SVG + "path"):
        if f"fill: {colour}" in path.get("style", ""):
            numbers = [float(number) for number in re.findall(r"-?[\d.]+", path.get("d"))]
            xs, ys = numbers[::2], numbers[1::2]
            yield min(xs), max(xs) - min(xs), min(ys), max(ys) - min(ys)


def lab(colour, matrix):
    """CIE Lab of "#rrggbb" as seen through `matrix`."""
    channels = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    r, g, b = (min(1, max(0, sum(row[i] * linear[i] for i in range(3)))) for row in matrix)
    xyz = ((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505, 0.2126 * r + 0.7152 * g + 0.0722 * b,
           (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089)
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


class Bars(unittest.TestCase):
    def test_lengths_are_to_scale(self):
        drawn = plots.svg(BARS)
        (_, short, _, _), (_, long, _, _) = (next(extents(drawn, colour)) for colour in plots.COLOURS[:2])
        self.assertAlmostEqual(short * 2, long, places=2)

    def test_axis_names_and_texts_are_written_as_they_are(self):
        found = texts(plots.svg(BARS))
        for text in ("operations/s", "one", "a", "b <$i$>", "50/s", "100/s · 2.00×"):
            self.assertIn(text, found)

    def test_the_line_of_a_bar_spans_its_turns(self):
        drawn = plots.svg(BARS)
        _, long, _, _ = next(extents(drawn, plots.COLOURS[1]))
        lines = [path for path in root_of(drawn).iter(SVG + "path") if f"stroke: {plots.INK}" in path.get("style", "")]
        spans = []
        for line in lines:
            numbers = [float(number) for number in re.findall(r"-?[\d.]+", line.get("d"))]
            spans.append(max(numbers[::2]) - min(numbers[::2]))
        self.assertAlmostEqual(max(spans), long * 0.5, places=2)

    def test_a_name_keeps_its_colour_where_another_is_missing(self):
        figure = {**BARS, "order": ["x", "a", "b <$i$>"]}
        self.assertEqual(len(list(extents(plots.svg(figure), plots.COLOURS[2]))), 1)

    def test_ticks_have_the_digits_that_they_need(self):
        drawn = [plots.plain_number(value, None) for value in (0, 0.01, 1.5, 4500, 15000, 2.5e6)]
        self.assertEqual(drawn, ["0", "0.01", "1.5", "4,500", "15k", "2.5M"])

    def test_all_zero_is_no_error(self):
        plots.svg({**BARS, "panels": [{"bars": [{"name": "a", "value": 0, "text": "0"}]}]})

    def test_no_panel_at_all_is_no_error(self):
        plots.svg({**BARS, "panels": []})


class Stacks(unittest.TestCase):
    FIGURE = {"plot": "stacks", "label": "Bytes", "axis": "MiB",
              "panels": [{"bars": [{"name": "a", "parts": {"data": 30, "log": 10, "none": 0}, "text": "40 MiB"}]}]}

    def test_parts_stand_behind_one_another_and_the_legend_names_them(self):
        drawn = plots.svg(self.FIGURE)
        bars = [path for path in root_of(drawn).iter(SVG + "path") if "fill: url(" in path.get("style", "") and path.get("clip-path")]
        ends = []
        for bar in bars:
            xs = [float(number) for number in re.findall(r"-?[\d.]+", bar.get("d"))][::2]
            ends.append((min(xs), max(xs)))
        self.assertEqual(len(ends), 2)
        self.assertAlmostEqual(ends[0][1], ends[1][0], places=2)
        self.assertIn("data", texts(drawn))
        self.assertNotIn("none", texts(drawn))


class Groups(unittest.TestCase):
    FIGURE = {"plot": "groups", "label": "Write amplification", "axis": "factor", "missing": "no space",
              "panels": [{"title": "zipf", "groups": ["60 %", "80 %"], "series": {"cold": [1.27, 2.44], "fill": [1.49, None]}}]}

    def test_each_bar_has_its_number_and_a_missing_one_says_so(self):
        found = texts(plots.svg(self.FIGURE))
        for text in ("1.27", "2.44", "1.49", "no space", "cold", "fill", "60 %", "80 %", "zipf"):
            self.assertIn(text, found)


class Curves(unittest.TestCase):
    FIGURE = {"plot": "curves", "label": "Rates", "axis": "seconds", "panels": [
        {"title": "linear", "axis": "bytes", "logarithmic": False, "series": {"a": [[0, 10], [1, 20], [2, 40]]}},
        {"title": "logarithmic", "axis": "µs", "logarithmic": True, "series": {"b": [[0, 1], [1, 10], [2, 100]]}}]}

    def heights(self, drawn):
        """Of the markers of each panel's curve, from its first point up."""
        uses = [use for use in root_of(drawn).iter(SVG + "use") if f"fill: {plots.COLOURS[0]}" in use.get("style", "")]
        self.assertEqual(len(uses), 8, "three points and a legend in each panel")
        return [[float(panel[0].get("y")) - float(use.get("y")) for use in panel[1:]] for panel in (uses[0:3], uses[4:7])]

    def test_points_are_to_the_scale_of_their_panel(self):
        drawn = plots.svg(self.FIGURE)
        linear, logarithmic = self.heights(drawn)
        self.assertAlmostEqual(linear[1] / linear[0], 3, places=1)
        self.assertAlmostEqual(logarithmic[1] / logarithmic[0], 2, places=1)
        for text in ("linear", "logarithmic", "bytes", "µs", "seconds", "a", "b"):
            self.assertIn(text, texts(drawn))


class Percentiles(unittest.TestCase):
    FIGURE = {"plot": "percentiles", "label": "Latency", "axis": "latency", "places": ["p50", "p99", "p99.9", "p99.99"],
              "series": {"a": [1, 10, None, 1000]}}

    def test_higher_is_slower_and_missing_points_are_left_out(self):
        drawn = plots.svg(self.FIGURE)
        uses = [use for use in root_of(drawn).iter(SVG + "use") if f"fill: {plots.COLOURS[0]}" in use.get("style", "")]
        heights = sorted({float(use.get("y")) for use in uses[:3]}, reverse=True)
        self.assertEqual(len(heights), 3)
        self.assertAlmostEqual(heights[0] - heights[1], (heights[1] - heights[2]) / 2, places=1)
        self.assertIn("1 ms", texts(drawn))


class Files(unittest.TestCase):
    def test_the_same_figure_gives_the_same_bytes_without_a_date(self):
        self.assertEqual(plots.svg(BARS), plots.svg(BARS))
        self.assertNotIn("dc:date", plots.svg(BARS))

    def test_a_file_carries_its_numbers_and_is_drawn_again_from_them(self):
        self.assertEqual(plots.numbers_of(plots.svg(BARS)), BARS)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.svg"
            path.write_text(plots.svg(BARS).replace(plots.COLOURS[1], "#123456"))
            subprocess.run([ROOT / "scripts" / "redraw-plots", path], check=True, capture_output=True)
            self.assertEqual(path.read_text(), plots.svg(BARS))

    def test_what_is_no_plot_is_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.svg"
            for text, saying in (("Dear reader", "is not a plot"), ('<svg xmlns="http://www.w3.org/2000/svg"/>', "carries no numbers")):
                path.write_text(text)
                run = subprocess.run([ROOT / "scripts" / "redraw-plots", path], capture_output=True, text=True, check=False)
                self.assertEqual((run.returncode, len(run.stderr.splitlines())), (1, 1), run.stderr)
                self.assertIn(saying, run.stderr)

    def test_nothing_depends_on_style_variables(self):
        self.assertNotIn("var(", plots.svg(BARS))


class Colours(unittest.TestCase):
    def test_everybody_can_tell_them_apart(self):
        for name, matrix in SEEN.items():
            for one, other in itertools.combinations(plots.COLOURS, 2):
                distance = sum((a - b) ** 2 for a, b in zip(lab(one, matrix), lab(other, matrix))) ** 0.5
                self.assertGreater(distance, 10, f"{one} and {other}, {name}")


if __name__ == "__main__":
    unittest.main()
