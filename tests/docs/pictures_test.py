"""The pictures of the documentation, drawn by a renderer other than a browser: librsvg, which file managers and converters to PDF use."""
import io
import pathlib
import shutil
import subprocess
import sys
import unittest

import matplotlib.image
import numpy

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
PICTURES = sorted(DOCS.glob("**/*.svg"))
GAP = 4     # pixels: a hatch may interrupt a shape
STEP = 4    # pixels: lengths that differ less are the same


def pixels(svg):
    """Red, green and blue, 0 to 255, on white paper."""
    run = subprocess.run(["rsvg-convert", "--zoom=1.5", "--background-color=white"], input=svg, capture_output=True, check=True)
    image = matplotlib.image.imread(io.BytesIO(run.stdout), format="png")
    return (image[:, :, :3] * 255).round().astype(int)


def shapes_of(image):
    """The share of the image that is not background, and a mask for each colour, greys left out, that takes a thousandth of that."""
    codes = image[:, :, 0] << 16 | image[:, :, 1] << 8 | image[:, :, 2]
    values, counts = numpy.unique(codes, return_counts=True)
    drawn = codes.size - counts.max()
    masks = []
    for value, count in zip(values, counts):
        channels = [value >> 16, value >> 8 & 255, value & 255]
        if max(channels) - min(channels) > 40 and count > max(20, drawn / 1000):
            masks.append(codes == value)
    return drawn / codes.size, masks


def lengths(mask):
    """The different lengths of what is drawn along the rows of `mask`."""
    found = {}
    for row in mask:
        at = numpy.flatnonzero(row)
        for run in numpy.split(at, numpy.flatnonzero(numpy.diff(at) > GAP) + 1) if at.size else ():
            found.setdefault((run[-1] - run[0]) // STEP, []).append(1)
    return {length for length, rows in found.items() if len(rows) > 4}  # one row may be the end of a letter


def complaints(svg):
    """What is wrong with the picture, as a list of words."""
    image = pixels(svg)
    drawn, masks = shapes_of(image)
    found = []
    if drawn < 0.02:
        found.append("blank")
    if (image.max(axis=2) < 60).mean() > 0.1:
        found.append("black")
    if len(masks) < 2:
        found.append("without colours")
    if max((max(len(lengths(mask)), len(lengths(mask.T))) for mask in masks), default=0) < 3:
        found.append("of equal lengths")
    return found


def drawing(shapes):
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="400" height="200">{shapes}</svg>'.encode()


def bars(fill, widths):
    return "".join(f'<rect x="20" y="{10 + 30 * row}" width="{width}" height="20" {fill}/>' for row, width in enumerate(widths))


class Pictures(unittest.TestCase):
    def test_each_is_drawn_with_colours_and_different_lengths(self):
        self.assertTrue(PICTURES)
        for path in PICTURES:
            with self.subTest(path.name):
                self.assertEqual(complaints(path.read_bytes()), [])


class WhatIsRefused(unittest.TestCase):
    BLUE, ORANGE = 'fill="#0072b2"', 'fill="#e69f00"'

    def test_colours_that_only_a_style_variable_has(self):
        self.assertEqual(complaints(drawing("<style>:root { --c0: #2563eb; }</style>" + bars('style="fill:var(--c0)"', [350] * 5))),
                         ["black", "without colours", "of equal lengths"])

    def test_a_blank_picture(self):
        self.assertIn("blank", complaints(drawing("")))

    def test_bars_of_one_length(self):
        self.assertEqual(complaints(drawing(bars(self.BLUE, [200] * 3) + f'<g transform="translate(0 100)">{bars(self.ORANGE, [200] * 3)}</g>')),
                         ["of equal lengths"])

    def test_bars_of_one_colour(self):
        self.assertEqual(complaints(drawing(bars(self.BLUE, [50, 100, 200, 300]))), ["without colours"])

    def test_nothing_of_a_good_picture(self):
        self.assertEqual(complaints(drawing(bars(self.BLUE, [50, 100, 200]) +
                                            f'<g transform="translate(0 100)">{bars(self.ORANGE, [80, 120, 240])}</g>')), [])


if __name__ == "__main__":
    if not shutil.which("rsvg-convert"):
        print("!!! pictures: NOT RUN, no rsvg-convert (Debian: librsvg2-bin)")
        sys.exit(77)
    unittest.main()
