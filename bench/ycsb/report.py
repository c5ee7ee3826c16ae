"""Medians of samples, ratios of those taken side by side, and a table of both."""
import statistics

LATENCIES = ("mean_us", "p95_us", "p99_us", "p99.9_us")


def summary(results):
    """What measure() returned, condensed:

    {"a": {"posix": {"throughput": median, "ratio": 1.0, "cpu_us_per_op": median, "cpu_ratio": 1.0,
                     "operations": {"READ": {"mean_us": median, "p99_us": median, ...}, ...}},
           "zenfs": {...}}}

    A ratio is the median of the ratios to the first candidate's figure in the same turn.
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
    return statistics.median(ours[figure] / theirs[figure] for ours, theirs in zip(samples, others))


def latencies(samples, operation):
    figures = [sample["operations"][operation] for sample in samples if operation in sample["operations"]]
    return {name: statistics.median(figure[name] for figure in figures) for name in LATENCIES}


def table(condensed):
    """Lines for a person: throughput of each candidate and its ratio to the first, then the latencies."""
    form = "{:<6} {:<18} {:<10} {:>9} {:>6} {:>8} {:>6} {:>9} {:>7} {:>7} {:>7}"
    yield form.format("phase", "operation", "candidate", "ops/s", "ratio", "cpu us", "ratio", "mean us", "p95", "p99",
                      "p99.9")
    for phase, by_candidate in condensed.items():
        for name, figures in by_candidate.items():
            yield form.format(phase, "", name, f"{figures['throughput']:,.0f}", f"{figures['ratio']:.2f}",
                              f"{figures['cpu_us_per_op']:.1f}", f"{figures['cpu_ratio']:.2f}", *[""] * 4).rstrip()
        operations = dict.fromkeys(op for figures in by_candidate.values() for op in figures["operations"])
        for operation in operations:
            for name, figures in by_candidate.items():
                shown = figures["operations"].get(operation)
                if shown:
                    yield form.format("", operation.lower(), name, *[""] * 4, *(f"{shown[key]:,.1f}" if key == "mean_us"
                                      else f"{shown[key]:,.0f}" for key in LATENCIES))
