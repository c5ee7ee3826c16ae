"""The table that a person reads, the same as Markdown, and the results as JSON."""
import dataclasses

from tooling import report

SHOWN = 5
HEAD = ("program", "cases", "POSIX", "ZenFS", "skipped", "differences")


def differences_of(result):
    if result.error:
        return "NOT RUN: " + result.error
    listed = sum(bool(one.reason) for one in result.differences)
    unexpected = len(result.differences) - listed
    notes = ([f"{listed} listed"] if listed else []) + ([f"{unexpected} UNEXPECTED"] if unexpected else [])
    notes += [f"{len(result.stale)} LISTED AND NONE"] if result.stale else []
    notes += [f"{len(result.also_on_posix)} fail on both"] if result.also_on_posix else []
    notes += [f"{len(result.unsteady)} unsteady"] if result.unsteady else []
    return ", ".join(notes)


def row(result):
    return (result.program, str(result.cases), str(result.passed["posix"]), str(result.passed["zenfs"]),
            str(result.skipped["zenfs"]), differences_of(result))


def line(result):
    name, cases, posix, zenfs, skipped, differences = row(result)
    seconds = f"{result.seconds['posix']:.0f} + {result.seconds['zenfs']:.0f} s"
    return f"{name:38} {cases:>6} {posix:>6} {zenfs:>6} {skipped:>7}  {seconds:>12}  {differences}"


def head():
    return f"{HEAD[0]:38} {HEAD[1]:>6} {HEAD[2]:>6} {HEAD[3]:>6} {HEAD[4]:>7}  {'time':>12}  {HEAD[5]}"


def details(result):
    """Lines below the program's own: each difference with its reason; of the first that nobody expected, what they
    printed (of all it is in the JSON)."""
    lines, shown = [], 0
    for one in result.differences:
        lines.append(f"    {one.case}: {one.zenfs}, on POSIX {one.posix}. {one.reason or 'UNEXPECTED'}")
        if not one.reason and shown < SHOWN:
            shown += 1
            lines += ["      | " + text for text in one.evidence.splitlines() if text.strip()]
    lines += [f"    {pattern}: listed in differences.txt, and does not differ" for pattern in result.stale]
    lines += [f"    {case}: fails on POSIX too" for case in result.also_on_posix]
    lines += [f"    {case}: passed when all was run again" for case in result.unsteady]
    return lines


def total(results):
    return tuple(sum(numbers) for numbers in zip((0, 0, 0, 0), *[(result.cases, result.passed["posix"], result.passed["zenfs"],
                                                    result.skipped["zenfs"]) for result in results]))


def markdown(results):
    """Tables of all programs and differences; docs/testing/rocksdb.md has a summary."""
    lines = ["| program | cases | passed on POSIX | passed on ZenFS | skipped by themselves | |", "|---|--:|--:|--:|--:|---|"]
    lines += ["| " + " | ".join(row(result)) + " |" for result in results]
    lines += ["| **all** | " + " | ".join(f"**{number}**" for number in total(results)) + " | |", ""]
    lines += ["| why they differ | program | cases |", "|---|---|---|"]
    for (reason, program), cases in cases_by_reason(results).items():
        lines.append(f"| {reason or 'not known'} | {program} | {', '.join(f'`{case}`' for case in cases)} |")
    return "\n".join(lines) + "\n"


def cases_by_reason(results):
    """{(reason, program): [case]}"""
    found = {}
    for result in results:
        for one in result.differences:
            found.setdefault((one.reason, result.program), []).append(one.case)
    return found


def failures(result):
    """How many things are wrong that nobody expected."""
    return sum(not one.reason for one in result.differences) + len(result.stale) + bool(result.error)


def write_json(file, results, complete):
    """An incomplete run counts as one failure more, so that a run that was cut off does not pass."""
    report.write_json(file, {"complete": complete, "cases_passed": total(results)[2],
                             "failures": sum(failures(result) for result in results) + (not complete),
                             "programs": [dataclasses.asdict(result) for result in results]})
