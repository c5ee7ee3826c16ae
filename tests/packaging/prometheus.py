"""Prometheus and promtool: those of this host, or unpacked from Debian's package.

The package is not installed: it would start a server of the system.
"""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

FOLDER = pathlib.Path(os.environ["BUILD"]) / "prometheus"


def program(name):
    """The path of `prometheus` or `promtool`. Skips the test if there is none; with CI=true that is a failure."""
    found = shutil.which(name)
    if found:
        return found
    if not FOLDER.exists():
        unpack()
    return str(FOLDER / "usr" / "bin" / name)


def unpack():
    FOLDER.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER.parent) as work:
        done = subprocess.run(["apt-get", "-q", "download", "prometheus"], cwd=work, capture_output=True, text=True, check=False)
        packages = list(pathlib.Path(work).glob("*.deb"))
        if done.returncode != 0 or not packages:
            say = "there is no Prometheus, and apt-get download prometheus fails; run apt-get update"
            if os.environ.get("CI") == "true":
                raise AssertionError(say)
            raise unittest.SkipTest(f"NOT RUN: {say}")
        subprocess.run(["dpkg-deb", "-x", packages[0], f"{work}/tree"], check=True)
        try:
            os.rename(f"{work}/tree", FOLDER)
        except OSError:
            if not FOLDER.exists():  # else another test was faster
                raise


def filled_in(expression, window):
    """A query of the dashboard as Grafana sends it."""
    for variable, value in {"$instance": ".*", "$device": ".*", "$quantile": "0.99", "$__rate_interval": window}.items():
        expression = expression.replace(variable, value)
    return expression


def promtool(*words, **run):
    """Its exit status and all that it printed."""
    done = subprocess.run([program("promtool"), *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **run)
    return done.returncode, done.stdout


class Prometheus:
    """A server on the loopback address that scrapes one exporter each second, until the block ends."""

    def __init__(self, folder, exporter, rules):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        config = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": [str(rules)],
                  "scrape_configs": [{"job_name": "zenfs", "static_configs": [{"targets": [exporter]}]}]}
        path = pathlib.Path(folder) / "prometheus.yml"
        path.write_text(json.dumps(config))
        self.log = (pathlib.Path(folder) / "prometheus.log").open("w+")
        self.process = subprocess.Popen([program("prometheus"), f"--config.file={path}", f"--storage.tsdb.path={folder}/tsdb",
                                         f"--web.listen-address={self.address}"], stdout=self.log, stderr=self.log)

    def get(self, path):
        with urllib.request.urlopen(f"http://{self.address}{path}", timeout=30) as answer:
            return json.load(answer)["data"]

    def query(self, expression):
        """The value of each series now."""
        return [float(series["value"][1]) for series in self.get("/api/v1/query?" + urllib.parse.urlencode({"query": expression}))["result"]]

    def curves(self, expression, seconds):
        """[(labels, [(time, value)])] of the last `seconds`, a value each second."""
        now = time.time()
        words = urllib.parse.urlencode({"query": expression, "start": now - seconds, "end": now, "step": 1})
        return [(series["metric"], [(float(at), float(value)) for at, value in series["values"]])
                for series in self.get(f"/api/v1/query_range?{words}")["result"]]

    def __enter__(self):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                self.get("/api/v1/status/runtimeinfo")
                return self
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        self.log.seek(0)
        said = self.log.read()[-2000:]
        self.__exit__()
        raise AssertionError("Prometheus did not start:\n" + said)

    def __exit__(self, *exception):
        self.process.terminate()
        self.process.wait(timeout=60)
        self.log.close()
