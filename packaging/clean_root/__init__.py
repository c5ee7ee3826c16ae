"""Debian packages of ZenFS: built and tried in clean roots."""
