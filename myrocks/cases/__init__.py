"""The cases of scripts/myrocks-test."""
