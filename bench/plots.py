"""Draws every plot of the benches and studies, with matplotlib, as SVG.

A plot is a dict of plain values ("figure"), as bars(), stacks(), groups(), percentiles() and curves() take it. "order", if a figure has it, is
the order of the names for their colours (not in curves()). Colours are those of Okabe and Ito, which colour-blind people can tell apart;
hatches and markers tell them apart in print. The same figure gives the same bytes. A file carries its numbers in its metadata: numbers_of() returns them, and scripts/redraw-plots draws the file again.
"""
import io
import json
import math
import sys
import xml.etree.ElementTree

try:
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, MaxNLocator
except ImportError as error:
    sys.exit(f"{sys.executable} cannot draw plots: {error}; install python3-matplotlib (scripts/setup) and use Debian's /usr/bin/python3")

from trial import numbers_text as show

INK, SOFT, GRID = "#1b2127", "#5b6671", "#dde2e6"
COLOURS = ("#757575", "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442")
HATCHES = ("", "//", "\\\\", "xx", "--", "||", "++", "////")  # of lines: those of dots make a file three times as large
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
SETTINGS = {
    "svg.hashsalt": "zenfs", "svg.fonttype": "none", "text.parse_math": False,
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans", "Liberation Sans", "Arial"], "font.size": 8.5,
    "text.color": INK, "axes.labelcolor": SOFT, "axes.edgecolor": SOFT, "xtick.color": SOFT, "ytick.color": INK,
    "axes.titlesize": 9.5, "axes.titleweight": "bold", "axes.titlelocation": "left", "axes.titlepad": 7,
    "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True, "axes.grid": True, "grid.color": GRID,
    "grid.linewidth": 0.7, "hatch.linewidth": 0.7, "legend.frameon": False, "errorbar.capsize": 2.5,
}
WIDTH = 7.6  # inches
ROW = 0.25   # height of a horizontal bar with its gap, inches
LETTER = 5   # about the width of a letter, points


def hatched(number):
    """The look of the bars of series `number` if only the legend names them; the hatch takes the colour of the edge."""
    return {"color": COLOURS[number % len(COLOURS)], "hatch": HATCHES[number % len(HATCHES)], "edgecolor": "white", "linewidth": 0}


def legend_above(axes, *what, columns):
    axes.legend(*what, loc="lower left", bbox_to_anchor=(-0.01, 1.1 if axes.get_title("left") else 1.0), ncols=columns, borderaxespad=0.2,
                columnspacing=1.4)


def numbers_by_name(figure, names):
    return {name: number for number, name in enumerate(dict.fromkeys([*figure.get("order", ()), *names]))}


def new_figure(width, height):
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasSVG(figure)
    return figure


def plain_number(value, _):
    for limit, divisor, unit in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if value >= limit:
            return f"{value / divisor:g}{unit}"
    return f"{value:,.4g}"


