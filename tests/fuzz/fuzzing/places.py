"""Paths below the build folder."""
from tooling.places import BUILD_ROOT

CORPUS = BUILD_ROOT / "fuzz" / "corpus"  # interesting inputs of earlier runs
FINDINGS = BUILD_ROOT / "fuzz" / "findings"


class Built:
    """The build of one preset of CMakePresets.json."""

    def __init__(self, preset):
        self.preset = preset
        self.folder = BUILD_ROOT / preset
        self.programs = self.folder / "fuzz"
        self.seeds = self.folder / "seeds"
        self.logs = self.folder / "logs"
