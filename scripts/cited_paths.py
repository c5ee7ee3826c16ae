"""Holds comments to the files that they name: what `scripts/check-style` asks of paths like docs/NAME.md and volume/NAME.h.

A path may begin at the root of the tree, at src/, src/backends/ or tests/, or at a folder above the file that names it.
Pages are also looked for outside of comments: texts for users name them.
"""
import re

# Of the kernel and of RocksDB.
FOREIGN = ("linux/", "fs/zonefs/", "rocksdb/", "sys/")
PLACEHOLDER = "NAME"
TOP = r"docs|src|tests|scripts|cmake|bench|examples|packaging"
FILE = r"(?:[\w.-]+/)+[\w-]+(?:\.(?:md|h|cc|py|cmake|txt|sh))"
EDGE = r"(?<![\w./$~{}<>*-])"
PATH = re.compile(rf"{EDGE}(?:({FILE})|((?:{TOP})/[\w./-]*\w))(?![\w/*{{$<]|\.\w)")
PAGE = re.compile(rf"{EDGE}(docs/[\w./-]+\.md)\b")
ROOTS = ("", "src", "src/backends", "tests")


def comment_of(path, line):
    """The comment at the end of a line; empty if there is none. A literal with the mark of a comment is one, too."""
    mark = r"(?<!:)//(.*)" if path.endswith((".cc", ".h", ".java")) else r"(?:^|\s)#(.*)"
    found = re.search(mark, line)
    return found.group(1) if found else ""


def docstrings(text):
    """The text with all but its strings in triple quotes blanked out."""
    kept = [""] * (text.count("\n") + 1)
    for found in re.finditer(r'"""(.*?)"""', text, re.S):
        first = text.count("\n", 0, found.start())
        for number, line in enumerate(found.group(1).split("\n")):
            kept[first + number] += line
    return kept


def exists(root, path, cited):
    if any((root / top / cited).exists() for top in ROOTS):
        return True
    return any((root / parent / cited).exists() for parent in path.parents)


def cited_in(path, text):
    """(line, path) of each path that the text of a file names."""
    words = docstrings(text) if path.suffix in (".py", "") else None
    for number, line in enumerate(text.split("\n"), 1):
        cited = [a or b for a, b in PATH.findall(comment_of(path.name, line))]
        if words:
            cited += [a or b for a, b in PATH.findall(words[number - 1])]
        cited += PAGE.findall(line)
        for each in dict.fromkeys(cited):
            if not each.startswith(FOREIGN) and PLACEHOLDER not in each:
                yield number, each


def check(root, path, text, report):
    """Calls report(path, line, what) for each path that `path`, relative to `root`, names and that is not there."""
    for number, cited in cited_in(path, text):
        if not exists(root, path, cited):
            report(path.as_posix(), number, f"there is no {cited}")
