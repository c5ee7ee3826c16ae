"""Full screens, as a person at a terminal sees them: zenfs top, stats --watch, zones --watch."""
import os
import re
import resource
import signal
import unittest

from cli_case import ZENFS, CliCase
from terminal import TerminalProgram

WAITING = "no program on this host has it mounted for writing; waiting for one"
UP, DOWN, LEFT, RIGHT, END, BACKTAB = "\033OA", "\033OB", "\033OD", "\033OC", "\033OF", "\033[Z"


class ScreenCase(CliCase):
    def setUp(self):
        super().setUp()
        self.make_volume()
        self.emu = f"--emu={self.image}"

    def top(self, *words, **more):
        return TerminalProgram("top", *(words or [self.emu]), "--interval=0.2", **more)

    def other_volume(self):
        other = os.path.join(self.dir, "other.img")
        self.make_device(path=other)
        self.ok("mkfs", f"--emu={other}", "--label=second")
        return other

    def ends_well(self, terminal):
        self.assertEqual(terminal.ended(), 0, terminal.text())
        self.assertTrue(terminal.restored(), terminal.output[-300:])

    def work(self, volume):
        for i in range(4):
            volume.request(f"write {i}.sst 150000 1")
        for request in ("append 1.log 20 3000 1", "sync 1.log", "verify 1.sst 150000 1"):
            volume.request(request)


