"""The command line of a phase, in the guest and outside."""
from types import SimpleNamespace

from trial import sets
from trial.db_bench import DbBench


def words(programs, case, phase, place, turn, acknowledged):
    """`acknowledged`: the file of files.cc."""
    if phase.program != "db_bench":
        return files(programs, phase.program, phase.keys, place, acknowledged)
    engine = DbBench(SimpleNamespace(db_bench=programs["db_bench"]), SimpleNamespace(seconds=phase.seconds))
    described = sets.Phase(phase.name, phase.benchmark, phase.flags, phase.threads, phase.seconds is not None, None, phase.settle,
                           phase.after)
    return engine.words(sets.Case(case.name, "", phase.value_bytes, phase.keys, [described]), described, place, turn,
                        not phase.existing, None)


def files(programs, verb, count, place, acknowledged):
    return [programs["files"], place.fs_uri or "posix", verb, place.db, count, acknowledged]
