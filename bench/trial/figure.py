"""Several plots of plot_svg below each other as one SVG that needs no page: for the documentation."""
import pathlib

from trial import plot_svg

TITLE = 34  # height of the title of a plot
GAP = 12
STYLE = pathlib.Path(__file__).with_name("page.css")


def style():
    """The colours of the page of scripts/bench, and its rules for plots."""
    lines = STYLE.read_text(encoding="utf-8").splitlines()
    colours = lines[:next(number for number, line in enumerate(lines) if line.startswith("* {"))]
    return "\n".join(colours + [line for line in lines if line.startswith("svg ")])


def figure(label, plots):
    """`plots`: the title of each, and its rows as plot_svg.bars takes them."""
    drawing = plot_svg.Svg(0, label)
    for title, rows in plots:
        drawing.text(8, drawing.height + TITLE - 12, title, "value")
        drawing.height += TITLE
        bars = plot_svg.bars(rows, title)
        inside = bars[bars.index(">") + 1:bars.rindex("</svg>")]
        drawing.parts.append(f'<g transform="translate(0 {drawing.height})">{inside}</g>')
        drawing.height += plot_svg.ROW * len(rows) + 4 + GAP
    drawing.parts.insert(0, f"<style>{style()}\nsvg {{ background: var(--panel); }}</style>")
    return drawing.render() + "\n"
