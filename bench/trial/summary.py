"""Medians over repetitions, and ratios to the first candidate: the median of the ratios of each turn."""
import statistics

# Figure -> whether more is better.
RATIOS = {"ops_per_second": True, "cpu_us_per_op": False}
MEDIANS = ("ops_per_second", "cpu_us_per_op", "emulation_cpu_us_per_op", "write_amplification", "space_amplification",
           "used_bytes", "user_bytes")


def median(values):
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def median_of_maps(maps):
    """{key: median} over those of `maps` that have the key."""
    keys = dict.fromkeys(key for one in maps for key in one)
    return {key: median([one[key] for one in maps if key in one]) for key in keys}


def ratio(samples, base, figure):
    """Uses the turns that both have."""
    theirs = {one["repetition"]: one.get(figure) for one in base}
    ratios = [one[figure] / theirs[one["repetition"]] for one in samples
              if one.get(figure) is not None and theirs.get(one["repetition"])]
    return median(ratios)


def limit_of(candidate):
    """The ideal candidate with the device times of this one, if there is one."""
    return "ideal-" + candidate.removeprefix("zenfs-") if candidate.startswith("zenfs-") else None


def row(samples, base, limit):
    first = samples[0]
    out = {"case": first["case"], "phase": first["phase"], "candidate": first["candidate"], "repetitions": len(samples)}
    out.update({figure: median([one.get(figure) for one in samples]) for figure in MEDIANS})
    out["ops_per_second_range"] = [min(one["ops_per_second"] for one in samples), max(one["ops_per_second"] for one in samples)]
    out["latency_us"] = median_of_maps([one["latency_us"] for one in samples])
    out["device_bytes"] = median_of_maps([one["device_bytes"] for one in samples])
    out["ratio"] = {figure: ratio(samples, base, figure) for figure in RATIOS}
    out["of_limit"] = ratio(samples, limit, "ops_per_second")
    return out


def summarise(samples, base_name):
    """A row for each case, phase and candidate, in the order of the measurement, with the candidates of a phase together."""
    phases, candidates, groups = {}, {}, {}
    for sample in samples:
        phase = phases.setdefault((sample["case"], sample["phase"]), len(phases))
        candidate = candidates.setdefault(sample["candidate"], len(candidates))
        groups.setdefault((phase, candidate), []).append(sample)
    names = list(candidates)

    def measured(phase, name):
        return groups.get((phase, candidates.get(name)), [])

    return [row(group, measured(phase, base_name), measured(phase, limit_of(names[candidate])))
            for (phase, candidate), group in sorted(groups.items())]