class Top(ScreenCase):
    def test_shows_rates_latencies_zones_and_open_files_at_80x24(self):
        with self.mounted() as volume, self.top() as top:
            top.shows(f"emu:{self.image} \"test\"", "epoch 1, mounted", "0 files open")

            def busy(text):  # the work is in some interval, or in the average since the mount
                self.work(volume)
                return re.search(r"^wal_sync +[\d.]*[1-9][\d.]* +- +[\d.]+ [mun]s ", text, re.M)
            top.until(busy, "syncs with a latency")
            top.until(lambda text: re.search(r"^non_wal_write +[\d.]+ +[\d.]+ [KM]iB", text, re.M), "throughput")
            top.shows("1 file open", "m medium", "W log", "M metadata", "empty", "space ", "% free", " of 8 zones active", "resets/s", "reclaim ",
                      "write amplification", "logs ", "by writes", "q quit  p pause")
            self.assertEqual(len(top.lines()), 24)
            self.assertNotIn("Up/Down", top.text(), "all of it fits")
            self.assertIn("zones", "\n".join(top.lines()[12:16]))
            top.press("q")
            self.ends_well(top)

    def test_waits_for_a_program_and_follows_it_through_its_end_and_its_next_mount(self):
        with self.top() as top:
            top.shows(WAITING, "% free", "M metadata")
            for mount in (1, 2):
                with self.mounted():
                    top.shows(f"epoch {mount}, mounted", "wal_write")
                    self.assertNotIn(WAITING, top.text())
                top.shows(WAITING)
                top.shows_no_more("wal_write")
            killed = self.mounted()
            top.shows("epoch 3, mounted")
            killed.process.kill()
            killed.process.communicate()
            top.shows(WAITING)
            top.press("q")
            self.ends_well(top)

    def test_a_device_may_come_later_and_go_away(self):
        later = os.path.join(self.dir, "later.img")
        with self.top(f"--emu={later}") as top:
            top.shows("later.img", "No such file or directory", "waiting for a change")
            os.rename(self.image, later)
            top.shows(WAITING)
            os.unlink(later)
            top.shows("No such file or directory")
            top.press("q")
            self.ends_well(top)

    def test_several_volumes(self):
        other = self.other_volume()
        with self.mounted(), self.top(self.emu, f"--emu={other}", rows=40) as top:
            top.shows(f"1 of 2: emu:{self.image}", "2 volumes", "> ", "Tab next volume", "wal_write")
            for key in ("\t", RIGHT, BACKTAB, LEFT):
                top.press(key)
                top.shows(f"2 of 2: emu:{other} \"second\"", WAITING)
                top.press(key)
                top.shows(f"1 of 2: emu:{self.image}", "epoch 1, mounted")
            top.press("q")
            self.ends_well(top)

    def test_without_a_device_it_shows_the_volumes_of_the_host(self):
        other = self.other_volume()
        empty = os.path.join(self.dir, "empty.img")
        self.make_device(path=empty)
        with TerminalProgram("top", ZENFS_DEVICES=f"{self.image}:{empty}:{other}", rows=40) as top:
            top.shows(f"1 of 2: emu:{self.image}", "other.img")
            top.press("q")
            self.ends_well(top)
        with TerminalProgram("top") as top:
            self.assertEqual(top.ended(), 1)
            self.assertRegex(top.text(), r"^zenfs top: no device given; name at least one with --volume=VOLUME, --zbd=NAME,")

    def test_resizes(self):
        with self.mounted() as volume, self.top() as top:
            self.work(volume)
            top.shows("wal_write", "errors")
            self.assertNotIn("all bytes", top.text())
            top.resize(40, 132)
            top.shows("all bytes", "p99.9", "create")
            top.resize(10, 40)
            top.shows("operation            bytes/s      p99", "q quit  Up/Down 1-9/")
            self.assertNotIn("calls/s", top.text())
            self.assertEqual(len(top.lines()), 10)
            top.press(DOWN)
            top.shows("Up/Down 2-10/")
            top.press(END)
            top.shows("logs ")
            top.press(UP)
            top.resize(1, 5)
            top.until(lambda text: text == "q qui", "a line of keys")
            top.resize(24, 80)
            top.shows("errors", "write amplification")
            top.press("q")
            self.ends_well(top)

    def test_pause_keeps_what_is_shown(self):
        with self.top() as top:
            top.shows(WAITING)
            top.press("p")
            top.shows("PAUSED")
            with self.mounted():
                for _ in range(5):
                    top.read(0.2)
                self.assertIn(WAITING, top.text())
                top.press("p")
                top.shows("epoch 1, mounted")
            top.press("q")
            self.ends_well(top)

    def test_every_end_restores_the_terminal(self):
        for end in (lambda top: top.press("q"), lambda top: top.press("\003"), lambda top: top.process.send_signal(signal.SIGTERM),
                    lambda top: top.process.send_signal(signal.SIGHUP)):
            with self.top() as top:
                top.shows(WAITING)
                end(top)
                self.ends_well(top)

    def test_ctrl_z_gives_the_terminal_back_until_it_goes_on(self):
        with self.top() as top:
            top.shows(WAITING)
            top.press("\032")
            ended, status = os.waitpid(top.process.pid, os.WUNTRACED)
            self.assertTrue(ended == top.process.pid and os.WIFSTOPPED(status))
            while top.read(0.2):
                pass
            self.assertTrue(top.restored())
            top.screen.reset()
            top.process.send_signal(signal.SIGCONT)
            top.shows(WAITING, "q quit")
            top.press("q")
            self.ends_well(top)

    def test_a_terminal_that_goes_away_ends_it(self):
        top = self.top()
        top.shows(WAITING)
        os.close(top.slave)
        os.close(top.master)
        top.process.wait(timeout=30)

    def test_a_device_that_hangs_is_told_and_does_not_keep_it_from_quitting(self):
        with self.top(f"--uri=emu:{self.image}?latency_us:10000000") as top:
            top.shows("reading the volume")
            top.shows("the device has not answered for")
            top.press("q")
            self.ends_well(top)

    def test_names_do_not_steer_the_terminal(self):
        image = os.path.join(self.dir, "a\033[31mä\n.img")
        os.rename(self.image, image)
        for locale, shown in (("C.UTF-8", r"a\x1b[31mä\x0a.img"), ("C", r"a\x1b[31m?\x0a.img")):
            with self.top(f"--emu={image}", LC_ALL=locale) as top:
                top.shows(shown, WAITING)
                top.press("q")
                self.ends_well(top)

    def test_colours_are_left_out_if_asked(self):
        for environment, coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "vt100"}, False)):
            with self.top(**environment) as top:
                top.shows(WAITING, "M metadata")
                self.assertEqual(b"\033[7m\033[35m" in top.output or b"\033[35" in top.output, coloured)
                top.press("q")
                self.assertEqual(top.ended(), 0)

    def test_without_a_terminal_it_says_what_to_use(self):
        line = self.fails("top", self.emu, saying=["standard output is not a terminal", "zenfs stats --watch"])
        self.assertNotIn("\033", line)
        for term, saying in (("dumb", "the terminal 'dumb' of TERM has no full screen"), ("no-such", "does not know the terminal 'no-such' of TERM"),
                             ("", "TERM does not name the terminal")):
            with self.top(TERM=term, columns=200) as top:
                self.assertEqual(top.ended(), 1)
                self.assertEqual(top.text().strip().count("\n"), 0, top.text())
                self.assertIn(saying, top.text())
                self.assertNotIn(b"\033", top.output)

    def test_memory_that_runs_out_restores_the_terminal(self):
        with open(ZENFS, "rb") as program:
            if b"__asan_init" in program.read():
                self.skipTest("NOT RUN: memory that runs out ends a program with AddressSanitizer")
        big = os.path.join(self.dir, "big.img")
        for spare in range(0, 8 << 20, 1 << 20):
            with self.top(f"--emu={big}") as top:
                top.shows("No such file or directory")
                with open(f"/proc/{top.process.pid}/status", encoding="utf-8") as status:
                    used = int(re.search(r"VmData:\s+(\d+) kB", status.read())[1]) << 10
                resource.prlimit(top.process.pid, resource.RLIMIT_DATA, (used + spare, resource.RLIM_INFINITY))
                self.make_device("--zones=65536", "--zone-size=64K", "--max-open=14", "--max-active=14", path=big)
                self.ok("mkfs", f"--emu={big}")
                top.until(lambda text: "memory" in text or WAITING in text, "a word on memory, or the volume")
                if top.process.poll() is None:
                    top.press("q")
                top.ended()
                self.assertTrue(top.restored(), top.output[-300:])
            os.unlink(big)

    def test_wrong_flags(self):
        with self.top(f"--uri=emu:{self.image}?no_such_option:1", columns=200) as top:
            self.assertEqual(top.ended(), 1)
            self.assertRegex(top.text(), r"(?m)^zenfs top: .*no_such_option")
            self.assertTrue(top.restored())
        self.fails("top", self.emu, "--interval=0", saying=["--interval", "seconds from 0.1"])


