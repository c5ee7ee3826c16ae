"""Measures one phase of one case on one place."""
from tooling import process
from trial.sets import KEY_BYTES, live_keys


def run_phase(engine, phase, place, words, folder, patience, tick):
    """(Finished, Result). Raises ProcessFailed, also when there is no result."""
    finished = process.run(words, folder / "output.log", engine.environment(place), patience, tick)
    result = engine.result(phase, finished.output, folder)
    if result is None or result.operations == 0:
        raise process.ProcessFailed(f"printed no result of {phase.name}", finished.output)
    return finished, result


def write_figures(case, device_bytes, user_bytes):
    """Bytes that the device writes per byte of the user, with those that finishes may add."""
    if user_bytes == 0:
        return {}
    return {"user_bytes": user_bytes, "write_amplification": sum(device_bytes.values()) / user_bytes}


def space_figures(case, place, writes):
    live = live_keys(case, writes) * (KEY_BYTES + case.value_bytes)
    used, set_aside = place.used_bytes()
    return {"used_bytes": used, "set_aside_bytes": set_aside, "live_bytes": live,
            "space_amplification": used / live if live else None}


def figures(case, phase, place, finished, result, writes):
    """A sample: see docs/use/bench.md. `writes` are those of this and all earlier phases on the place."""
    emulation = place.emulation_cpu_seconds()
    device_bytes = place.device_bytes(finished)
    main = result.histograms[0] if result.histograms else None
    sample = {
        "ops_per_second": result.ops_per_second,
        "operations": result.operations,
        "seconds": result.seconds,
        "latency_us": {**main.percentiles, "mean": main.mean, "max": main.max} if main else {},
        "cpu_us_per_op": None if phase.after else max(0.0, finished.cpu_seconds - emulation) / result.operations * 1e6,
        "emulation_cpu_us_per_op": None if phase.after else emulation / result.operations * 1e6,
        "process_seconds": finished.wall_seconds,
        "device_bytes": device_bytes,
        "max_rss_bytes": finished.max_rss_bytes,
    }
    sample.update(write_figures(case, device_bytes, writes[-1][1] * (KEY_BYTES + case.value_bytes)))
    sample.update(space_figures(case, place, writes))
    return sample
