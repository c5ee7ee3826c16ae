#!/usr/bin/env python3
"""scripts/bench for real, with tiny numbers: every kind of candidate runs, and the figures are those of a database.

usage: tests/bench/smoke.py BUILD [bench arguments]      BUILD holds zenfs, libzenfs.so and libideal.so
"""
import pathlib
import subprocess
import sys
import tempfile

from trial_case import ROOT
from trial import results

KEYS = 20000
CANDIDATES = ("posix-tmpfs", "zenfs-none", "zenfs-zn540", "zenfs-bufferless", "ideal-none", "ideal-zn540", "mine")


def require(condition, text):
    if not condition:
        sys.exit(f"smoke: {text}")


def make_volume(zenfs, image):
    subprocess.run([zenfs, "emu", "create", image, "--zones=64", "--zone-size=32M"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([zenfs, "mkfs", f"--emu={image}"], check=True, stdout=subprocess.DEVNULL)


def check_samples(found):
    for sample in found["samples"]:
        where = f"{sample['case']} {sample['phase']} on {sample['candidate']}"
        require(sample["operations"] >= (KEYS if sample["phase"].startswith("fill") else 1), f"{where}: too few operations")
        require(0 < sample["latency_us"]["p50"] <= sample["latency_us"]["p99.99"], f"{where}: latencies")
        require(sample["cpu_us_per_op"] > 0, f"{where}: no CPU time")
        require(sample["used_bytes"] > 0, f"{where}: nothing is there")
        if sample["phase"].startswith("fill"):
            require(sample["write_amplification"] > 0.9, f"{where}: {sample['write_amplification']} written for each byte")
        if sample["candidate"].startswith("zenfs") or sample["candidate"] == "mine":
            require(sample["emulation_cpu_us_per_op"] > 0, f"{where}: the emulator took no time")
        if sample["phase"] == "fillrandom" and not sample["candidate"].startswith("posix"):
            for cause in ("data", "wal", "metadata", "padding"):
                require(sample["device_bytes"][cause] > 0, f"{where}: no {cause} was written")


def main(arguments):
    build = pathlib.Path(arguments[0]).absolute()
    with tempfile.TemporaryDirectory(prefix="zenfs-bench-smoke-", dir="/dev/shm") as folder:
        image = f"{folder}/mine.img"
        make_volume(build / "zenfs", image)
        before = subprocess.run([build / "zenfs", "list", f"--emu={image}"], check=True, capture_output=True, text=True).stdout
        out = pathlib.Path(folder, "out")
        words = [ROOT / "scripts" / "bench", "quick", f"--build={build}", f"--num={KEYS}", "--seconds=1", "--repetitions=1",
                 f"--place={folder}", f"--out={out}", f"--candidate=mine=zenfs://emu:{image}"]
        words += [f"--candidate={name}" for name in CANDIDATES if name != "mine"]
        subprocess.run([*words, *arguments[1:]], check=True)
        found = results.read(out / "results.json")
        require(not found["failures"], found["failures"])
        for phase in ("fillseq", "fillrandom", "readrandom"):
            ran = {one["candidate"] for one in found["samples"] if one["phase"] == phase}
            require(ran == set(CANDIDATES), f"{phase} ran on {sorted(ran)}")
        check_samples(found)
        page = (out / "index.html").read_text()
        require(page.count("<svg") >= 10, "the page has too few plots")
        after = subprocess.run([build / "zenfs", "list", f"--emu={image}"], check=True, capture_output=True, text=True).stdout
        require(before == after, f"left behind on the volume that was named: {after}")
        left = [path.name for path in pathlib.Path(folder).iterdir() if path.name.startswith("zenfs-bench-")]
        require(not left, f"left behind: {left}")


if __name__ == "__main__":
    main(sys.argv[1:])