class Watches(ScreenCase):
    def test_stats_fits_80x24_and_waits_for_a_program(self):
        with TerminalProgram("stats", self.emu, "--watch=0.2") as stats:
            stats.shows(WAITING)
            with self.mounted() as volume:
                self.work(volume)
                stats.shows("epoch 1, mounted", "operation ", "wal_sync", "wal_bytes", "log frames are sent by writes")
                self.assertIn("operation", stats.lines()[3])
                self.assertNotIn("Up/Down", stats.text())
            stats.shows(WAITING)
            with self.mounted():
                stats.shows("epoch 2, mounted")
                stats.press("q")
                self.ends_well(stats)

    def test_stats_of_a_file_that_comes_later(self):
        page = os.path.join(self.dir, "page")
        with TerminalProgram("stats", f"--page={page}", "--watch=0.2") as stats:
            stats.shows(page, WAITING)
            self.ok("mkdir", f"--uri=emu:{self.image}?metrics_file:{page}", "made")
            stats.shows("directory_change", "epoch 1, mounted")
            stats.press("\003")
            self.ends_well(stats)

    def test_zones_fit_the_terminal(self):
        with self.mounted() as volume, TerminalProgram("zones", self.emu, "--watch=0.2") as zones:
            self.work(volume)
            zones.shows("15  [········]", "m medium", "reclaim moves 0 B/s of files")
            zones.resize(10, 40)
            zones.shows(" 0 MM")
            zones.press("q")
            self.ends_well(zones)

    def test_zones_of_a_terminal_without_a_screen_are_plain_text(self):
        for environment in ({"TERM": "dumb"}, {"TERM": "no-such"}):
            with TerminalProgram("zones", self.emu, "--watch=0.2", **environment) as zones:
                zones.until(lambda text: text.count("metadata: 3") == 2, "two pictures")
                zones.press("\003")
                self.assertEqual(zones.ended(), -signal.SIGINT)

    def test_json_is_never_a_screen(self):
        with self.mounted(), TerminalProgram("stats", self.emu, "--watch=0.2", "--json", columns=200) as stats:
            stats.until(lambda text: '"interval_seconds"' in text, "a line of JSON")
            self.assertNotIn(b"\033", stats.output)


if __name__ == "__main__":
    unittest.main()
