"""What Prometheus makes of the exporter, by Prometheus itself."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "cli"))
from cli_case import CliCase  # noqa: E402
from exporter_process import ExporterProcess  # noqa: E402
from prometheus import promtool  # noqa: E402


class Metrics(CliCase):
    def setUp(self):
        super().setUp()
        self.make_volume()

    def test_promtool_has_nothing_against_the_metrics(self):
        with self.mounted(), ExporterProcess(f"--emu={self.image}") as exporter:
            text = exporter.get("/metrics")
        self.assertIn("zenfs_wal_sync_latency_seconds_bucket", text)
        self.assertEqual(promtool("check", "metrics", input=text), (0, ""))


if __name__ == "__main__":
    unittest.main()
