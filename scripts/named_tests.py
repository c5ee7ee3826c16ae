"""Holds the pages that name tests to it: what `scripts/check-style` asks of docs/internals/failures.md and its neighbours.

A test is named by a link to its file, with the suite and the name of the test as its text, for the languages C++ and Python. In
docs/internals/faults.md, whose rows name many of a few files, by its name alone.
"""
import re

PAGES = ("docs/internals/failures.md", "docs/internals/device-assumptions.md", "docs/testing/crashes.md")
NAMED = re.compile(r"\[`([\w/]+(?:\.\w+)?)`\]\((?:\.\./)+([\w/.-]+_test\.(?:cc|py))\)")

FAILURES = "docs/internals/failures.md"
# Of the older ZenFS, as they were numbered when they were found.
ROWS = ([f"D{n}" for n in range(1, 17)] + [f"R{n}" for n in range(1, 14) if n != 5] + [f"S{n}" for n in range(1, 4)]
        + [f"P{n}" for n in range(1, 6)])
ASSUMPTIONS = "docs/internals/device-assumptions.md"
NUMBERED = 12  # of the device itself; those of kernels are tried in the lab
FAULTS = "docs/internals/faults.md"


def line_of(test, path, text):
    """The line, from 0, on which `test` begins in `text`; None if it is not there."""
    if path.endswith(".py"):
        pattern = rf"^\s*def {re.escape(test)}\("
    else:
        suite, _, name = test.partition(".")
        pattern = rf"^(TEST|TEST_F|TEST_P|RC_GTEST_PROP)\({re.escape(suite)},\s*{re.escape(name)}\b"
    found = re.search(pattern, text, re.M)
    return text.count("\n", 0, found.start()) if found else None


def carries(row, line, text):
    """Whether the comment above that line, or the line itself, names the row."""
    lines = text.split("\n")
    first = line
    while first > 0 and lines[first - 1].lstrip().startswith(("//", "#")):
        first -= 1
    return any(re.search(rf"(//|#).*\b{row}\b", each) for each in lines[first:line + 1])


def check_rows(page, lines, tests_of, expected, report):
    rows = {}
    for number, line in enumerate(lines, 1):
        cell = re.match(r"\| ([DRSP]?\d+) \|", line)
        if cell:
            rows.setdefault(cell.group(1), number)
    for row in expected:
        if row not in rows:
            report(page, 1, f"{row} is missing")
        elif not tests_of.get(rows[row]):
            report(page, rows[row], f"{row} names no test")
    return rows


def tests_of(root, pattern):
    """Suites, tests and `Suite.Test`s of the files that fit the pattern."""
    names = set()
    for path in root.glob(pattern):
        text = path.read_text(encoding="utf-8")
        for suite, test in re.findall(r"^(?:TEST|TEST_F|TEST_P)\((\w+),\s*(\w+)\)", text, re.M):
            names |= {suite, test, f"{suite}.{test}"}
    return names


def files_by_letter(text):
    """What the head of docs/internals/faults.md says: `file` (LETTER). A file without a folder is in the last folder."""
    files = {}
    folder = ""
    for file, letter in re.findall(r"`([\w/*]+_test\.cc)`\s+\(([A-Z]+)\)", text):
        if "/" in file:
            folder = file[:file.rindex("/") + 1]
        files[letter] = file if "/" in file else folder + file
    return files


def check_segment(root, segment, files, report):
    """`segment`: LETTER `Test`, `Test`, or `file`: `Test`, or `file`."""
    named = re.findall(r"`([^`]+)`", segment)
    letter = re.match(r"\s*([A-Z]+)\b", segment)
    if letter:
        if letter[1] not in files:
            return report(f"the head of the page does not say what {letter[1]} is")
        pattern = files[letter[1]]
    elif named and named[0].endswith("_test.cc"):
        pattern = named.pop(0)
        if "/" not in pattern:
            pattern = "**/" + pattern
        if not any(root.glob(pattern)):
            return report(f"there is no {pattern}")
    else:
        return report(f"it does not say in which file: {segment.strip()}")
    known = tests_of(root, pattern)
    for test in named:
        if test not in known:
            report(f"{pattern} has no test {test}")


def check_faults(root, report):
    """docs/internals/faults.md names its tests without links, in the last column: of most rows several, of one file."""
    page = root / FAULTS
    if not page.exists():
        return
    text = page.read_text(encoding="utf-8")
    files = files_by_letter(text)
    for number, line in enumerate(text.split("\n"), 1):
        cells = line.split("|")[1:-1]
        if len(cells) < 3 or cells[-1].strip() in ("test", "---"):
            continue
        if "`" not in cells[-1]:
            report(FAULTS, number, "the row names no test")
        for segment in cells[-1].split(";"):
            check_segment(root, segment, files, lambda what, line=number: report(FAULTS, line, what))


def check(root, report):
    """Calls report(page, line, what) for each test that is named and does not exist, and each row without one."""
    check_faults(root, report)
    for page in PAGES:
        path = root / page
        if not path.exists():
            continue
        lines = path.read_text(encoding="utf-8").split("\n")
        tests_of = {}
        texts = {}
        for number, line in enumerate(lines, 1):
            for test, file in NAMED.findall(line):
                if not (root / file).exists() or file.endswith("/" + test):
                    continue  # a dead link, which is told elsewhere; a link to a file by its name
                text = texts.setdefault(file, (root / file).read_text(encoding="utf-8"))
                at = line_of(test, file, text)
                if at is None:
                    report(page, number, f"{file} has no test {test}")
                else:
                    tests_of.setdefault(number, []).append((file, at))
        if page == FAILURES:
            for row, number in check_rows(page, lines, tests_of, ROWS, report).items():
                if not any(carries(row, at, texts[file]) for file, at in tests_of.get(number, [])):
                    report(page, number, f"no comment above a test of {row} names it")
        if page == ASSUMPTIONS:
            check_rows(page, lines, tests_of, [str(n) for n in range(1, NUMBERED + 1)], report)
