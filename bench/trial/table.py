"""A run as a table in a terminal."""
from trial import numbers_text as show

LINE = "{:<38}{:<18}{:>12}{:>8}{:>8}{:>10}{:>10}{:>10}{:>10}{:>10}{:>8}{:>8}{:>8}"
HEAD = ("case, phase", "candidate", "ops/s", "ratio", "limit", "p50", "p99", "p99.9", "p99.99", "CPU/op", "ratio", "write", "space")


def text(results):
    lines = [LINE.format(*HEAD)]
    before = None
    for row in results["summary"]:
        name = f"{row['case']}, {row['phase']}"
        latency = [show.micros(row["latency_us"][at]) if at in row["latency_us"] else "–" for at in ("p50", "p99", "p99.9", "p99.99")]
        lines.append(LINE.format(name if name != before else "", row["candidate"], f"{row['ops_per_second']:,.0f}",
                                 show.times(row["ratio"]["ops_per_second"]), show.times(row["of_limit"]), *latency, show.micros(row["cpu_us_per_op"]),
                                 show.times(row["ratio"]["cpu_us_per_op"]), show.times(row["write_amplification"]),
                                 show.times(row["space_amplification"])))
        before = name
    lines += [f"FAILED: {one['case']} {one['phase']} on {one['candidate']}: {one['reason']}" for one in results["failures"]]
    return "\n".join(lines)
