"""What Prometheus makes of the exporter, the dashboard and the alerts, by Prometheus itself."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "cli"))
from cli_case import ZENFS, CliCase  # noqa: E402
from exporter_process import ExporterProcess  # noqa: E402
from prometheus import Prometheus, filled_in, promtool  # noqa: E402

HERE = pathlib.Path(__file__).parent
PAGE = (HERE.parents[1] / "docs" / "use" / "monitoring.md").read_text()
BUSY = ("create_total", "wal_sync_total", "non_wal_write_bytes_total", "wal_sync_latency_seconds_bucket", "data_bytes_total",
        "zone_write_bytes_total", "free_space_bytes", "scrub_time_seconds")
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

    def test_its_command_prints_the_dashboard(self):
        command = re.search(r"^(zenfs exporter --dashboard > zenfs-dashboard.json)$", PAGE, re.M)[1]
        subprocess.run(["sh", "-ec", command], cwd=self.dir, env={**os.environ, "PATH": f"{os.path.dirname(ZENFS)}:{os.environ['PATH']}"},
                       check=True, timeout=60)
        with open(os.path.join(self.dir, "zenfs-dashboard.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["title"], "ZenFS")


class Queries(VolumeCase):
    """A Prometheus that has scraped an exporter for a while, and a volume at work."""

    def work_until(self, volume, done):
        """Makes files and deletes them until done() or for a minute."""
        deadline = time.monotonic() + 60
        number = 0
        while not done() and time.monotonic() < deadline:
            for request in (f"write {number}.sst 50000 1", f"verify {number}.sst 50000 1", f"write {number}.log 3000 1",
                            f"rename {number}.sst moved.sst", "unlink moved.sst", f"unlink {number}.log"):
                self.assertRegex(volume.request(request), "^ok")
            number += 1

    def test_each_query_of_the_dashboard_has_data_and_each_alert_is_quiet(self):
        results = self.scrubbed()
        targets = [target for panel in self.ok_json_of("exporter", "--dashboard")["panels"] for target in panel.get("targets", [])]
        with self.mounted() as volume, ExporterProcess(f"--emu={self.image}", f"--scrub-results={results}") as exporter, \
                Prometheus(self.dir, exporter.address, ALERTS) as prometheus:
            answers = {}

            def answered():
                answers.update({target["expr"]: prometheus.query(filled_in(target["expr"], "10s")) for target in targets})
                return all(answers.values()) and all(self.worked(name, answers) for name in BUSY)

            self.work_until(volume, answered)
            rules = prometheus.get("/api/v1/rules")["groups"][0]["rules"]
        self.assertEqual([expression for expression, answer in answers.items() if not answer], [], "queries without data")
        for name in BUSY:
            self.assertTrue(self.worked(name, answers), f"nothing in {name}")
        states = {rule["name"]: (rule["health"], rule["state"]) for rule in rules}
        self.assertEqual(set(states.values()), {("ok", "inactive")}, states)

    def test_each_metric_of_an_alert_is_one_that_the_exporter_has(self):
        results = self.scrubbed()
        missing = os.path.join(self.dir, "missing.img")
        with self.mounted(), ExporterProcess(f"--emu={self.image}", f"--emu={missing}", f"--scrub-results={results}") as exporter:
            text = exporter.get("/metrics")
        for name in set(re.findall(r"\bzenfs_\w+", re.sub("#.*|summary: .*", "", ALERTS.read_text()))):
            self.assertRegex(text, rf"(?m)^{name}{{")

    def worked(self, name, answers):
        return any(f"zenfs_{name}{{" in expression and any(value > 0 for value in answer) for expression, answer in answers.items())

    def ok_json_of(self, *words):
        return json.loads(self.ok(*words))


if __name__ == "__main__":
    unittest.main()
