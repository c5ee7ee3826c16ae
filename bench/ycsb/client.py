"""One load or one run of the genuine client, in a process of its own."""
import dataclasses
import json
import pathlib
import re
import resource
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
WORKLOADS = tuple(sorted(path.name for path in (HERE / "workloads").iterdir()))
PERCENTILES = ("50", "95", "99", "99.9", "99.99")
FIGURES = {"Operations": "count", "AverageLatency(us)": "mean_us", "MinLatency(us)": "min_us", "MaxLatency(us)": "max_us"}
# What the client calls with its clock running. A READ-MODIFY-WRITE is counted as the read and the update in it, too.
OPERATIONS = ("READ", "UPDATE", "INSERT", "SCAN", "DELETE")
COMPOUND = "READ-MODIFY-WRITE"


class YcsbFailed(Exception):
    """The client failed; one line for a person."""


@dataclasses.dataclass(frozen=True)
class Work:
    """The amount of work of each load and run."""
    records: int
    operations: int
    threads: int = 2
    field_bytes: int = 100
    sync: bool = False    # each write survives a power loss
    verify: bool = False  # contents follow from keys, and every read is compared
    heap: str = "512m"    # fixed, so that the collector works alike for all candidates


def field_bytes(record_bytes):
    """Content of each of the ten fields of a record: the rest is their names and lengths (Fields.java)."""
    return record_bytes // 10 - 11


class Client:
    """`built` is what scripts/java-project printed for this folder."""

    def __init__(self, built, java="java"):
        self.built = pathlib.Path(built)
        self.java = java

    def load(self, place, workload, work):
        """Inserts work.records records. Returns a sample: that of parse(), and "cpu_us_per_op", the processor time of the
        whole client with all its threads and its start. Raises YcsbFailed."""
        return self._call("-load", place, workload, work, work.records)

    def run(self, place, workload, work):
        """work.operations operations of `workload` on what was loaded. As load()."""
        return self._call("-t", place, workload, work, work.operations)

    def _call(self, phase, place, workload, work, expected):
        with tempfile.TemporaryDirectory(prefix="zenfs-ycsb-") as folder:
            export = pathlib.Path(folder) / "measured.json"
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(self.words(phase, place, workload, work, export), check=False, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            try:
                sample = parse(json.loads(export.read_text()))
            except (OSError, json.JSONDecodeError):
                sample = None
        problem = "the client wrote no figures" if sample is None else complaint(sample, expected)
        if done.returncode != 0 or problem:
            raise YcsbFailed(f"{'load' if phase == '-load' else 'run'} of workload {workload} in {place.env or place.path}: "
                             f"{reason(done.stdout) or problem or f'exit status {done.returncode}'}")
        cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        sample["cpu_us_per_op"] = cpu_seconds * 1e6 / expected
        return sample

    def words(self, phase, place, workload, work, export):
        properties = {
            "recordcount": work.records,
            "operationcount": work.operations,
            "fieldlength": work.field_bytes,
            "dataintegrity": str(work.verify).lower(),
            "rocksdb.path": place.path,
            "rocksdb.sync": str(work.sync).lower(),
            "measurementtype": "hdrhistogram",
            "hdrhistogram.percentiles": ",".join(PERCENTILES),
            "exporter": "site.ycsb.measurements.exporter.JSONArrayMeasurementsExporter",
            "exportfile": export,
        }
        if place.env:
            properties["rocksdb.env"] = place.env
        words = [self.java, f"-Xms{work.heap}", f"-Xmx{work.heap}", f"-Djava.library.path={self.built}/native",
                 "-cp", f"{self.built}/classes:{self.built}/lib/*", "site.ycsb.Client", phase,
                 "-db", "zenfs.ycsb.RocksDbClient", "-threads", str(work.threads),
                 "-P", str(HERE / "workloads" / workload), "-P", str(HERE / "rocksdb.properties")]
        for name, value in properties.items():
            words += ["-p", f"{name}={value}"]
        return words


def parse(exported):
    """The client's list of measurements as

    {"throughput": operations a second, opening and closing of the database included, "seconds": ...,
     "operations": {"READ": {"count": ..., "mean_us": ..., "p99_us": ..., "p99.9_us": ..., "returned": {"OK": ...}}}}
    """
    sample = {"operations": {}}
    for entry in exported:
        metric, measurement, value = entry["metric"], entry["measurement"], entry["value"]
        if metric == "OVERALL":
            if measurement == "Throughput(ops/sec)":
                sample["throughput"] = value
            elif measurement == "RunTime(ms)":
                sample["seconds"] = value / 1000
            continue
        if metric not in (*OPERATIONS, COMPOUND, "VERIFY"):
            continue
        figures = sample["operations"].setdefault(metric, {"returned": {}})
        percentile = re.match(r"([\d.]+)(?:st|nd|rd|th)?PercentileLatency\(us\)", measurement)
        if percentile:
            figures[f"p{percentile.group(1)}_us"] = value
        elif measurement.startswith("Return="):
            figures["returned"][measurement.partition("=")[2]] = value
        elif measurement in FIGURES:
            figures[FIGURES[measurement]] = value
    return sample


def complaint(sample, expected):
    """The error in a sample of `expected` operations; None if there is none."""
    operations = sample["operations"]
    for name, figures in operations.items():
        failed = {code: count for code, count in figures["returned"].items() if code != "OK" and count}
        if failed:
            return f"{name} returned {', '.join(f'{code} {count} times' for code, count in failed.items())}"
    done = sum(operations[name]["returned"].get("OK", 0) for name in OPERATIONS if name in operations)
    done -= operations.get(COMPOUND, {}).get("count", 0)
    return None if done == expected else f"{done} of {expected} operations were done"


def reason(output):
    """The line of the client's output that says what went wrong, if one does."""
    found = re.search(r"(?:Caused by: |DBException: |RocksDbClient: |Exception in thread .*?: )(.*)", output)
    causes = re.findall(r"^Caused by: [\w.]+: (.*)", output, re.M)
    return causes[-1] if causes else found.group(1) if found else None
