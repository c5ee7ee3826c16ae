"""The units of systemd: right by its own judgement, and with enough privileges for what they run."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "cli"))
from cli_case import UUID, ZENFS, CliCase  # noqa: E402
from exporter_process import ExporterProcess  # noqa: E402

UNITS = pathlib.Path(os.environ["BUILD"]) / "packaging" / "systemd"
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "use" / "monitoring.md"
NAMES = ["zenfs-exporter.service", "zenfs-exporter@.service", "zenfs-scrub@.service", "zenfs-scrub@.timer"]


def setting(unit, key):
    return re.findall(rf"^{key}=(.*)$", (UNITS / unit).read_text(), re.M)


def as_unit(unit):
    """setpriv with the capabilities of the unit, as a user who owns nothing."""
    capabilities = ["".join(f",+{name.removeprefix('CAP_').lower()}" for name in setting(unit, key)[0].split())
                    for key in ("CapabilityBoundingSet", "AmbientCapabilities")]
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", f"--bounding-set=-all{capabilities[0]}",
            f"--inh-caps=-all{capabilities[1]}", f"--ambient-caps=-all{capabilities[1]}"]


class Units(CliCase):
    def setUp(self):
        super().setUp()
        if shutil.which("systemd-analyze") is None and os.environ.get("CI") != "true":
            self.skipTest("NOT RUN: there is no systemd-analyze; see scripts/packages.txt")
        self.units = pathlib.Path(self.dir) / "units"
        self.units.mkdir()
        for name in NAMES:  # of a command that systemd finds although it is not installed
            (self.units / name).write_text((UNITS / name).read_text().replace("ExecStart=zenfs ", f"ExecStart={ZENFS} "))

    def analyze(self, *words):
        done = subprocess.run(["systemd-analyze", *words], cwd=self.units, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, timeout=60)
        return done.returncode, done.stdout

    def test_systemd_has_nothing_against_them(self):
        self.assertEqual(sorted(path.name for path in UNITS.iterdir()), NAMES)
        instances = [f"./{name.replace('@.', '@nvme0n1.')}" for name in NAMES]
        self.assertEqual(self.analyze("verify", "--man=no", *instances), (0, ""))

    def test_little_is_exposed(self):
        for name in NAMES[:3]:
            status, text = self.analyze("security", "--offline=yes", "--threshold=20", f"./{name}")
            self.assertEqual(status, 0, text)

    def test_the_page_enables_units_that_there_are(self):
        place = self.units / "usr" / "lib" / "systemd" / "system"
        place.mkdir(parents=True)
        for name in NAMES:
            shutil.copy(self.units / name, place)
        commands = re.findall(r"^systemctl enable --now (\S+)$", PAGE.read_text(), re.M)
        self.assertEqual(len(commands), 3)
        for unit in commands:
            done = subprocess.run(["systemctl", f"--root={self.units}", "enable", unit], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        enabled = {path.name for path in (self.units / "etc" / "systemd" / "system").rglob("*") if path.is_symlink()}
        self.assertEqual(enabled, set(commands))

    def test_each_command_line_is_one_that_the_command_takes(self):
        for name in NAMES[:3]:
            words = setting(name, "ExecStart")[0].replace("%S/zenfs", self.dir).replace("%I", "no-such-device").split()
            arguments = setting(name, "Environment")
            words[words.index("$ARGS"):] = arguments[0].removeprefix("ARGS=").split() if arguments else ["--zbd=no-such-device"]
            if words[1] == "exporter":
                self.fails(*words[1:], "--timeout=0", saying="--timeout: ")
            else:
                self.fails(*words[1:], status=2, saying="no-such-device")


@unittest.skipIf(os.geteuid() != 0, "NOT RUN: only root can start a program with the capabilities of a unit")
class Privileges(CliCase):
    """The device and the counters of root, whom nobody else can read, and a directory of the units' own user."""

    def setUp(self):
        super().setUp()
        self.make_volume()
        os.chmod(self.dir, 0o755)
        os.chmod(self.image, 0o600)
        self.results = os.path.join(self.dir, "results")
        os.mkdir(self.results)
        os.chown(self.results, 65534, 65534)
        self.copy = shutil.copy(ZENFS, os.path.join(self.dir, "zenfs"))  # nobody may be allowed into the build's folder

    def test_exporter_and_scrub_read_what_belongs_to_others(self):
        with self.mounted() as volume:
            self.assertEqual(volume.request("write a.log 5000 1"), "ok 0")
            scrub = subprocess.run([*as_unit("zenfs-scrub@.service"), self.copy, "scrub", f"--emu={self.image}", f"--results={self.results}"],
                                   capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((scrub.returncode, scrub.stderr), (0, ""), scrub.stdout)
            self.assertEqual(os.listdir(self.results), [f"{UUID}.json"])
            with ExporterProcess(f"--emu={self.image}", f"--scrub-results={self.results}",
                                 command=[*as_unit("zenfs-exporter@.service"), self.copy]) as exporter:
                metrics = exporter.get("/metrics")
        for metric, value in {"zenfs_up": 1, "zenfs_denied": 0, "zenfs_create_total": 1, "zenfs_scrub_errors": 0}.items():
            self.assertIn(f'{metric}{{device="emu:{self.image}"}} {value}\n', metrics)


if __name__ == "__main__":
    unittest.main()
