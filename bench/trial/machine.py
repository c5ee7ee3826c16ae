"""Describes the machine of a run."""
import os
import pathlib
import platform

from trial.places import GIB


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def distribution():
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        return ""


def memory_gib():
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal:"):
            return round(int(line.split()[1]) * 1024 / GIB, 1)
    return 0.0


def describe():
    return {"processor": processor(), "processors": os.cpu_count(), "memory_gib": memory_gib(),
            "kernel": platform.release(), "distribution": distribution(), "load_before": os.getloadavg()[0]}
