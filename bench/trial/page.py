"""A run as one page: without scripts and external files, light or dark after the reader's setting."""
import html
import math
import pathlib
import statistics

import plots
from trial import numbers_text as show
from trial.zenfs_command import CAUSES

PERCENTILES = ("p50", "p99", "p99.9", "p99.99")
CAUSE_TEXT = {"data": "data of tables", "wal": "log", "padding": "padding", "metadata": "metadata", "reclaim": "reclaim",
              "finish": "room in finished zones", "host": "all, as the host counts it"}
MIB = 1 << 20


def escape(text):
    return html.escape(str(text))


class Page:
    def __init__(self, results):
        self.results = results
        self.names = [one["name"] for one in results["candidates"]]
        self.colour = {name: plots.COLOURS[number % len(plots.COLOURS)] for number, name in enumerate(self.names)}
        self.titles = {one["name"]: one["title"] for one in results["cases"]}
        self.groups = {}
        for row in results["summary"]:
            self.groups.setdefault((row["case"], row["phase"]), []).append(row)

    def render(self):
        css = (pathlib.Path(__file__).parent / "page.css").read_text()
        title = f"ZenFS: {self.results['set']}"
        parts = [self.head(), self.failures(), self.glance(), self.throughput(), self.latency(), self.cpu(), self.written(), self.space(),
                 self.table(), self.commands()]
        return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
                f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>\n{css}</style></head>\n'
                f"<body><main>\n{''.join(parts)}\n</main></body></html>\n")

    def head(self):
        results, machine = self.results, self.results["machine"]
        facts = [("RocksDB", results["programs"]["rocksdb"]), ("ZenFS", results["programs"]["zenfs"]),
                 ("Machine", f"{machine['processors']} × {machine['processor']}, {machine['memory_gib']} GiB"),
                 ("System", f"{machine['distribution']}, Linux {machine['kernel']}"),
                 ("Load before", f"{machine['load_before']:.1f}"), ("Measured", results["started"]),
                 ("Repetitions", results["options"]["repetitions"])]
        legend = "".join(f'<li><i style="background:{self.colour[one["name"]]}"></i>{escape(one["name"])} '
                         f'<span>{escape(one["description"])}</span></li>' for one in results["candidates"])
        return (f"<h1>ZenFS bench: {escape(results['set'].replace('+', ', '))}</h1><p class=lead>{escape(results['title'][:1].upper() + results['title'][1:])}."
                f" Medians; each candidate in turn on a place of its own; ratios are to <b>{escape(results['base'])}</b>, turn by turn.</p>"
                f"<ul class=facts>{''.join(f'<li>{escape(key)} <b>{escape(value)}</b></li>' for key, value in facts)}</ul>"
                f"<ul class=legend>{legend}</ul>")

    def failures(self):
        panels = "".join(f"<div class='panel failure'><h3>{escape(one['case'])} {escape(one['phase'])} on "
                         f"{escape(one['candidate'])}: {escape(one['reason'])}</h3><pre>{escape(one['tail'])}</pre></div>"
                         for one in self.results["failures"])
        return f"<h2>What failed</h2>{panels}" if panels else ""

    def section(self, title, text, panel_of):
        """`panel_of` returns a figure for plots, or None."""
        panels = []
        for (case, phase), rows in self.groups.items():
            figure = panel_of(case, phase, rows)
            if figure:
                plot = f"<div role=img aria-label='{escape(figure['label'])}'>{plots.inline(figure)}</div>"
                panels.append(f"<div class=panel><h3>{escape(case)} · {escape(phase)}<small>{escape(self.titles.get(case, ''))}"
                              f"</small></h3>{plot}</div>")
        return f"<h2>{title}</h2><p>{text}</p><div class=grid>{''.join(panels)}</div>" if panels else ""

    def factor(self, row, of):
        """Behind a bar's value: how many times that of the base."""
        return "" if row["candidate"] == self.results["base"] else f" · {show.times(row['ratio'][of])}"

    def glance(self):
        """Ratios of throughput, one row per phase; the last row is the geometric mean. Columns: each candidate to the base, then
        each whose limit was measured to that."""
        others = [name for name in self.names if name != self.results["base"]]
        limited = [name for name in self.names if any(row["candidate"] == name and row["of_limit"] for row in self.results["summary"])]
        if not others:
            return ""
        lines = []
        for (case, phase), rows in self.groups.items():
            found = {row["candidate"]: row for row in rows}
            lines.append((f"{case} · {phase}",
                          [found[name]["ratio"]["ops_per_second"] if name in found else None for name in others] +
                          [found[name]["of_limit"] if name in found else None for name in limited]))
        if len(lines) > 1:
            columns = [[value for value in column if value] for column in zip(*[values for _, values in lines])]
            lines.append(("geometric mean", [statistics.geometric_mean(column) if column else None for column in columns]))
        body = "".join(f"<tr><td>{escape(name)}</td>{''.join(self.ratio_cell(value) for value in values)}</tr>"
                       for name, values in lines)
        heads = "".join(f"<th>{escape(name)}</th>" for name in [*others, *[f"{name} to its limit" for name in limited]])
        text = f"Throughput, as many times that of {escape(self.results['base'])}"
        text += "; to its limit: that of the ideal file system on a device with the same times." if limited else "."
        return f"<h2>At a glance</h2><p>{text}</p><div class='scroll glance'><table><tr><th></th>{heads}</tr>{body}</table></div>"

    def ratio_cell(self, value):
        if value is None:
            return "<td>–</td>"
        strength = min(60, round(abs(math.log2(value)) * 45)) if value > 0 else 60
        colour = "good" if value > 1 else "bad"
        return f"<td style='background:color-mix(in srgb, var(--{colour}) {strength}%, transparent)'>{show.times(value)}</td>"

    def throughput_panel(self, rows, **title):
        return {**title, "bars": [{"name": row["candidate"], "value": row["ops_per_second"], "low": row["ops_per_second_range"][0],
                                   "high": row["ops_per_second_range"][1],
                                   "text": show.count(row["ops_per_second"]) + "/s" + self.factor(row, "ops_per_second")} for row in rows]}

    def figure(self):
        """The throughput of all phases, for plots.svg()."""
        return {"plot": "bars", "label": f"Throughput: {self.results['title']}", "axis": "operations/s", "order": self.names,
                "note": f"Medians; the lines span all repetitions. The factor is to {self.results['base']}, turn by turn.",
                "panels": [self.throughput_panel(rows, title=f"{case} · {phase}") for (case, phase), rows in self.groups.items()]}

    def throughput(self):
        def panel(case, phase, rows):
            return {"plot": "bars", "label": f"Throughput of {case} {phase}", "axis": "operations/s", "order": self.names,
                    "panels": [self.throughput_panel(rows)]}
        return self.section("Throughput", "Operations a second, longer is better; the line spans all repetitions.", panel)

    def latency(self):
        def panel(case, phase, rows):
            series = {row["candidate"]: [row["latency_us"].get(at) for at in PERCENTILES] for row in rows}
            if not any(value for values in series.values() for value in values):
                return None
            return {"plot": "percentiles", "label": f"Latency of {case} {phase}", "axis": "latency of an operation", "order": self.names,
                    "places": PERCENTILES, "series": series}
        return self.section("Latency", "Of single operations, as db_bench's histogram has it; lower is better, the scale is "
                            "logarithmic.", panel)

    def cpu(self):
        def panel(case, phase, rows):
            bars = [{"name": row["candidate"],
                     "parts": {"database and file system": row["cpu_us_per_op"], "emulated device": row["emulation_cpu_us_per_op"] or 0},
                     "text": show.micros(row["cpu_us_per_op"]) + self.factor(row, "cpu_us_per_op")}
                    for row in rows if row["cpu_us_per_op"] is not None]
            return bars and {"plot": "stacks", "label": f"CPU time of {case} {phase}", "axis": "µs of CPU time an operation",
                             "panels": [{"bars": bars}]}
        return self.section("CPU time per operation", "Of the whole process, background work included; shorter is better. What "
                            "playing a device costs this host is neither in the number nor in the ratio.", panel)

    def written(self):
        def panel(case, phase, rows):
            if not any(row["write_amplification"] for row in rows):
                return None
            bars = [{"name": row["candidate"],
                     "parts": {CAUSE_TEXT[cause]: row["device_bytes"].get(cause, 0) / MIB for cause in CAUSES},
                     "text": f"{show.size(sum(row['device_bytes'].values()))} · {show.times(row['write_amplification'])}"} for row in rows]
            return {"plot": "stacks", "label": f"Bytes written in {case} {phase}", "axis": "MiB", "panels": [{"bars": bars}]}
        return self.section("Bytes written, by cause", "All that went to the device, and how many times what the user wrote. "
                            "Room in finished zones is what a drive may write by itself to fill them.", panel)

    def space(self):
        last = {case: phase for case, phase in self.groups}

        def panel(case, phase, rows):
            rows = [row for row in rows if row["space_amplification"]]
            if last[case] != phase or not rows:
                return None
            return {"plot": "bars", "label": f"Space of {case}", "axis": "times the live data", "order": self.names,
                    "panels": [{"bars": [{"name": row["candidate"], "value": row["space_amplification"],
                                          "text": f"{show.times(row['space_amplification'])} · {show.size(row['used_bytes'])}"}
                                         for row in rows]}]}
        return self.section("Space", "What the place holds at the end of a case, and how many times the live keys and values that "
                            "is: superseded versions that RocksDB has not compacted yet, its logs, and what the file system adds, "
                            "in zones also what is dead and waits for a reset.",
                            panel)

    def table(self):
        heads = ["case", "phase", "candidate", "ops/s", "ratio", *PERCENTILES, "CPU/op", "ratio", "emulation", "written", "write",
                 "space"]
        lines = []
        for rows in self.groups.values():
            for number, row in enumerate(rows):
                latency = [show.micros(row["latency_us"][at]) if at in row["latency_us"] else "–" for at in PERCENTILES]
                cells = [row["case"], row["phase"], row["candidate"], f"{row['ops_per_second']:,.0f}",
                         show.times(row["ratio"]["ops_per_second"]), *latency, show.micros(row["cpu_us_per_op"]),
                         show.times(row["ratio"]["cpu_us_per_op"]), show.micros(row["emulation_cpu_us_per_op"]),
                         show.size(sum(row["device_bytes"].values())), show.times(row["write_amplification"]),
                         show.times(row["space_amplification"])]
                lines.append(f"<tr{'' if number else ' class=first'}>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>")
        return (f"<h2>All figures</h2><p>Medians over the repetitions; write and space are amplification.</p><div class=scroll><table><tr>"
                f"{''.join(f'<th>{head}</th>' for head in heads)}</tr>{''.join(lines)}</table></div>")

    def commands(self):
        shown = "".join(f"<p>{escape(name)}</p><pre>{escape(' '.join(words))}</pre>" for name, words in
                        self.results["commands"].items())
        return (f"<h2>Commands</h2><p>The whole run:</p><div class=panel><pre>{escape(self.results['command'])}</pre></div>"
                f"<details><summary>Each phase, as in the first repetition</summary>{shown}</details>")
