"""Where things are below the build folder."""
import os
import pathlib

SOURCE = pathlib.Path(__file__).resolve().parents[3]
ROOT = pathlib.Path(os.environ.get("BUILD_ROOT", SOURCE / "build")).resolve()
CORPUS = ROOT / "fuzz" / "corpus"  # what the runs found interesting; kept from run to run
FINDINGS = ROOT / "fuzz" / "findings"


class Built:
    """What one preset of CMakePresets.json makes."""

    def __init__(self, preset):
        self.preset = preset
        self.folder = ROOT / preset
        self.programs = self.folder / "fuzz"
        self.seeds = self.folder / "seeds"
        self.logs = self.folder / "logs"


def shown(path):
    """As a person would type it, here."""
    return os.path.relpath(path)
