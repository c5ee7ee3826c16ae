"""What Prometheus makes of the exporter and the alerts, by Prometheus itself."""
import os
import pathlib
import re
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "cli"))
from cli_case import CliCase  # noqa: E402
from exporter_process import ExporterProcess  # noqa: E402
from prometheus import promtool  # noqa: E402

HERE = pathlib.Path(__file__).parent
PAGE = (HERE.parents[1] / "docs" / "use" / "monitoring.md").read_text()
ALERTS = HERE.parents[1] / "packaging" / "prometheus" / "alerts.yml"


class VolumeCase(CliCase):
    def setUp(self):
        super().setUp()
        self.make_volume()

    def scrubbed(self):
        """The directory with the result of a scrub."""
        results = os.path.join(self.dir, "results")
        os.mkdir(results)
        self.ok("scrub", f"--emu={self.image}", f"--results={results}")
        return results


class Metrics(VolumeCase):
    def test_promtool_has_nothing_against_the_metrics(self):
        results = self.scrubbed()
        with self.mounted(), ExporterProcess(f"--emu={self.image}", f"--scrub-results={results}") as exporter:
            text = exporter.get("/metrics")
        self.assertIn("zenfs_wal_sync_latency_seconds_bucket", text)
        self.assertIn("zenfs_scrub_time_seconds", text)
        self.assertEqual(promtool("check", "metrics", input=text), (0, ""))


class Alerts(CliCase):
    def test_they_are_raised_when_they_should_be(self):
        for file in (ALERTS, *HERE.glob("alerts*_test.yml")):
            shutil.copy(file, self.dir)
        status, text = promtool("test", "rules", "alerts_test.yml", "alerts_scrub_test.yml", cwd=self.dir)
        self.assertEqual(status, 0, text)

    def test_each_is_tested_and_explained(self):
        tests = "".join(file.read_text() for file in HERE.glob("alerts*_test.yml"))
        names = re.findall(r"- alert: (\w+)", ALERTS.read_text())
        for name in names:
            self.assertRegex(tests, rf"alertname: {name}\n +eval_time", name)
        self.assertEqual(re.findall(r"^\| `(Zenfs\w+)` \|", PAGE, re.M), names)


class Page(CliCase):
    def test_its_configuration_is_one_of_prometheus(self):
        shutil.copy(ALERTS, os.path.join(self.dir, "prometheus-alerts.yml"))
        config = os.path.join(self.dir, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(re.search(r"```yaml\n(.*?)```", PAGE, re.S)[1].replace("/usr/share/zenfs", self.dir))
        status, text = promtool("check", "config", config)
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"SUCCESS: \d+ rules found")


class AlertMetrics(VolumeCase):
    def test_each_metric_of_an_alert_is_one_that_the_exporter_has(self):
        results = self.scrubbed()
        missing = os.path.join(self.dir, "missing.img")
        with self.mounted(), ExporterProcess(f"--emu={self.image}", f"--emu={missing}", f"--scrub-results={results}") as exporter:
            text = exporter.get("/metrics")
        for name in set(re.findall(r"\bzenfs_\w+", re.sub("#.*|summary: .*", "", ALERTS.read_text()))):
            self.assertRegex(text, rf"(?m)^{name}{{")


if __name__ == "__main__":
    unittest.main()
