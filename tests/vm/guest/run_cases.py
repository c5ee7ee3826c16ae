"""Runs cases inside a guest, one after another: `run_cases.py NAME...`.

Writes a line of JSON to the share's file `results` when a case begins and when it has ended, so that the host knows
which one a guest hung or panicked in; what a case prints goes to the share's file NAME.log.
"""
import faulthandler
import json
import os
import pathlib
import sys
import time
import traceback

VM = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(VM), str(VM.parents[1] / "scripts")]

from lab.case import all_cases  # noqa: E402

SHARE = pathlib.Path(os.environ["LAB_SHARE"])


def tell(**event):
    with open(SHARE / "results", "a", encoding="utf-8") as file:
        file.write(json.dumps(event) + "\n")


def reason_of(error):
    """One line: what was asserted, and where if it says nothing itself."""
    text = str(error).strip().split("\n")[0]
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{pathlib.Path(frame.filename).name}:{frame.lineno}"
    return f"{type(error).__name__ if not isinstance(error, AssertionError) else ''} {text or frame.line} ({where})".strip()


def kernel_messages(unread=[]):
    """What the kernel has said since the last call."""
    if not unread:
        unread.append(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK))
    lines = []
    while True:
        try:
            record = os.read(unread[0], 8192).decode(errors="replace")
        except BlockingIOError:
            return lines
        except BrokenPipeError:  # it has said so much that some is overwritten
            continue
        facts, _, text = record.partition(";")
        lines.append(f"[{int(facts.split(',')[2]) / 1e6:6.1f}] {text.splitlines()[0]}")


def run_one(one):
    log = os.open(SHARE / f"{one.name}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    tell(case=one.name, event="begin")
    started = time.monotonic()
    reason = None
    kernel_messages()
    faulthandler.dump_traceback_later(one.seconds * 0.9, file=sys.__stderr__)  # the host kills the guest a little later
    try:
        one.run()
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        reason = reason_of(error)
    faulthandler.cancel_dump_traceback_later()
    print("what the kernel said meanwhile:", *kernel_messages(), sep="\n", flush=True)
    tell(case=one.name, event="end", ok=reason is None, reason=reason, seconds=round(time.monotonic() - started, 1))


def main(names):
    known = {one.name: one for one in all_cases()}
    for name in names:
        run_one(known[name])


if __name__ == "__main__":
    main(sys.argv[1:])
