"""results.json: what was measured, of which programs, and which units have ended, so that a run can be continued."""
import json
import os
import pathlib

from tooling.places import ToolError

SCHEMA = "zenfs-peers-1"


class Results:
    """Written after each unit. A unit has ended if it was measured or has failed; only then are its samples kept."""

    def __init__(self, path, setup):
        self.path = pathlib.Path(path)
        self.setup, self.samples, self.failures, self.ended = setup, [], [], []
        self.outside = []
        self.postponed = []  # not written: units of this run that are measured again
        if self.path.exists():
            self.load()

    def load(self):
        try:
            found = json.loads(self.path.read_text())
        except ValueError as error:
            raise ToolError(f"{self.path}: {error}") from error
        if found.get("schema") != SCHEMA:
            raise ToolError(f"{self.path} has no results of this command")
        differing = [name for name, value in self.setup.items() if found["setup"].get(name) != value]
        if differing:
            raise ToolError(f"{self.path} was measured with other {', '.join(differing)}: remove it, or name another --out")
        self.samples, self.failures, self.ended = found["samples"], found["failures"], found["ended"]
        self.outside = found["outside"]

    def add(self, unit, samples, failures):
        self.samples += samples
        self.failures += failures
        self.ended.append(unit)
        self.write()

    def forget_failures(self):
        """Units that have failed are pending again."""
        failed = [unit_of(one) for one in self.failures]
        self.samples = [one for one in self.samples if unit_of(one) not in failed]
        self.ended = [one for one in self.ended if one not in failed]
        self.failures = []

    def pending(self, units):
        return [one for one in units if one not in self.ended]

    def document(self):
        return {"schema": SCHEMA, "setup": self.setup, "ended": self.ended, "samples": self.samples, "failures": self.failures,
                "outside": self.outside}

    def write(self):
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps(self.document(), indent=1) + "\n")
        os.replace(fresh, self.path)


def unit_of(record):
    return {name: record[name] for name in ("repetition", "case", "candidate")}


def units_of(turns, case_names, candidates):
    """By turns; each case begins with another candidate than the case and the turn before."""
    found = []
    for turn in range(turns):
        for number, case in enumerate(case_names):
            first = (turn + number) % len(candidates)
            found += [{"repetition": turn, "case": case, "candidate": name} for name in candidates[first:] + candidates[:first]]
    return found