def horizontal(axes, panel, label):
    """Prepares a panel with one row a bar, the first at the top, and returns the rows' places."""
    names = [bar["name"] for bar in panel["bars"]]
    places = list(range(len(names)))
    axes.set_yticks(places, names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")
    axes.set_xlabel(label)
    axes.xaxis.set_major_formatter(FuncFormatter(plain_number))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    if panel.get("title"):
        axes.set_title(panel["title"])
    return places


def end_texts(axes, places, ends, panel, columns):
    """Writes each bar's text behind its end, and makes room for it."""
    points = 72 * panel_width(columns) - 20 - LETTER * max(len(bar["name"]) for bar in panel["bars"])
    longest = max(len(bar["text"]) for bar in panel["bars"])
    axes.set_xlim(0, (max(ends) or 1) / max(0.3, 1 - (10 + LETTER * longest) / points))
    for place, end, bar in zip(places, ends, panel["bars"]):
        axes.annotate(bar["text"], (end, place), xytext=(5, 0), textcoords="offset points", va="center", color=INK)


def columns_of(panels):
    return 1 if len(panels) < 2 else 2


def panel_width(columns):
    return WIDTH / 2 if columns == 2 else WIDTH * 0.74


def horizontal_panels(figure, more_height, draw):
    """Calls draw(axes, places, panel) for each panel, which returns the ends of the bars; as high as the bars need."""
    panels = figure["panels"]
    columns = columns_of(panels)
    rows = max(1, math.ceil(len(panels) / columns))
    heights = [0.75 + ROW * max((len(panel["bars"]) for panel in panels[row * columns:(row + 1) * columns]), default=0) for row in range(rows)]
    drawing = new_figure(columns * panel_width(columns), sum(heights) + more_height)
    grid = drawing.add_gridspec(rows, columns, height_ratios=heights)
    for number, panel in enumerate(panels):
        axes = drawing.add_subplot(grid[number // columns, number % columns])
        places = horizontal(axes, panel, figure["axis"])
        end_texts(axes, places, draw(axes, places, panel), panel, columns)
    if figure.get("note"):
        drawing.supxlabel(figure["note"], fontsize=8, color=SOFT, x=0.01, ha="left")
    return drawing


def bars(figure):
    """{"axis": label with unit, "note", "panels": [{"title", "bars": [{"name", "value", "text"}]}]}. "low" and "high" of a bar, if
    given, are the range of its turns. A name has the same colour in all panels."""
    numbers = numbers_by_name(figure, [bar["name"] for panel in figure["panels"] for bar in panel["bars"]])

    def draw(axes, places, panel):
        for place, bar in zip(places, panel["bars"]):
            axes.barh(place, bar["value"], 0.7, color=COLOURS[numbers[bar["name"]] % len(COLOURS)])
            if bar.get("high", 0) > bar.get("low", 0):
                axes.errorbar(bar["value"], place, xerr=[[max(0, bar["value"] - bar["low"])], [max(0, bar["high"] - bar["value"])]],
                              fmt="none", ecolor=INK, elinewidth=1)
        return [max(bar["value"], bar.get("high", 0)) for bar in panel["bars"]]

    return horizontal_panels(figure, 0.2 if figure.get("note") else 0, draw)


def stacks(figure):
    """As bars(), but each bar has "parts", {name: value}, one behind the other; a legend names the parts."""
    parts = dict.fromkeys(part for panel in figure["panels"] for bar in panel["bars"] for part in bar["parts"])
    numbers = numbers_by_name(figure, parts)

    def draw(axes, places, panel):
        shown = {}
        for place, bar in zip(places, panel["bars"]):
            start = 0
            for part, value in bar["parts"].items():
                if value > 0:
                    shown[part] = axes.barh(place, value, 0.7, left=start, **hatched(1 + numbers[part]))
                    start += value
        in_order = [part for part in numbers if part in shown]
        legend_above(axes, [shown[part] for part in in_order], in_order, columns=3)
        return [sum(bar["parts"].values()) for bar in panel["bars"]]

    return horizontal_panels(figure, 0.18 * math.ceil(len(parts) / 3), draw)


def groups(figure):
    """{"axis", "panels": [{"title", "groups": [names], "series": {name: [a value or None for each group]}}]}, bars upwards. None
    has no bar, but "missing" as its text."""
    panels = figure["panels"]
    numbers = numbers_by_name(figure, [name for panel in panels for name in panel["series"]])
    most = max((value for panel in panels for values in panel["series"].values() for value in values if value), default=1)
    columns = columns_of(panels)
    rows = max(1, math.ceil(len(panels) / columns))
    drawing = new_figure(columns * panel_width(columns), 2.6 * rows + 0.4)
    all_axes = drawing.subplots(rows, columns, squeeze=False, sharey=True).flatten()
    for axes in all_axes[len(panels):]:
        axes.remove()
    for axes, panel in zip(all_axes, panels):
        room = 0.84 / len(panel["series"])
        for number, (name, values) in enumerate(panel["series"].items()):
            places = [group + (number - (len(panel["series"]) - 1) / 2) * room for group in range(len(values))]
            axes.bar(places, [value or 0 for value in values], room * 0.92, label=name, **hatched(1 + numbers[name]))
            for place, value in zip(places, values):
                axes.annotate(f"{value:.2f}" if value is not None else figure["missing"], (place, value or 0), xytext=(0, 2),
                              textcoords="offset points", ha="center", va="bottom", fontsize=6.5,
                              rotation=0 if value is not None else 90)
        axes.set_xticks(range(len(panel["groups"])), panel["groups"], color=INK)
        axes.tick_params(axis="x", length=0)
        axes.grid(False, axis="x")
        axes.set_ylim(0, most * 1.12)
        axes.set_title(panel["title"])
        axes.set_xlabel(figure.get("group_axis", ""))
        if axes.get_subplotspec().is_first_col():
            axes.set_ylabel(figure["axis"])
    if panels:
        legend_above(all_axes[0], columns=4)
    return drawing


def percentiles(figure):
    """{"axis", "places": [names], "series": {name: [microseconds or None for each place]}}, a line for each series over the places;
    logarithmic upwards."""
    drawing = new_figure(panel_width(1), 2.7)
    axes = drawing.subplots()
    numbers = numbers_by_name(figure, figure["series"])
    for name, values in figure["series"].items():
        number = numbers[name]
        known = [(place, value) for place, value in enumerate(values) if value]
        axes.plot([place for place, _ in known], [value for _, value in known], color=COLOURS[number % len(COLOURS)],
                  marker=MARKERS[number % len(MARKERS)], markersize=5, linewidth=1.6, markeredgecolor="white", markeredgewidth=0.6, label=name)
    axes.set_yscale("log")
    values = [value for series in figure["series"].values() for value in series if value]
    axes.set_ylim(10.0 ** math.floor(math.log10(min(values)) - 1e-9), 10.0 ** math.ceil(math.log10(max(values)) + 1e-9))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: show.micros(value).replace(".00", "").replace(".0 ", " ")))
    axes.yaxis.set_minor_formatter(FuncFormatter(lambda *_: ""))
    axes.set_xticks(range(len(figure["places"])), figure["places"], color=INK)
    axes.set_xlim(-0.3, len(figure["places"]) - 0.7)
    axes.set_ylabel(figure["axis"])
    legend_above(axes, columns=3)
    return drawing


def curves(figure):
    """{"axis", "panels": [{"title", "axis": label with unit, "logarithmic": bool, "series": {name: [[x, y]]}}]}, lines over time, each
    panel with a legend of its own."""
    panels = figure["panels"]
    columns = columns_of(panels)
    rows = max(1, math.ceil(len(panels) / columns))
    drawing = new_figure(columns * panel_width(columns), 3.0 * rows)
    all_axes = drawing.subplots(rows, columns, squeeze=False).flatten()
    for axes in all_axes[len(panels):]:
        axes.remove()
    for axes, panel in zip(all_axes, panels):
        for number, (name, points) in enumerate(panel["series"].items()):
            axes.plot([x for x, _ in points], [y for _, y in points], color=COLOURS[number % len(COLOURS)], label=name, linewidth=1.4,
                      marker=MARKERS[number % len(MARKERS)], markersize=4, markevery=max(1, len(points) // 6))
        if panel["logarithmic"]:
            axes.set_yscale("log")
            axes.yaxis.set_minor_formatter(FuncFormatter(lambda *_: ""))
        else:
            axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(FuncFormatter(plain_number))
        axes.set_title(panel["title"])
        axes.set_ylabel(panel["axis"])
        axes.set_xlabel(figure["axis"])
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
    return drawing


KINDS = {"bars": bars, "stacks": stacks, "groups": groups, "percentiles": percentiles, "curves": curves}


def svg(figure, with_numbers=True):
    """`figure` has "plot", a name of KINDS, and "label", its text for those who do not see it, besides what the kind takes."""
    nothing = {key: None for key in ("Creator", "Date", "Format", "Type")}
    numbers = {"Title": figure["label"], "Description": json.dumps(figure, ensure_ascii=False)} if with_numbers else {}
    out = io.StringIO()
    with matplotlib.rc_context(SETTINGS):
        KINDS[figure["plot"]](figure).savefig(out, format="svg", metadata={**nothing, **numbers})
    return "".join(line.rstrip() + "\n" for line in out.getvalue().splitlines())


def inline(figure):
    """For a page: without what only a file has."""
    text = svg(figure, with_numbers=False)
    return text[text.index("<svg"):]


def numbers_of(text):
    """The figure that the file was drawn from. Raises ValueError if it carries none."""
    try:
        found = next(xml.etree.ElementTree.fromstring(text).iter("{http://purl.org/dc/elements/1.1/}description"), None)
        figure = json.loads(found.text) if found is not None else None
    except (xml.etree.ElementTree.ParseError, json.JSONDecodeError) as error:
        raise ValueError(f"is not a plot: {error}") from error
    if not isinstance(figure, dict) or figure.get("plot") not in KINDS:
        raise ValueError("carries no numbers: it was not drawn by bench/plots.py")
    return figure
