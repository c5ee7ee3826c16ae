"""Behind scripts/fuzz."""
