"""Runs each case on the candidates in turn, A B C A B C, so that other load of the machine affects all of them
equally."""
from tooling.places import ToolError

from trial import measure
from trial.db_bench import DbBench
from tooling.process import ProcessFailed
from trial.sets import case_bytes
from trial.ycsb import Ycsb


class Run:
    def __init__(self, programs, options, candidates, folder, screen):
        self.programs, self.options, self.candidates = programs, options, candidates
        self.folder, self.screen = folder, screen
        self.engines = {"db_bench": DbBench(programs, options)}
        if programs.ycsb:
            self.engines["ycsb"] = Ycsb(programs.ycsb)
        self.samples, self.failures, self.commands = [], [], {}
        self.broken = set()  # (case, candidate): failed once and are not tried again

    def run(self, cases):
        self.check(cases)
        total = len(cases) * self.options.repetitions * len(self.candidates)
        step = 0
        for case in cases:
            for repetition in range(self.options.repetitions):
                for candidate in self.candidates:
                    step += 1
                    if (case.name, candidate.name) not in self.broken:
                        self.turn(case, candidate, repetition, f"{step}/{total}")

    def check(self, cases):
        """Reports all foreseeable errors before the first measurement."""
        most = max(map(case_bytes, cases))
        for candidate in self.candidates:
            candidate.check(most)

    def turn(self, case, candidate, repetition, step):
        place = candidate.make(case_bytes(case))
        try:
            writes = []
            for number, phase in enumerate(case.phases):
                self.screen.working(f"{step} {case.name}: {phase.name} on {candidate.name}")
                if not self.phase(case, phase, candidate, place, repetition, number == 0, writes):
                    self.broken.add((case.name, candidate.name))
                    break
        finally:
            self.remove(place, candidate)

    def phase(self, case, phase, candidate, place, repetition, first, writes):
        engine = self.engines[case.engine]
        words = engine.words(case, phase, place, repetition, first, self.folder)
        self.commands.setdefault(f"{case.name}/{phase.name}/{candidate.name}", self.shown(words, engine.environment(place)))
        try:
            finished, result = measure.run_phase(engine, phase, place, words, self.folder, self.options.patience,
                                                 self.screen.tick)
            writes.append(engine.written(phase, result))
            sample = measure.figures(case, phase, place, finished, result, writes)
        except ProcessFailed as failed:
            self.failed(case, phase, candidate, failed.reason, failed.tail)
            return False
        except (ToolError, OSError, ValueError, KeyError) as error:
            self.failed(case, phase, candidate, f"its figures can't be had: {error}", "")
            return False
        self.samples.append({"case": case.name, "phase": phase.name, "candidate": candidate.name,
                             "repetition": repetition, **sample})
        return True

    def failed(self, case, phase, candidate, reason, tail):
        self.failures.append({"case": case.name, "phase": phase.name, "candidate": candidate.name, "reason": reason,
                              "tail": tail})
        self.screen.line(f"bench: {case.name}, {phase.name} on {candidate.name}: {case.engine} {reason}")
        for line in tail.splitlines():
            self.screen.line(f"    | {line}")

    def remove(self, place, candidate):
        try:
            place.remove()
        except (ToolError, OSError) as error:
            self.screen.line(f"bench: {candidate.name}: {place.db} is left behind: {error}")
            self.failures.append({"case": "", "phase": "", "candidate": candidate.name, "tail": "",
                                  "reason": f"{place.db} is left behind: {error}"})

    @staticmethod
    def shown(words, environment):
        return [f"{name}={value}" for name, value in environment.items()] + [str(word) for word in words]
