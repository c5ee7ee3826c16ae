"""Where things are, how the program is built, and the error that ends everything with one line."""
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD_ROOT = (ROOT / os.environ.get("BUILD_ROOT", "build")).resolve()


class SimulationError(Exception):
    """What keeps the simulator from running at all, in one line."""


def build(preset):
    """The simulator, built by scripts/build with `preset`."""
    made = subprocess.run([ROOT / "scripts" / "build", preset, "zenfs_simulate"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if made.returncode != 0:
        raise SimulationError(f"scripts/build {preset} zenfs_simulate fails:\n{made.stdout[-4000:]}")
    return BUILD_ROOT / preset / "zenfs_simulate"
