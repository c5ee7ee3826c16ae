"""The write amplification as a plot with a panel for each trace: bars for each live share and policy."""


def panel(trace, runs):
    shares = list(dict.fromkeys(run["live"] for run in runs))
    found = {(run["policy"], run["live"]): None if run["no_space"] else run["write_amplification"] for run in runs}
    policies = dict.fromkeys(run["policy"] for run in runs)
    return {"title": trace, "groups": ["" if share is None else f"{100 * share:.0f} %" for share in shares],
            "series": {policy: [found.get((policy, share)) for share in shares] for policy in policies}}


def figure(results):
    traces = {}
    for run in results["runs"]:
        traces.setdefault(run["trace"], []).append(run)
    return {"plot": "groups", "label": "Write amplification by placement policy", "axis": "write amplification",
            "group_axis": "live data, of what data can use" if any(run["live"] is not None for run in results["runs"]) else "",
            "missing": "no space", "panels": [panel(trace, runs) for trace, runs in traces.items()]}
