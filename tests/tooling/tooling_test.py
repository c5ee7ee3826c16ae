#!/usr/bin/env python3
"""What the tools share: how they end, what they report, what they show, programs with a time limit."""
import argparse
import contextlib
import io
import json
import os
import pathlib
import signal
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

from tooling import command, process, report, shared_memory  # noqa: E402
from tooling.places import ToolError  # noqa: E402
from tooling.screen import Screen  # noqa: E402


class Terminal(io.StringIO):
    def isatty(self):
        return True


class SharedMemory(unittest.TestCase):
    def test_a_pipe_or_link_among_the_buffers_is_skipped_and_named(self):
        with tempfile.TemporaryDirectory() as folder:
            device = os.path.join(folder, "device.img")
            with open(device, "wb"):
                pass
            status = os.stat(device)
            identity = f"file:{status.st_dev:x}:{status.st_ino}".encode()
            for name, content in (("zenfs-own", identity), ("zenfs-other", b"file:1:2"), ("zenfs-short", b"")):
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(bytes(96) + content.ljust(256, b"\0") if content else b"x")
            os.mkfifo(os.path.join(folder, "zenfs-pipe"))
            os.symlink("zenfs-own", os.path.join(folder, "zenfs-link"))
            os.mkdir(os.path.join(folder, "zenfs-directory"))
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                found = shared_memory.files_of(device, [folder, "/no/such/directory"])
            self.assertEqual(found, [os.path.join(folder, "zenfs-own")])
            self.assertEqual([line.split(" is ")[0] for line in said.getvalue().splitlines()],
                             [os.path.join(folder, f"zenfs-{kind}") for kind in ("directory", "link", "pipe")])
            self.assertEqual(shared_memory.files_of(os.path.join(folder, "gone"), [folder]), [])


class Command(unittest.TestCase):
    def run_failing(self, error):
        def work():
            raise error
        said = []
        return command.run("tool", work, said.append), said

    def test_the_status_of_the_work_is_that_of_the_tool(self):
        self.assertEqual(command.run("tool", lambda: 1), 1)

    def test_a_tool_that_could_not_run_says_why_in_one_line(self):
        self.assertEqual(self.run_failing(ToolError("there is no compiler")), (2, ["tool: there is no compiler"]))

    def test_an_interrupted_tool_says_so(self):
        self.assertEqual(self.run_failing(KeyboardInterrupt()), (130, ["tool: interrupted"]))

    def test_sigterm_interrupts(self):
        def work():
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(10)
        self.assertEqual(command.run("tool", work, lambda _: None), 130)

    def test_a_number_below_one_is_refused_in_words(self):
        self.assertEqual(command.at_least_one("12"), 12)
        for text in ("0", "-1", "x", ""):
            with self.assertRaisesRegex(argparse.ArgumentTypeError, f"'{text}' is not a whole number from 1 on"):
                command.at_least_one(text)

    def test_json_alone_takes_no_argument_behind_it(self):
        self.assertEqual(command.lone_json(["--json", "7.8.3", "--json=x"]), ["--json=-", "7.8.3", "--json=x"])


class Report(unittest.TestCase):
    def test_counts_what_passed_and_failed(self):
        self.assertEqual(report.counts([1, 0, 1], bool), {"passed": 2, "failed": 1})

    def test_json_goes_to_a_file_or_to_the_output_or_nowhere(self):
        with tempfile.NamedTemporaryFile("r") as file:
            report.write_json(file.name, {"passed": 1})
            self.assertEqual(json.load(file), {"passed": 1})
        with contextlib.redirect_stdout(io.StringIO()) as out:
            report.write_json("-", [])
            report.write_json(None, [])
        self.assertEqual(out.getvalue(), "[]\n")


class Screens(unittest.TestCase):
    def test_in_a_pipe_only_lines_are_shown(self):
        stream = io.StringIO()
        screen = Screen(stream)
        screen.working("building")
        screen.clear()
        screen.line("done")
        self.assertEqual(stream.getvalue(), "done\n")

    def test_on_a_terminal_a_line_takes_the_place_of_what_is_being_done(self):
        stream = Terminal()
        screen = Screen(stream)
        screen.working("building")
        screen.line("done")
        self.assertRegex(stream.getvalue(), r"^\r\x1b\[K\.\.\. building \(0 s\)\r\x1b\[Kdone\n$")


class Processes(unittest.TestCase):
    def run_shell(self, script, seconds=60):
        with tempfile.TemporaryDirectory() as folder:
            return process.run(["sh", "-c", script], pathlib.Path(folder) / "log", seconds=seconds)

    def test_both_outputs_are_returned(self):
        self.assertEqual(self.run_shell("echo a; echo b >&2").output, "a\nb\n")

    def test_a_failure_names_the_status_and_keeps_the_output(self):
        with self.assertRaisesRegex(process.ProcessFailed, "status 3") as caught:
            self.run_shell("echo why; exit 3")
        self.assertEqual(caught.exception.tail, "why")

    def test_a_program_over_its_time_is_killed_with_its_children(self):
        with self.assertRaisesRegex(process.ProcessFailed, "had not ended") as caught:
            self.run_shell("sleep 60 & echo $!; wait", seconds=0.5)
        child = pathlib.Path("/proc", caught.exception.tail, "stat")
        end = time.monotonic() + 10
        while child.exists() and child.read_text().split()[2] != "Z" and time.monotonic() < end:
            time.sleep(0.01)
        self.assertTrue(not child.exists() or child.read_text().split()[2] == "Z")


if __name__ == "__main__":
    unittest.main()
