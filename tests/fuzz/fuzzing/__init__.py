"""The implementation of scripts/fuzz."""
