"""What scripts/bench is made of; docs/use/bench.md tells how to use it and what its results mean."""
