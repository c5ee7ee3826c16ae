"""Full screens, as a person at a terminal sees them: stats --watch, zones --watch."""
import os
import signal
import unittest

from cli_case import CliCase
from terminal import TerminalProgram

WAITING = "no program on this host has it mounted for writing; waiting for one"


class ScreenCase(CliCase):
    def setUp(self):
        super().setUp()
        self.make_volume()
        self.emu = f"--emu={self.image}"

    def ends_well(self, terminal):
        self.assertEqual(terminal.ended(), 0, terminal.text())
        self.assertTrue(terminal.restored(), terminal.output[-300:])

    def work(self, volume):
        for i in range(4):
            volume.request(f"write {i}.sst 150000 1")
        for request in ("append 1.log 20 3000 1", "sync 1.log", "verify 1.sst 150000 1"):
            volume.request(request)


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
