"""What scripts/simulate-space is made of."""
