"""The results as tables in Markdown and as a plot: medians of the turns, and the median of the ratios of each turn to the first
candidate."""
from tooling.places import ToolError
from trial import numbers_text as show
from trial.summary import median, ratio

BASE = "zenfs-dev"
PERCENTILES = ("p50", "p99", "p99.9", "p99.99")
MEGABYTE = 1e6


def flat(sample):
    """A sample with each of its figures under a name of its own."""
    written = sample.get("zoned_written", 0) + sample.get("regular_written", 0)
    return {**sample, **sample.get("latency_us", {}), "written": written}


class Tables:
    def __init__(self, document, candidates, titles):
        """`titles`: {case: title}, in their order."""
        self.document, self.titles = document, titles
        self.phases, self.groups = [], {}
        for sample in map(flat, document["samples"]):
            phase = (sample["case"], sample["phase"])
            if phase not in self.phases:
                self.phases.append(phase)
            self.groups.setdefault((*phase, sample["candidate"]), []).append(sample)
        self.phases.sort(key=lambda phase: list(titles).index(phase[0]))
        self.candidates = [name for name in candidates if any(key[2] == name for key in self.groups)]
        if not self.candidates:
            raise ToolError("there are no results")
        self.measured = [phase for phase in self.phases if phase[1] != "lost"]

    def samples(self, phase, candidate):
        return self.groups.get((*phase, candidate), [])

    def median(self, phase, candidate, figure_name):
        return median([one.get(figure_name) for one in self.samples(phase, candidate)])

    def ratio(self, phase, candidate, figure_name):
        return ratio(self.samples(phase, candidate), self.samples(phase, BASE), figure_name)

    def beside_base(self, phase, candidate, figure_name):
        """The ratio, to stand behind a figure; nothing for the first candidate."""
        of_base = self.ratio(phase, candidate, figure_name)
        return f" ({of_base:.2f})" if candidate != BASE and of_base is not None else ""

    def cell(self, phase, candidate, text):
        """`text` of what was measured; otherwise why there is nothing."""
        if self.samples(phase, candidate):
            return text()
        failed = any(one["case"] == phase[0] and one["candidate"] == candidate for one in self.document["failures"])
        return "fails" if failed else "–"

    def table(self, title, heads, rows):
        if not rows:
            return ""
        lines = [f"### {title}", "", "| " + " | ".join(heads) + " |", "|---" + "|--:" * (len(heads) - 1) + "|"]
        return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"

    def rows_of(self, title, text, wanted=lambda _: True):
        """A row for each phase; text(phase, name) is a cell."""
        rows = [[f"{case}: {phase}", *[self.cell((case, phase), name, lambda name=name, at=(case, phase): text(at, name))
                                       for name in self.candidates]]
                for case, phase in self.measured if wanted((case, phase))]
        return self.table(title, ["phase", *self.candidates], rows)

    def figures(self, title, figure_name, text_of, wanted=lambda _: True):
        """The figure of each candidate, and behind it the ratio."""
        def text(phase, name):
            value = self.median(phase, name, figure_name)
            return "–" if value is None else text_of(value) + self.beside_base(phase, name, figure_name)

        return self.rows_of(title, text, wanted)

    def written(self):
        def text(phase, name):
            zoned, regular = (self.median(phase, name, f"{drive}_written") / MEGABYTE for drive in ("zoned", "regular"))
            return f"{zoned:,.1f}" + (f" + {regular:,.1f}" if regular >= 0.05 else "") + self.beside_base(phase, name, "written")

        return self.rows_of("MB written to the zoned drive + to the regular one", text)

    def single(self):
        """Room, mount and losses: one row a figure."""
        def row(title, phase, text):
            return [title, *[self.cell(phase, name, lambda name=name: text(self.samples(phase, name))) for name in self.candidates]]

        def counted(kind):
            return lambda samples: f"{median([one['lost'][kind] for one in samples]):,.0f} of " \
                                   f"{median([one['acknowledged'][kind] for one in samples]):,.0f}"

        rows = []
        if ("room", "room") in self.phases:
            rows.append(row("MiB of synced files until an error", ("room", "room"),
                            lambda samples: f"{4 * median([one['operations'] for one in samples]):,.0f}"))
        if ("crash", "mount") in self.phases:
            for title, name in (("mount after the crash, ms", "mount_ms"), ("list its files, ms", "list_ms"),
                                ("files there", "files_listed")):
                rows.append(row(title, ("crash", "mount"), lambda samples, name=name: f"{median([one[name] for one in samples]):,.0f}"))
        if ("crash", "lost") in self.phases:
            rows += [row(f"lost writes, {kind}", ("crash", "lost"), counted(kind)) for kind in ("synced", "unsynced")]
        return self.table("Room, mount and losses", ["", *self.candidates], rows)

    def outside(self):
        """Bytes and room of the first candidate, in the guest and outside."""
        rows = []
        for one in self.document["outside"]:
            phase = (one["case"], one["phase"])
            inside = self.median(phase, BASE, "zoned_written")
            if inside is None:
                continue
            room = [f"{self.median(phase, BASE, 'operations') * 4:,.0f}", f"{one['operations'] * 4:,.0f}"] if one["case"] == "room" else ["", ""]
            rows.append([f"{phase[0]}: {phase[1]}", f"{inside / MEGABYTE:,.1f}", f"{one['written'] / MEGABYTE:,.1f}",
                         f"{one['written'] / inside:.2f}", *room])
        return self.table(f"{BASE} in the guest, by the kernel's counter, and outside, by ZenFS's",
                          ["phase", "MB in the guest", "MB outside", "ratio", "MiB of files in the guest", "outside"], rows)

    def failures(self):
        lines = [f"- {one['case']} on {one['candidate']}, turn {one['repetition'] + 1}: {one['reason']}"
                 for one in self.document["failures"]]
        return "\n".join(["### What failed", "", *lines, ""]) if lines else ""

    def text(self):
        turns = 1 + max(one["repetition"] for one in self.document["samples"])
        head = f"Medians of {turns} turn{'s' if turns > 1 else ''}; in parentheses the median of the ratios to {BASE} in each turn.\n"
        latencies = [self.figures(f"Latency, {at}", at, show.micros) for at in PERCENTILES]
        return "\n".join(part for part in [
            head, self.figures("Operations a second", "ops_per_second", lambda value: f"{value:,.0f}"), *latencies, self.written(),
            self.figures("Zones reset", "zone_resets", lambda value: f"{value:,.0f}",
                         lambda phase: any(self.median(phase, name, "zone_resets") for name in self.candidates)),
            self.figures("CPU time of the guest for an operation", "cpu_us_per_op", show.micros), self.single(), self.outside(), self.failures()] if part)

    def bar(self, phase, name):
        rates = [one["ops_per_second"] for one in self.samples(phase, name)]
        value = median(rates)
        text = show.count(value) + "/s" + ("" if name == BASE else f" · {show.times(self.ratio(phase, name, 'ops_per_second'))}")
        return {"name": name, "value": value, "low": min(rates), "high": max(rates), "text": text}

    def figure(self):
        """The throughput of all phases, for plots.svg()."""
        return {"plot": "bars", "label": "Throughput of ZenFS and of Linux's file systems on one zoned drive", "axis": "operations/s",
                "note": f"Medians; the lines span all turns. The factor is to {BASE}, turn by turn.", "order": self.candidates,
                "panels": [{"title": f"{case} · {phase}",
                            "bars": [self.bar((case, phase), name) for name in self.candidates if self.samples((case, phase), name)]}
                           for case, phase in self.measured]}
