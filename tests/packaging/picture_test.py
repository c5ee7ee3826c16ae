"""The picture of the dashboard in the documentation shows panels that the dashboard has, drawn by scripts/draw-dashboard.

usage: picture_test.py SOURCE_DIR BUILD_DIR
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

SOURCE, BUILD = (pathlib.Path(path) for path in sys.argv[1:3])
del sys.argv[1:3]
os.environ["BUILD"] = str(BUILD)
import prometheus  # noqa: E402


def figure_of(path):
    """The numbers that a plot carries (bench/plots.py)."""
    return json.loads(next(xml.etree.ElementTree.parse(path).iter("{http://purl.org/dc/elements/1.1/}description")).text)


class Picture(unittest.TestCase):
    @unittest.skipIf(shutil.which("db_bench") is None and os.environ.get("CI") != "true", "NOT RUN: there is no db_bench; see scripts/packages.txt")
    def test_it_is_drawn_from_the_queries_of_the_dashboard(self):
        prometheus.program("prometheus")  # or it is not run
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([SOURCE / "scripts" / "draw-dashboard", "--seconds=10", f"--output={folder}/now.svg"], check=True, timeout=240)
            now = figure_of(f"{folder}/now.svg")["panels"]
        for panel in now:
            self.assertTrue(panel["series"], panel["title"])
        shown = figure_of(SOURCE / "docs" / "dashboard.svg")["panels"]
        self.assertEqual([panel["title"] for panel in shown], [panel["title"] for panel in now])


if __name__ == "__main__":
    unittest.main()
