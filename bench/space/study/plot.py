"""The results as one SVG with a plot for each trace: a bar for each live share and policy."""
from trial.figure import figure

COLOURS = 8


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
    plots = [(f"{trace}: bytes written to the device for each byte of RocksDB", list(rows(runs, colours)))
             for trace, runs in by_trace(results).items()]
    return figure("Write amplification by placement policy", plots)
