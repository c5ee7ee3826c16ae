"""Plots as SVG that takes its colours from the page's style sheet, so that they follow its light and dark form.

Colours are names of CSS variables ("c0", "cause-data"). All lengths are units of the view box; the page scales it.
"""
import math
from xml.sax.saxutils import escape, quoteattr

WIDTH = 560
LABEL = 132   # for the names on the left
VALUES = 150  # for the numbers on the right
ROW = 26
BAR = 15


class Svg:
    def __init__(self, height, label):
        self.height, self.label, self.parts = height, label, []

    def element(self, name, title=None, text=None, **attributes):
        pairs = "".join(f" {key.rstrip('_').replace('_', '-')}={quoteattr(str(value))}" for key, value in attributes.items()
                        if value is not None)
        inside = (f"<title>{escape(title)}</title>" if title else "") + (escape(text) if text else "")
        self.parts.append(f"<{name}{pairs}>{inside}</{name}>" if inside else f"<{name}{pairs}/>")

    def rect(self, x, y, width, height, colour, title=None, **more):
        self.element("rect", title, x=round(x, 2), y=round(y, 2), width=round(max(0, width), 2), height=round(height, 2),
                     style=f"fill:var(--{colour})", **more)

    def line(self, x1, y1, x2, y2, class_):
        self.element("line", x1=round(x1, 2), y1=round(y1, 2), x2=round(x2, 2), y2=round(y2, 2), class_=class_)

    def text(self, x, y, text, class_="", anchor="start"):
        self.element("text", text=text, x=round(x, 2), y=round(y, 2), class_=class_ or None,
                     text_anchor=None if anchor == "start" else anchor)

    def render(self):
        return (f'<svg viewBox="0 0 {WIDTH} {round(self.height)}" role="img" aria-label={quoteattr(self.label)} '
                f'xmlns="http://www.w3.org/2000/svg">{"".join(self.parts)}</svg>')


def bars(rows, label):
    """A bar for each row: dict(name, colour, value, text, note, verdict, low, high, title). The longest fills the width;
    low and high, if given, are drawn as a whisker, `second` as a lighter part behind the bar's end."""
    svg = Svg(ROW * len(rows) + 4, label)
    room = WIDTH - LABEL - VALUES
    most = max((max(row.get("high", 0), row["value"] + row.get("second", 0)) for row in rows), default=0) or 1
    for number, row in enumerate(rows):
        y = ROW * number + 2
        middle = y + ROW / 2
        svg.text(LABEL - 10, middle + 4.5, row["name"], "name", "end")
        svg.rect(LABEL, middle - BAR / 2, room, BAR, "track", rx=3)
        svg.rect(LABEL, middle - BAR / 2, row["value"] / most * room, BAR, row["colour"], row.get("title"), rx=3)
        if row.get("second"):
            svg.rect(LABEL + row["value"] / most * room, middle - BAR / 2, row["second"] / most * room, BAR, row["colour"],
                     row.get("second_title"), rx=3, opacity=0.35)
        if row.get("high", 0) > row.get("low", 0):
            low, high = (LABEL + row[end] / most * room for end in ("low", "high"))
            svg.line(low, middle, high, middle, "whisker")
            for x in (low, high):
                svg.line(x, middle - 3.5, x, middle + 3.5, "whisker")
        svg.text(LABEL + room + 74, middle + 4.5, row["text"], "value", "end")
        svg.text(WIDTH - 4, middle + 4.5, row.get("note", ""), "note " + row.get("verdict", ""), "end")
    return svg.render()


def log_ticks(low, high):
    """Powers of ten that enclose both, at least one decade."""
    first = math.floor(math.log10(low))
    last = max(math.ceil(math.log10(high)), first + 1)
    return [10.0 ** power for power in range(first, last + 1)]


def lines(series, places, label, text_of):
    """A line for each of `series`, dict(name, colour, values), over the named `places`; logarithmic upwards."""
    values = [value for one in series for value in one["values"] if value]
    if not values:
        return ""
    ticks = log_ticks(min(values), max(values))
    top, bottom, left, right = 10, 176, 64, WIDTH - 26
    svg = Svg(bottom + 26, label)

    def height_of(value):
        share = (math.log10(value) - math.log10(ticks[0])) / (math.log10(ticks[-1]) - math.log10(ticks[0]))
        return bottom - share * (bottom - top)

    xs = [left + 30 + i * (right - left - 60) / max(1, len(places) - 1) for i in range(len(places))]
    for tick in ticks:
        svg.line(left, height_of(tick), right, height_of(tick), "grid")
        svg.text(left - 8, height_of(tick) + 4, text_of(tick).replace(".00", "").replace(".0 ", " "), "tick", "end")
    for x, place in zip(xs, places):
        svg.text(x, bottom + 19, place, "tick", "middle")
    for one in series:
        points = [(x, height_of(value), place, value) for x, place, value in zip(xs, places, one["values"]) if value]
        path = " ".join(f"{'L' if i else 'M'}{x:.1f} {y:.1f}" for i, (x, y, _, _) in enumerate(points))
        svg.element("path", d=path, class_="curve", style=f"stroke:var(--{one['colour']})")
        for x, y, place, value in points:
            svg.element("circle", f"{one['name']}, {place}: {text_of(value)}", cx=round(x, 1), cy=round(y, 1), r=4,
                        style=f"fill:var(--{one['colour']})", class_="dot")
    return svg.render()


def stacks(rows, label, size_of):
    """A bar for each row: dict(name, parts, text, note); parts is [(name, colour, value)], all on one scale."""
    svg = Svg(ROW * len(rows) + 4, label)
    room = WIDTH - LABEL - VALUES
    most = max((sum(value for _, _, value in row["parts"]) for row in rows), default=0) or 1
    for number, row in enumerate(rows):
        middle = ROW * number + 2 + ROW / 2
        svg.text(LABEL - 10, middle + 4.5, row["name"], "name", "end")
        svg.rect(LABEL, middle - BAR / 2, room, BAR, "track", rx=3)
        x = LABEL
        for name, colour, value in row["parts"]:
            if value > 0:
                svg.rect(x, middle - BAR / 2, value / most * room, BAR, colour, f"{row['name']}, {name}: {size_of(value)}")
                x += value / most * room
        svg.text(LABEL + room + 74, middle + 4.5, row["text"], "value", "end")
        svg.text(WIDTH - 4, middle + 4.5, row.get("note", ""), "note", "end")
    return svg.render()
