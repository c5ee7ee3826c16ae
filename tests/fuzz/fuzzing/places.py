"""Where things are below the build folder."""
import os
import pathlib

SOURCE = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("BUILD_ROOT", SOURCE / "build")).resolve() / "fuzz"
PROGRAMS = BUILD / "fuzz"
SEEDS = BUILD / "seeds"
CORPUS = BUILD / "corpus"  # what the runs found interesting; kept from run to run
FINDINGS = BUILD / "findings"
LOGS = BUILD / "logs"


def shown(path):
    """As a person would type it, here."""
    return os.path.relpath(path)
