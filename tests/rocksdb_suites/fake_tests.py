#!/usr/bin/env python3
"""Behaves as a GoogleTest program whose cases pass, fail, skip themselves, hang or die: for suites_test.py.
What each does, the environment's FAKE_CASES says: 'Suite.Name=pass Suite.Other=hang ...'."""
import os
import signal
import sys
import time

CASES = dict(word.split("=") for word in os.environ["FAKE_CASES"].split())


def selected():
    names = [name for name in CASES if "DISABLED_" not in name]
    for argument in sys.argv[1:]:
        if argument.startswith("--gtest_filter="):
            names = [name for name in names if name in argument.partition("=")[2].split(":")]
    count, index = int(os.environ.get("GTEST_TOTAL_SHARDS", 1)), int(os.environ.get("GTEST_SHARD_INDEX", 0))
    return names[index::count]


def show_list():
    suite = ""
    for name in CASES:
        if name.partition(".")[0] != suite:
            suite = name.partition(".")[0]
            print(suite + ".  # TypeParam = int")
        print(f"  {name.partition('.')[2]}  # GetParam() = 1")


def run(name, does):
    print(f"[ RUN      ] {name}", flush=True)
    if does == "hang":
        time.sleep(1000)
    if does == "die":
        print("about to die", flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    if does == "exit":
        os._exit(3)
    if does == "skip":
        print("SKIPPED: not today")
    if does == "fail":
        print("fake.cc:1: Failure\nwanted more")
        print(f"[  FAILED  ] {name}, where GetParam() = 1 (0 ms)", flush=True)
    else:
        print(f"no newline here[       OK ] {name} (0 ms)", flush=True)
    return does != "fail"


if __name__ == "__main__":
    if "--gtest_list_tests" in sys.argv:
        show_list()
        sys.exit(0)
    good = [run(name, CASES[name]) for name in selected()]
    print(f"[  PASSED  ] {sum(good)} tests.")
    sys.exit(0 if all(good) else 1)
