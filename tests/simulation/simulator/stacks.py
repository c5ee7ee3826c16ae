"""Readable stacks of the threads of a deadlock."""
import re
import shutil
import subprocess

# Frames of the wait itself, and of library calls of functions: left out.
FILES_LEFT_OUT = ("sim_scheduler.", "call_stack.", "fiber.", "mutex.h", "thread.", "invoke.h", "std_function.h")
LIBRARY = re.compile(r"(void )?std::")


def without_arguments(function):
    """`f(int, g(*)(int)) const` is `f`."""
    depth = 0
    for at in range(function.rfind(")"), -1, -1):
        depth += {")": 1, "(": -1}.get(function[at], 0)
        if depth == 0:
            return function[:at]
    return function


def frames(program, addresses):
    """`function at file:line` for each, inlined ones before the one they are in; the addresses if binutils are missing."""
    if not addresses or shutil.which("addr2line") is None:
        return [hex(address) for address in addresses]
    calls = [hex(address - 1) for address in addresses]  # a return address is after its call
    said = subprocess.run(["addr2line", "-Cfpis", "-e", program, *calls], stdout=subprocess.PIPE, text=True, check=True)
    told = []
    for line in said.stdout.splitlines():
        function, _, place = line.replace("(inlined by)", "").strip().rpartition(" at ")
        if not LIBRARY.match(function) and not place.startswith(FILES_LEFT_OUT):
            told.append(f"{without_arguments(function)} at {place}")
    return told


def described(program, threads):
    lines = []
    for thread in threads:
        lines.append(f"thread {thread['thread']}:")
        lines += [f"  {frame}" for frame in frames(program, thread["stack"])]
    return lines
