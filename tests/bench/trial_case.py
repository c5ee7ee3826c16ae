"""What the tests of the bench share."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "scripts")]


def sample(case, phase, candidate, repetition, rate, **more):
    return {"case": case, "phase": phase, "candidate": candidate, "repetition": repetition, "ops_per_second": rate,
            "operations": 1000, "seconds": 1.0, "latency_us": {"p50": 2.0, "p99": 9.5, "p99.9": 800.0, "p99.99": 12000.0},
            "cpu_us_per_op": 3.0, "emulation_cpu_us_per_op": 0.5, "device_bytes": {"data": 5000, "wal": 2000, "finish": 100},
            "user_bytes": 3000, "write_amplification": 2.4, "used_bytes": 4000, "set_aside_bytes": 0, "live_bytes": 2000,
            "space_amplification": 2.0, **more}


def results(samples, base, failures=()):
    from trial import results as document, summary
    names = list(dict.fromkeys(one["candidate"] for one in samples))
    return {"schema": document.SCHEMA, "set": "quick", "title": "a first look", "started": "2026-11-22 10:00:00",
            "seconds": 1.5, "command": "scripts/bench quick", "base": base,
            "machine": {"processor": "Z80 <A&B>", "processors": 2, "memory_gib": 23.0, "kernel": "6.18", "distribution": "Debian",
                        "load_before": 0.5},
            "programs": {"db_bench": "db_bench", "rocksdb": "11.8.1", "zenfs": "zenfs 3"},
            "options": {"repetitions": 2, "seconds": 5},
            "candidates": [{"name": name, "kind": "posix", "description": f"<{name}>"} for name in names],
            "cases": [{"name": "random", "title": "Random & more", "keys": 10, "value_bytes": 100, "phases": ["fillrandom"]}],
            "commands": {"random/fillrandom/a": ["db_bench", "--num=10"]}, "samples": samples,
            "summary": summary.summarise(samples, base), "failures": list(failures)}
