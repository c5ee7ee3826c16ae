"""db_bench as the engine: its arguments for a phase, and its result."""
from trial import db_bench_output
from trial.sets import KEY_BYTES

COMMON = ["--compression_type=none", f"--key_size={KEY_BYTES}", "--use_direct_reads=1",
          "--use_direct_io_for_flush_and_compaction=1", "--max_background_jobs=2", "--bloom_bits=10", "--cache_size=8388608",
          "--open_files=-1", "--write_buffer_size=33554432", "--target_file_size_base=62914560",
          "--max_bytes_for_level_base=134217728", "--max_bytes_for_level_multiplier=4", "--histogram=1",
          "--stats_interval_seconds=0"]
# The flush and the compactions that the writes of a phase have caused belong to it. db_bench sleeps while it waits.
SETTLE = ["flush", "waitforcompaction"]


class DbBench:
    """An engine. Another one (ycsb.py) has the same calls."""
    def __init__(self, programs, options):
        self.program, self.seconds = programs.db_bench, options.seconds

    def words(self, case, phase, place, repetition, first, _folder):
        benchmarks = [*phase.after, phase.benchmark] + (SETTLE if phase.settle else [])
        words = [self.program, f"--benchmarks={','.join(benchmarks)}", f"--db={place.db}"]
        if place.fs_uri:
            words.append(f"--fs_uri={place.fs_uri}")
        words += COMMON
        words += [f"--num={case.keys}", f"--value_size={case.value_bytes}", f"--threads={phase.threads}",
                  f"--seed={1000 + repetition}", f"--use_existing_db={0 if first else 1}"]
        if phase.bounded:
            words.append(f"--duration={self.seconds}")
        overridden = {flag.split("=")[0] for flag in phase.flags}
        return [word for word in map(str, words) if word.split("=")[0] not in overridden] + phase.flags

    def environment(self, place):
        return place.environment()

    def result(self, phase, output, _folder):
        """A db_bench_output.Result, or None if there is none."""
        return db_bench_output.result_of(output, phase.benchmark)

    def written(self, phase, result):
        """How the keys of a phase were drawn, and how many keys it wrote."""
        if phase.distinct:
            return phase.distinct, result.operations
        beside = [one.count for one in result.histograms if one.kind == "write"]
        return "random", beside[0] if beside and phase.benchmark == "readwhilewriting" else 0
