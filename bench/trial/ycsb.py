"""The original YCSB client as the engine (bench/ycsb): load and run of a workload are phases of a case."""
import json
import sys

from tooling.places import ROOT

from trial.db_bench_output import Histogram, Result
from tooling.process import ProcessFailed

PERCENTILES = {"p50_us": "p50", "p99_us": "p99", "p99.9_us": "p99.9", "p99.99_us": "p99.99"}
WRITES = {"INSERT", "UPDATE"}  # a READ-MODIFY-WRITE is counted as its UPDATE, too


def client_module():
    if str(ROOT / "bench") not in sys.path:
        sys.path.insert(0, str(ROOT / "bench"))
    from ycsb import client
    return client


def histogram(name, figures):
    return Histogram(name, figures["count"], figures["mean_us"], figures["max_us"],
                     {ours: figures[theirs] for theirs, ours in PERCENTILES.items() if theirs in figures})


class Ycsb:
    """An engine, as db_bench.DbBench. Phases are named "load" and "run"; a case, "ycsb-a", names its workload."""

    def __init__(self, built):
        self.module = client_module()
        self.client = self.module.Client(built)
        self.native = f"{built}/native"

    def words(self, case, phase, place, _repetition, _first, folder):
        from ycsb import candidates
        place = candidates.Place(place.db, place.fs_uri)
        work = self.module.Work(records=case.keys, operations=case.keys, threads=phase.threads,
                                field_bytes=self.module.field_bytes(case.value_bytes))
        switch = "-load" if phase.name == "load" else "-t"
        self.expected = case.keys
        export = folder / "ycsb.json"
        export.unlink(missing_ok=True)
        words = self.client.words(switch, place, case.name.rpartition("-")[2], work, export)
        return [str(word) for word in words + [word for given in phase.flags for word in ("-p", given)]]

    def environment(self, place):
        """The client loads libzenfs itself. Another library is preloaded, and finds the RocksDB that the client loads."""
        if place.library is None or place.library.name == "libzenfs.so":
            return {}
        return {**place.environment(), "LD_LIBRARY_PATH": self.native}

    def result(self, phase, output, folder):
        try:
            sample = self.module.parse(json.loads((folder / "ycsb.json").read_text()))
        except (OSError, ValueError):
            return None
        problem = self.module.complaint(sample, self.expected)
        if problem:
            raise ProcessFailed(problem, output)
        most_first = sorted(sample["operations"].items(), key=lambda item: -item[1]["count"])
        histograms = [histogram(name, figures) for name, figures in most_first if "count" in figures]
        rate, seconds = sample["throughput"], sample["seconds"]
        return Result(phase.name, 1e6 / rate, rate, seconds, round(rate * seconds), histograms)

    def written(self, phase, result):
        count = sum(one.count for one in result.histograms if one.kind in WRITES)
        return "all" if phase.name == "load" else "random", count
