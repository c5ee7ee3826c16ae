"""One phase of one case on one place: the command, and its figures."""
from trial import db_bench_output, process
from trial.sets import KEY_BYTES, live_keys

COMMON = ["--compression_type=none", f"--key_size={KEY_BYTES}", "--use_direct_reads=1",
          "--use_direct_io_for_flush_and_compaction=1", "--max_background_jobs=2", "--bloom_bits=10", "--cache_size=8388608",
          "--open_files=-1", "--write_buffer_size=33554432", "--target_file_size_base=62914560",
          "--max_bytes_for_level_base=134217728", "--max_bytes_for_level_multiplier=4", "--histogram=1",
          "--stats_interval_seconds=0"]
# The flush and the compactions that the writes of a phase have caused belong to it. db_bench sleeps while it waits.
SETTLE = ["flush", "waitforcompaction"]


def command(programs, case, phase, place, options, repetition, first):
    benchmarks = [phase.benchmark] + (SETTLE if phase.settle else [])
    words = [programs.db_bench, f"--benchmarks={','.join(benchmarks)}", f"--db={place.db}"]
    if place.fs_uri:
        words.append(f"--fs_uri={place.fs_uri}")
    words += COMMON
    words += [f"--num={case.keys}", f"--value_size={case.value_bytes}", f"--threads={phase.threads}",
              f"--seed={1000 + repetition}", f"--use_existing_db={0 if first else 1}"]
    if phase.bounded:
        words.append(f"--duration={options.seconds}")
    overridden = {flag.split("=")[0] for flag in phase.flags}
    return [word for word in map(str, words) if word.split("=")[0] not in overridden] + phase.flags


def written_keys(phase, result):
    """Keys that the phase has put into the database, and how they were drawn."""
    if phase.distinct:
        return phase.distinct, result.operations
    beside = [one.count for one in result.histograms if one.kind == "write"]
    return ("random", beside[0]) if beside and phase.benchmark == "readwhilewriting" else ("random", 0)


def run_phase(phase, place, words, log, patience, tick):
    """(Finished, Result). Raises ProcessFailed, also when db_bench prints no result."""
    finished = process.run(words, log, place.environment(), patience, tick)
    result = db_bench_output.result_of(finished.output, phase.benchmark)
    if result is None or result.operations == 0:
        raise process.ProcessFailed(f"printed no result of {phase.benchmark}", finished.output)
    return finished, result


def write_figures(case, device_bytes, user_bytes):
    """Bytes that the device writes for each of the user's; what finishes may add is among them."""
    if user_bytes == 0:
        return {}
    return {"user_bytes": user_bytes, "write_amplification": sum(device_bytes.values()) / user_bytes}


def space_figures(case, place, writes):
    live = live_keys(case, writes) * (KEY_BYTES + case.value_bytes)
    used, set_aside = place.used_bytes()
    return {"used_bytes": used, "set_aside_bytes": set_aside, "live_bytes": live,
            "space_amplification": used / live if live else None}


def figures(case, phase, place, finished, result, writes):
    """A sample: see docs/bench.md. `writes` are those of this and all earlier phases on the place."""
    emulation = place.emulation_cpu_seconds()
    device_bytes = place.device_bytes(finished)
    main = result.histograms[0] if result.histograms else None
    sample = {
        "ops_per_second": result.ops_per_second,
        "operations": result.operations,
        "seconds": result.seconds,
        "latency_us": {**main.percentiles, "mean": main.mean, "max": main.max} if main else {},
        "cpu_us_per_op": max(0.0, finished.cpu_seconds - emulation) / result.operations * 1e6,
        "emulation_cpu_us_per_op": emulation / result.operations * 1e6,
        "process_seconds": finished.wall_seconds,
        "device_bytes": device_bytes,
        "max_rss_bytes": finished.max_rss_bytes,
    }
    sample.update(write_figures(case, device_bytes, writes[-1][1] * (KEY_BYTES + case.value_bytes)))
    sample.update(space_figures(case, place, writes))
    return sample
