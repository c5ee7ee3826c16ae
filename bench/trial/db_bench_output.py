"""Parses the output of db_bench."""
import collections
import re

RESULT = re.compile(r"^(?P<name>\w+)(?: \[[^\]]*\])? *: +(?P<micros>[\d.]+) micros/op +(?P<rate>\d+) ops/sec +"
                    r"(?P<seconds>[\d.]+) seconds +(?P<count>\d+) operations;", re.M)
HISTOGRAM = re.compile(r"^Microseconds per (?P<kind>\w+):\nCount: (?P<count>\d+) +Average: (?P<mean>[\d.]+).*\n"
                       r"Min: \d+ +Median: [\d.]+ +Max: (?P<max>\d+)\nPercentiles: (?P<percentiles>.*)$", re.M)
PERCENTILE = re.compile(r"P([\d.]+): ([\d.]+)")
NAMES = {"50": "p50", "99": "p99", "99.9": "p99.9", "99.99": "p99.99"}

Histogram = collections.namedtuple("Histogram", "kind count mean max percentiles")
Result = collections.namedtuple("Result", "name micros_per_op ops_per_second seconds operations histograms")


def histograms(text):
    found = []
    for match in HISTOGRAM.finditer(text):
        percentiles = {NAMES[at]: float(value) for at, value in PERCENTILE.findall(match["percentiles"]) if at in NAMES}
        found.append(Histogram(match["kind"], int(match["count"]), float(match["mean"]), float(match["max"]), percentiles))
    return found


def result_of(output, benchmark):
    """The last result of `benchmark` in `output`, with the histograms behind it; None if it has none."""
    matches = list(RESULT.finditer(output))
    chosen = [i for i, match in enumerate(matches) if match["name"] == benchmark]
    if not chosen:
        return None
    match = matches[chosen[-1]]
    end = matches[chosen[-1] + 1].start() if chosen[-1] + 1 < len(matches) else len(output)
    return Result(benchmark, float(match["micros"]), float(match["rate"]), float(match["seconds"]), int(match["count"]),
                  histograms(output[match.end():end]))
