"""Loads and runs of several candidates, by turns."""


def measure(client, candidates, workloads, work, turns=3, progress=lambda line: None):
    """{"load": {candidate: [sample, ...]}, "a": {candidate: [sample, ...]}, ...}

    For each workload and turn every candidate gets a fresh place, a load and a run, A B A B, so that what the machine
    does meanwhile hits all of them. The loads of all workloads are alike and share one list. Samples with the same
    place in the lists were taken one right behind the other. Raises client.YcsbFailed.
    """
    results = {"load": {}} | {workload: {} for workload in workloads}
    for workload in workloads:
        for turn in range(turns):
            for candidate in candidates:
                progress(f"workload {workload}, turn {turn + 1} of {turns}: {candidate.name}")
                with candidate.fresh() as place:
                    results["load"].setdefault(candidate.name, []).append(client.load(place, workload, work))
                    results[workload].setdefault(candidate.name, []).append(client.run(place, workload, work))
    return results
