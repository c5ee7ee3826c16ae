"""Where things are below the build folder."""
from tooling.places import BUILD_ROOT

CORPUS = BUILD_ROOT / "fuzz" / "corpus"  # what the runs found interesting; kept from run to run
FINDINGS = BUILD_ROOT / "fuzz" / "findings"


class Built:
    """What one preset of CMakePresets.json makes."""

    def __init__(self, preset):
        self.preset = preset
        self.folder = BUILD_ROOT / preset
        self.programs = self.folder / "fuzz"
        self.seeds = self.folder / "seeds"
        self.logs = self.folder / "logs"
