"""The results as one SVG with a plot for each trace: a bar for each live share and policy."""
import pathlib

from trial import plot_svg

TITLE = 34  # height of the title of a plot
GAP = 12
COLOURS = 8
STYLE = pathlib.Path(plot_svg.__file__).with_name("page.css")


def style():
    """The colours of the page of scripts/bench, and its rules for plots."""
    lines = STYLE.read_text(encoding="utf-8").splitlines()
    colours = lines[:next(number for number, line in enumerate(lines) if line.startswith("* {"))]
    return "\n".join(colours + [line for line in lines if line.startswith("svg ")])


def by_trace(results):
    traces = {}
    for run in results["runs"]:
        traces.setdefault(run["trace"], []).append(run)
    return traces


def rows(runs, colours):
    for run in runs:
        name = run["policy"] if run["live"] is None else f"{100 * run['live']:.0f} % {run['policy']}"
        note = "no space" if run["no_space"] else f"space {run['space_amplification']:.2f}"
        yield {"name": name, "colour": colours[run["policy"]], "value": run["write_amplification"],
               "text": f"{run['write_amplification']:.2f}", "note": note,
               "title": f"{name}: {run['zones_copied']:,} zones copied"}


def svg(results):
    policies = list(dict.fromkeys(run["policy"] for run in results["runs"]))
    colours = {policy: f"c{1 + number % (COLOURS - 1)}" for number, policy in enumerate(policies)}
    drawing = plot_svg.Svg(0, "Write amplification by placement policy")
    for trace, runs in by_trace(results).items():
        drawing.text(8, drawing.height + TITLE - 12, f"{trace}: bytes written to the device for each byte of RocksDB", "value")
        drawing.height += TITLE
        bars = plot_svg.bars(list(rows(runs, colours)), trace)
        inside = bars[bars.index(">") + 1:bars.rindex("</svg>")]
        drawing.parts.append(f'<g transform="translate(0 {drawing.height})">{inside}</g>')
        drawing.height += plot_svg.ROW * len(runs) + 4 + GAP
    drawing.parts.insert(0, f"<style>{style()}\nsvg {{ background: var(--panel); }}</style>")
    return drawing.render() + "\n"
