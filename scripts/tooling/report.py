"""The results of a tool as JSON: scripts/test reads how many passed and failed."""
import json
import pathlib
import sys

STANDARD_OUTPUT = "-"


def write_json(path, content):
    """Into a file, or to the standard output for "-"; nowhere without a path."""
    text = json.dumps(content, indent=1) + "\n"
    if path == STANDARD_OUTPUT:
        sys.stdout.write(text)
    elif path:
        pathlib.Path(path).write_text(text, encoding="utf-8")


def counts(results, good):
    """{"passed", "failed"} of results, of which those are good that `good` holds for."""
    passed = sum(bool(good(result)) for result in results)
    return {"passed": passed, "failed": len(results) - passed}
