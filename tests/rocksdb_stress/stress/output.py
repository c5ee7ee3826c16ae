"""What a run of db_stress says of itself."""
import dataclasses
import re


@dataclasses.dataclass
class Said:
    opened: bool  # the database was opened, and its operations begun
    recovered: bool  # all that a crash left was compared with what had been written, and was right
    verified: bool  # the same after the last operation
    operations: int  # at least
    complaint: str  # what it says is wrong; empty if nothing
    last_line: str  # of its errors: what it says when it ends for a reason not thought of here


def operations(text):
    """Threads report 100, 200, ... operations, each for itself: what a thread has reached counts once."""
    found = re.search(r"% of (\d+) ops\)", text)
    if found:
        return int(found[1])
    marks = [int(number) for number in re.findall(r"\.\.\. finished (\d+) ops", text)]
    steps = sorted(set(marks))
    return sum(marks.count(mark) * (mark - before) for before, mark in zip([0] + steps, steps))


COMPLAINTS = re.compile(r"verification failed|Assertion .* failed|error in opening|open error|terminate called|"
                        r"Sanitizer: |: runtime error: ", re.I)


def read(out, err):
    complaint = ""
    for line in (err + "\n" + out).splitlines():
        if COMPLAINTS.search(line) and not line.startswith("WARNING"):
            complaint = line.strip()
            break
    return Said(opened="Starting database operations" in out, recovered="Crash-recovery verification passed" in out,
                verified="Verification successful" in out, operations=operations(out), complaint=complaint,
                last_line=err.strip().splitlines()[-1] if err.strip() else "it printed no error")
