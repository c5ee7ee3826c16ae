"""Holds the mutations of the simulator to the code that they break: what `scripts/check-style` asks of them.

A mutation replaces a piece of a file, which must be there exactly once: a change of the code can't leave one behind that
breaks nothing, or something else.
"""
import runpy

MUTATIONS = "tests/simulation/simulator/mutations.py"


def check(root, report):
    """Calls report(page, line, what) for each mutation whose piece is not there once."""
    path = root / MUTATIONS
    if not path.exists():
        return
    lines = path.read_text(encoding="utf-8").split("\n")
    for mutation in runpy.run_path(str(path))["MUTATIONS"]:
        for piece in mutation.pieces:
            source = root / piece.file
            times = source.read_text(encoding="utf-8").count(piece.old) if source.exists() else 0
            if times != 1:
                line = next((n for n, text in enumerate(lines, 1) if f'"{mutation.name}"' in text), 1)
                report(MUTATIONS, line, f"{mutation.name}: what it replaces is {times} times in {piece.file}, not once")
