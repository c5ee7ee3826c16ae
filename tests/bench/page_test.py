"""The page: every plot is well-formed SVG with what it should show, whatever the names hold."""
import re
import unittest
import xml.etree.ElementTree

from trial_case import results, sample
import plots
from trial.page import Page


def parsed(text):
    return xml.etree.ElementTree.fromstring(text)


class WholePage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        samples = [sample("random", phase, name, turn, rate) for turn in range(2) for name, rate in (("a", 100), ("b<i>", 150))
                   for phase in ("fillrandom", "readrandom")]
        failures = [{"case": "random", "phase": "overwrite", "candidate": "b<i>", "reason": "ended with status 1",
                     "tail": "put error: <no space>"}]
        cls.results = results(samples, "a", failures)
        cls.page = Page(cls.results).render()

    def test_it_is_whole_and_loads_nothing(self):
        self.assertTrue(self.page.startswith("<!doctype html>"))
        for word in ("<script", "src=", "http://", "https://", "@import"):
            self.assertNotIn(word, re.sub(r'xmlns(:xlink)?="[^"]*"', "", self.page), word)
        self.assertEqual(re.findall(r"(?:url\(|href=[\"'])(?!#)[^)\"']*", self.page), [])
        self.assertIn("prefers-color-scheme: dark", self.page)

    def test_every_plot_is_well_formed(self):
        plots = re.findall(r"<svg.*?</svg>", self.page, re.S)
        self.assertEqual(len(plots), 2 * 4 + 1)  # throughput, latency, CPU and bytes of both phases; space of the case
        for plot in plots:
            parsed(plot)

    def test_the_figure_has_the_throughput_of_each_phase(self):
        figure = Page(self.results).figure()
        self.assertEqual([panel["title"] for panel in figure["panels"]], ["random · fillrandom", "random · readrandom"])
        for panel in figure["panels"]:
            self.assertEqual([(bar["name"], bar["value"], bar["text"]) for bar in panel["bars"]],
                             [("a", 100, "100/s"), ("b<i>", 150, "150/s · 1.50×")])
        self.assertIn("b&lt;i&gt;", plots.svg(figure))

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
