"""The parts of scripts/bench; docs/use/bench.md explains its use and its results."""
