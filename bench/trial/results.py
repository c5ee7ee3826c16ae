"""The document that a run writes: docs/use/bench.md describes it, check() verifies it."""
import json
import numbers
import pathlib

SCHEMA = "zenfs-bench-1"
NUMBER, MAYBE = numbers.Real, (numbers.Real, type(None))
SHAPE = {
    "schema": str, "set": str, "title": str, "started": str, "seconds": NUMBER, "command": str, "base": str,
    "machine": {"processor": str, "processors": int, "memory_gib": NUMBER, "kernel": str, "distribution": str,
                "load_before": NUMBER},
    "programs": {"db_bench": str, "rocksdb": str, "zenfs": str},
    "options": {"repetitions": int, "seconds": NUMBER},
    "candidates": [{"name": str, "kind": str, "description": str}],
    "cases": [{"name": str, "title": str, "keys": int, "value_bytes": int, "phases": [str]}],
    "commands": dict,
    "samples": [{"case": str, "phase": str, "candidate": str, "repetition": int, "ops_per_second": NUMBER,
                 "operations": int, "seconds": NUMBER, "latency_us": dict, "cpu_us_per_op": MAYBE,
                 "emulation_cpu_us_per_op": MAYBE, "device_bytes": dict, "used_bytes": MAYBE, "set_aside_bytes": MAYBE, "live_bytes": MAYBE,
                 "space_amplification": MAYBE}],
    "summary": [{"case": str, "phase": str, "candidate": str, "repetitions": int, "ops_per_second": NUMBER,
                 "ops_per_second_range": [NUMBER], "latency_us": dict, "cpu_us_per_op": MAYBE,
                 "emulation_cpu_us_per_op": MAYBE, "device_bytes": dict, "write_amplification": MAYBE,
                 "space_amplification": MAYBE, "ratio": {"ops_per_second": MAYBE, "cpu_us_per_op": MAYBE},
                 "of_limit": MAYBE}],
    "failures": [{"case": str, "phase": str, "candidate": str, "reason": str, "tail": str}],
}


def differences(value, shape, where="results"):
    """The differences between `value` and `shape`, one line each."""
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return [f"{where} is no object"]
        return [line for key, inner in shape.items() for line in
                (differences(value[key], inner, f"{where}.{key}") if key in value else [f"{where}.{key} is missing"])]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{where} is no list"]
        return [line for i, one in enumerate(value) for line in differences(one, shape[0], f"{where}[{i}]")]
    return [] if isinstance(value, shape) else [f"{where} is {value!r}"]


def check(results):
    """Raises ValueError with the first differences."""
    found = differences(results, SHAPE)
    if results.get("schema") != SCHEMA:
        found.insert(0, f"schema is {results.get('schema')!r}, not {SCHEMA!r}")
    if found:
        raise ValueError("; ".join(found[:5]))


def write(path, results):
    pathlib.Path(path).write_text(json.dumps(results, indent=1) + "\n")


def read(path):
    results = json.loads(pathlib.Path(path).read_text())
    check(results)
    return results
