"""The cases that are known to fail on ZenFS and pass on POSIX, each with the reason: read from differences.txt."""
import dataclasses
import fnmatch

from tooling.places import ROOT, ToolError



@dataclasses.dataclass(frozen=True)
class Difference:
    program: str
    pattern: str  # of cases, as a shell's
    reason: str

    def covers(self, program, case):
        return program == self.program and fnmatch.fnmatchcase(case, self.pattern)


def parse(text):
    """A reason stands before the cases it is for, as a line that ends with ':'."""
    differences, reason = [], ""
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()
        if line.endswith(":"):
            reason = line[:-1]
        elif line:
            words = line.split(None, 1)
            if len(words) != 2 or not reason:
                raise ToolError(f"differences.txt:{number}: not 'PROGRAM CASE' below a reason")
            differences.append(Difference(*words, reason))
    return differences


def listed():
    return parse((ROOT / "tests" / "rocksdb_suites" / "differences.txt").read_text())


def reason_for(differences, program, case):
    return next((one.reason for one in differences if one.covers(program, case)), None)
