"""The results as a table in a terminal."""
LINE = "{:<22}{:<12}{:>8}{:>8}{:>8}{:>10}{:>10}{:>8}  {}"
HEAD = ("trace", "policy", "live", "write", "space", "zones", "cleaned", "mixed", "")


def name_of(run):
    return run["trace"] if run["live"] is None else f"{run['trace']}, {100 * run['live']:.0f} % live"


def note_of(run):
    if run["no_space"]:
        return "no space"
    return f"{run['waits']:,} waits" if run["waits"] else ""


def text(results):
    lines = [LINE.format(*HEAD).rstrip()]
    before = None
    for run in results["runs"]:
        name = name_of(run)
        written = run["user_bytes"] + run["copied_bytes"]
        lines.append(LINE.format(
            name if name != before else "", run["policy"], f"{100 * run['live_share']:.1f} %", f"{run['write_amplification']:.3f}",
            f"{run['space_amplification']:.3f}", f"{run['zones_copied']:,}", f"{run['log_zones_cleaned']:,}",
            f"{100 * run['mixed_bytes'] / max(written, 1):.0f} %", note_of(run)).rstrip())
        before = name
    return "\n".join(lines)
