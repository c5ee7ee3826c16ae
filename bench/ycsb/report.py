"""Medians of samples, ratios of those taken side by side, and a table of both."""
import statistics

LATENCIES = ("mean_us", "p95_us", "p99_us", "p99.9_us")


def summary(results):
    """Condenses the result of measure():

    {"a": {"posix": {"throughput": median, "ratio": [1.0, 1.0, 1.0], "cpu_us_per_op": median,
                     "cpu_ratio": [1.0, 1.0, 1.0], "operations": {"READ": {"mean_us": median, "p99_us": ...}, ...}},
           "zenfs": {...}}}

    A ratio is the least, the median and the most of the ratios to the first candidate's figure in the same turn.
    """
    condensed = {}
    for phase, by_candidate in results.items():
        first = next(iter(by_candidate.values()), [])
        condensed[phase] = {}
        for name, samples in by_candidate.items():
            condensed[phase][name] = {
                "throughput": statistics.median(sample["throughput"] for sample in samples),
                "ratio": ratio(samples, first, "throughput"),
                "cpu_us_per_op": statistics.median(sample["cpu_us_per_op"] for sample in samples),
                "cpu_ratio": ratio(samples, first, "cpu_us_per_op"),
                "operations": {operation: latencies(samples, operation)
                               for operation in samples[0]["operations"] if operation != "VERIFY"},
            }
    return condensed


def ratio(samples, others, figure):
    ratios = [ours[figure] / theirs[figure] for ours, theirs in zip(samples, others)]
    return [min(ratios), statistics.median(ratios), max(ratios)]


def latencies(samples, operation):
    figures = [sample["operations"][operation] for sample in samples if operation in sample["operations"]]
    return {name: statistics.median(figure[name] for figure in figures) for name in LATENCIES}


def spread(ratios):
    least, median, most = ratios
    return f"{median:.2f} ({least:.2f}-{most:.2f})"


def table(condensed):
    """Lines for a person: throughput of each candidate and its ratio to the first, then the latencies."""
    form = "{:<6} {:<18} {:<10} {:>9} {:>17} {:>7} {:>17} {:>8} {:>6} {:>6} {:>7}"
    yield form.format("phase", "operation", "candidate", "ops/s", "ratio", "cpu us", "ratio", "mean us", "p95", "p99",
                      "p99.9")
    for phase, by_candidate in condensed.items():
        for name, figures in by_candidate.items():
            yield form.format(phase, "", name, f"{figures['throughput']:,.0f}", spread(figures["ratio"]),
                              f"{figures['cpu_us_per_op']:.1f}", spread(figures["cpu_ratio"]), *[""] * 4).rstrip()
        operations = dict.fromkeys(op for figures in by_candidate.values() for op in figures["operations"])
        for operation in operations:
            for name, figures in by_candidate.items():
                shown = figures["operations"].get(operation)
                if shown:
                    yield form.format("", operation.lower(), name, *[""] * 4, *(f"{shown[key]:,.1f}" if key == "mean_us"
                                      else f"{shown[key]:,.0f}" for key in LATENCIES))
