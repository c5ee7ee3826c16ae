"""Runs programs on both candidates, several processes at a time, and compares case by case."""
import concurrent.futures
import dataclasses
import os
import threading

from tooling.places import ToolError

from rocksdb_suites import gtest_program
from rocksdb_suites.candidates import Posix, Zenfs
from rocksdb_suites.differences import reason_for
from rocksdb_suites.gtest_program import FAILED, PASSED, SKIPPED, Case

PROCESSES = 2 * (os.cpu_count() or 1)  # most cases wait more than they compute
WHOLE = "(the volume afterwards)"  # in place of a case: what is wrong with the volume as a whole


@dataclasses.dataclass
class Difference:
    case: str
    posix: str  # verdicts
    zenfs: str
    reason: str  # empty: nobody expected it
    evidence: str


@dataclasses.dataclass
class Result:
    """Of one program. `stale` are listed differences that are none any more."""

    program: str
    cases: int
    passed: dict  # by candidate's name
    skipped: dict
    seconds: dict
    differences: list
    unsteady: list  # cases that failed on one of both, and passed when all was run again
    stale: list
    also_on_posix: list  # cases that fail on both
    error: str = ""


def not_run(name, reason):
    nothing = {Posix.name: 0, Zenfs.name: 0}
    return Result(name, 0, nothing, nothing, nothing, [], [], [], [], error=reason)


class Runner:
    """Threads: run() from one. `screen` shows progress; `place` is the directory of programs, logs and devices,
    `tests` that of POSIX (None: tmpfs)."""

    def __init__(self, place, tests, screen, listed):
        self.place, self.tests, self.screen, self.listed = place, tests, screen, listed
        self.lock = threading.Lock()
        self.doing = {}
        (place / "logs").mkdir(parents=True, exist_ok=True)

    def progress(self, job, text):
        with self.lock:
            if text:
                self.doing[job] = f"{job} {text}"
            else:
                self.doing.pop(job, None)
            self.screen.working(", ".join(self.doing.values()))

    def run_part(self, program, candidate, part, again=False):
        """{case: Case} of a part of the program, on a candidate of its own."""
        binary = self.place / "programs" / program.name
        job = f"{program.name} on {candidate.name}" + (f" {part[0] + 1}/{part[1]}" if part[1] > 1 else "")
        log_name = ".".join([program.name, candidate.name, *(["again"] if again else []), str(part[0]), "log"])
        with candidate(self.place / "work", self.tests, program) as place:
            environment = place.environment()
            cases = gtest_program.list_cases(binary, environment)
            wanted = len(cases[part[0]::part[1]])
            self.progress(job, f"0/{wanted}")
            try:
                with (self.place / "logs" / log_name).open("wb") as log:
                    results = gtest_program.run_cases(
                        binary, cases, part, environment, place.directory, log, program.seconds,
                        lambda done, _: self.progress(job, f"{done}/{wanted}"))
                wrong = place.verdict()
            finally:
                self.progress(job, "")
        if wrong:
            results[WHOLE] = Case(FAILED, 0, wrong)
        return results

    def settle(self, program, results, parts):
        """Runs a candidate's parts once more if a case failed on it alone that nobody expects to: one that passes then,
        in the same surroundings, was disturbed by the machine's load. Gives the names of those, and makes them passed."""
        unsteady = []
        for candidate, other in ((Posix, Zenfs), (Zenfs, Posix)):
            mine, others = results[candidate.name], results[other.name]
            doubtful = [case for case, got in mine.items() if got.verdict not in (PASSED, SKIPPED) and case != WHOLE
                        and others.get(case, got).verdict in (PASSED, SKIPPED)
                        and not reason_for(self.listed, program.name, case)]
            if not doubtful:
                continue
            again = {}
            for part in range(parts):
                again |= self.run_part(program, candidate, (part, program.parts), again=True)
            for case in doubtful:
                if case in again and again[case].verdict == PASSED:
                    mine[case] = again[case]
                    unsteady.append(f"{case} on {candidate.name}")
        return unsteady

    def result(self, program, results, parts_run):
        posix, zenfs = results["posix"], results["zenfs"]
        unsteady = self.settle(program, results, parts_run)
        differences, both = [], []
        for case in sorted(set(posix) | set(zenfs), key=list(dict.fromkeys([*zenfs, *posix])).index):
            # env_basic_test has cases that exist only where TEST_FS_URI is set.
            ours, host = zenfs.get(case), posix.get(case)
            verdict = host.verdict if host else PASSED
            if ours is None:
                ours = Case("missing", 0)
            if ours.verdict == verdict:
                if verdict not in (PASSED, SKIPPED):
                    both.append(case)
            elif ours.verdict != PASSED:
                if verdict in (PASSED, SKIPPED) or ours.verdict == "missing":
                    differences.append(Difference(case, verdict, ours.verdict,
                                                  reason_for(self.listed, program.name, case) or "", ours.evidence))
                else:
                    both.append(case)
        differing = {one.case for one in differences}
        stale = [f"{one.pattern}" for one in self.listed if one.program == program.name and any(
            one.covers(program.name, case) for case in zenfs if case not in differing and case not in both)]
        if parts_run == program.parts:
            stale += [one.pattern for one in self.listed if one.program == program.name
                      and not any(one.covers(program.name, case) for case in zenfs)]
        count = {name: sum(got.verdict == PASSED for case, got in cases.items() if case != WHOLE)
                 for name, cases in results.items()}
        skipped = {name: sum(got.verdict == SKIPPED for got in cases.values()) for name, cases in results.items()}
        seconds = {name: sum(got.seconds for got in cases.values()) for name, cases in results.items()}
        return Result(program.name, len([case for case in zenfs if case != WHOLE]), count, skipped, seconds, differences,
                      unsteady, stale, both)

    def run(self, programs, quick, done):
        """done(Result) is called for each program, in their order, as soon as it has ended."""
        with concurrent.futures.ThreadPoolExecutor(PROCESSES) as pool:
            jobs = []
            for program in programs:
                count = program.quick if quick else program.parts
                jobs.append([(candidate.name, pool.submit(self.run_part, program, candidate, (part, program.parts)))
                             for part in range(count) for candidate in (Posix, Zenfs)])
            try:
                for program, parts in zip(programs, jobs):
                    results = {Posix.name: {}, Zenfs.name: {}}
                    try:
                        for name, future in parts:
                            results[name] |= future.result()
                        done(self.result(program, results, len(parts) // 2))
                    except ToolError as error:
                        done(not_run(program.name, str(error)))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
