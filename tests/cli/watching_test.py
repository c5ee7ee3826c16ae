"""A volume that is being used, looked at from beside: zones --svg and --watch, stats, exporter."""
import http.client
import json
import os
import re
import resource
import signal
import socket
import subprocess
import time
import unittest
import urllib.error
import urllib.request
import xml.etree.ElementTree

from cli_case import ZENFS, CliCase

SVG = "{http://www.w3.org/2000/svg}"


class Background:
    """The command running on, until the block ends or it is told to end."""

    def __init__(self, *words, program=ZENFS, **identity):
        self.process = subprocess.Popen([program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **identity)

    def line(self):
        return self.process.stdout.readline()

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


class Zones(CliCase):
    def setUp(self):
        super().setUp()
        self.make_volume()

    def test_svg_is_an_image_with_a_tooltip_for_each_zone(self):
        with self.mounted() as volume:
            self.assertEqual(volume.request("write a.sst 1500000 1"), "ok 0")
        path = os.path.join(self.dir, "zones.svg")
        self.assertEqual(self.ok("zones", f"--emu={self.image}", f"--svg={path}"), "")
        root = xml.etree.ElementTree.parse(path).getroot()
        self.assertEqual(root.tag, SVG + "svg")
        tips = [group.find(SVG + "title").text for group in root.iter(SVG + "g")]
        self.assertEqual(len(tips), 16)
        self.assertTrue(any("lifetime medium" in tip and "live" in tip for tip in tips), tips)
        self.assertIn("prefers-color-scheme:dark", root.find(SVG + "style").text)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(self.ok("zones", f"--emu={self.image}", "--svg=-"), file.read())

    def test_svg_that_can_not_be_written(self):
        self.fails("zones", f"--emu={self.image}", f"--svg={self.dir}/no/such.svg", saying=["--svg", "No such file"])
        self.fails("zones", f"--emu={self.image}", "--svg=x", "--json", saying="exclude one another")

    def test_watch_shows_the_zones_again_and_again(self):
        with Background("zones", f"--emu={self.image}", "--watch=0.1") as watch:
            pictures = 0
            while pictures < 3:
                line = watch.line()
                self.assertNotIn("\033", line)
                pictures += line.startswith("M metadata")
        with self.mounted(), Background("zones", f"--emu={self.image}", "--watch=0.1") as watch:
            while "reclaim moves" not in line:
                line = watch.line()
            self.assertRegex(line, r"^reclaim moves 0 B/s of files and 0 B/s of logs; 0\.0 zones/s are reset")
        self.fails("zones", f"--emu={self.image}", "--watch=soon", saying=["--watch", "soon", "seconds"])
        self.fails("zones", f"--emu={self.image}", "--watch=0", saying="--watch")


class Stats(CliCase):
    def setUp(self):
        super().setUp()
        self.make_volume()

    def test_nobody_has_it_mounted(self):
        self.fails("stats", f"--emu={self.image}", saying="no program on this host has it mounted for writing")
        with self.mounted():
            self.ok("stats", f"--emu={self.image}")
        self.fails("stats", f"--emu={self.image}", saying="no program on this host")
        self.fails("stats", f"--page={self.dir}/none", saying="gone")

    def test_the_writer_was_killed(self):
        volume = self.mounted()
        volume.request("write a.sst 1500000 1")
        volume.process.kill()
        volume.process.communicate()
        self.fails("stats", f"--emu={self.image}", saying="dead")
        with self.mounted():  # which takes away what the dead one left in shared memory
            self.ok("stats", f"--emu={self.image}")

    def test_counts_that_outlive_the_mount(self):
        with self.mounted() as volume:
            volume.request("write a.sst 150000 1")
        page = os.path.join(self.dir, "page")
        device = f"--uri=emu:{self.image}?metrics_file:{page}"
        self.ok("rename", device, "--src_file=a.sst", "--dest_file=b.sst")
        figures = self.ok_json("stats", f"--page={page}")
        self.assertEqual(figures["operations"]["rename"]["count"], 1)
        self.assertGreater(figures["values"]["metadata_bytes_total"], 0)
        saved = os.path.join(self.dir, "saved")
        self.ok("backup", f"--emu={self.image}", f"--path={saved}")
        self.ok("restore", device, f"--path={saved}", "--restore_path=again")
        figures = self.ok_json("stats", f"--page={page}")  # of large writes, which are all measured; small ones are sampled
        self.assertGreater(figures["values"]["emulation_cpu_seconds_total"], 0)
        self.ok("link", device, "--src_file=b.sst", "--dest_file=c.sst")
        operations = self.ok_json("stats", f"--page={page}")["operations"]
        self.assertEqual((operations["rename"]["count"], operations["link"]["count"]), (0, 1), "of the last mount only")

    def test_metrics_file_that_is_something_else(self):
        page = os.path.join(self.dir, "letter")
        with open(page, "w", encoding="utf-8") as file:
            file.write("Dear reader")
        rename = ["--src_file=a.sst", "--dest_file=b.sst"]
        self.fails("rename", f"--uri=emu:{self.image}?metrics_file:{page}", *rename, saying=["letter", "does not hold metrics"])
        self.fails("rename", f"--uri=emu:{self.image}?metrics_file:page", *rename, saying="absolute path")
        with open(page, encoding="utf-8") as file:
            self.assertEqual(file.read(), "Dear reader")

    def test_counts_of_a_live_volume(self):
        with self.mounted() as volume:
            for i in range(5):
                volume.request(f"write {i}.sst 150000 1")
            volume.request("write 1.log 5000 1")
            volume.request("verify 1.sst 150000 1")
            volume.request("rename 1.sst 9.sst")
            volume.request("unlink 2.sst")
            table = self.ok("stats", f"--emu={self.image}")
            figures = self.ok_json("stats", f"--emu={self.image}")
        operations = figures["operations"]
        for name, count in {"non_wal_write": 5, "non_wal_sync": 5, "wal_write": 1, "wal_sync": 1, "create": 6, "read": 1,
                            "rename": 1, "delete": 1, "roll": 0}.items():
            self.assertEqual(operations[name]["count"], count, name)
            self.assertEqual(bool(re.search(rf"^{name} +{count} ", table, re.M)), count > 0, table)
        self.assertEqual(operations["non_wal_write"]["bytes"], 750000)
        self.assertEqual(figures["values"]["wal_bytes_total"], 5000)
        self.assertGreaterEqual(operations["zone_write"]["bytes"] + operations["zone_append"]["bytes"], 755000)
        latency = operations["non_wal_sync"]["latency_us"]
        self.assertEqual(latency["timed"], 5)
        self.assertLessEqual(latency["p50"], latency["p99"])
        self.assertLessEqual(latency["p99.9"], latency["max"])
        self.assertIn(": epoch 1, mounted ", table)
        self.assertNotIn("\033", table)

    def test_watch_has_rates_of_each_interval(self):
        with self.mounted() as volume:
            volume.request("write a.sst 150000 1")
            with Background("stats", f"--emu={self.image}", "--json", "--watch=0.1") as watch:
                first = json.loads(watch.line())
                self.assertNotIn("interval_seconds", first)
                self.assertEqual(first["operations"]["create"]["count"], 1)
                volume.request("write b.sst 150000 1")
                created = 0
                while created == 0:
                    later = json.loads(watch.line())
                    created = later["operations"]["create"]["count"]
                self.assertEqual(created, 1)
                self.assertAlmostEqual(later["operations"]["create"]["per_second"], 1 / later["interval_seconds"], 3)

    def test_watch_ends_when_the_writer_does(self):
        with self.mounted() as volume:
            watch = Background("stats", f"--emu={self.image}", "--watch=0.1")
            watch.line()
            volume.request("write a.sst 150000 1")
        with watch:
            _, err = watch.process.communicate(timeout=30)
            self.assertEqual(watch.process.returncode, 1)
            self.assertRegex(err, r"^zenfs stats: .* has ended\n$")


class Exporter(CliCase):
    def setUp(self):
        super().setUp()
        self.make_volume()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"

    def exporter(self, *words):
        exporter = Background("exporter", *(words or [f"--emu={self.image}"]), f"--listen={self.address}", program=self.program,
                              **self.identity)
        self.assertEqual(exporter.line(), f"Serving http://{self.address}/metrics\n")
        return exporter

    def scrape(self):
        """Metrics by name with labels, and the types of families."""
        with urllib.request.urlopen(f"http://{self.address}/metrics", timeout=30) as answer:
            text = answer.read().decode()
        self.types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
        return {name: float(value) for name, value in re.findall(r"^(zenfs_[^ ]+) (\S+)$", text, re.M)}

    def test_a_writer_that_goes_away_and_comes_back(self):
        device = f'device="emu:{self.image}"'
        with self.exporter() as exporter:
            metrics = self.scrape()
            self.assertEqual(metrics[f"zenfs_up{{{device}}}"], 0)
            self.assertGreater(metrics[f"zenfs_free_space_bytes{{{device}}}"], 0)
            for mount in (1, 2):
                with self.mounted() as volume:
                    for i in range(mount):
                        volume.request(f"write {i}.sst 150000 1")
                    metrics = self.scrape()
                    self.assertEqual(metrics[f"zenfs_up{{{device}}}"], 1)
                    self.assertEqual(metrics[f"zenfs_epoch{{{device}}}"], mount)
                    self.assertEqual(metrics[f"zenfs_create_total{{{device}}}"], mount)
                    self.assertEqual(metrics[f"zenfs_non_wal_write_bytes_total{{{device}}}"], mount * 150000)
                    self.assertEqual(metrics[f"zenfs_non_wal_sync_latency_seconds_count{{{device}}}"], mount)
                    self.assertEqual(metrics[f'zenfs_non_wal_sync_latency_seconds_bucket{{{device},le="+Inf"}}'], mount)
                    self.assertGreater(metrics[f"zenfs_active_zones{{{device}}}"], 0)
                    self.assertEqual(self.types["zenfs_non_wal_sync_latency_seconds"], "histogram")
                    self.assertEqual(self.types["zenfs_create_total"], "counter")
                metrics = self.scrape()
                self.assertEqual(metrics[f"zenfs_up{{{device}}}"], 0)
                self.assertNotIn(f"zenfs_create_total{{{device}}}", metrics)
            self.assertEqual(exporter.end(), (0, "", ""))

    def test_another_user_is_told_what_it_may_not_read(self):
        device = f'device="emu:{self.image}"'
        os.chmod(self.dir, 0o755)
        os.chmod(self.image, 0o644)
        results = os.path.join(self.dir, "results")
        os.mkdir(results)
        self.ok("scrub", f"--emu={self.image}", f"--results={results}")
        self.run_without_privileges()
        with self.mounted():
            refusal = self.zenfs("stats", f"--emu={self.image}")
            self.assertEqual((refusal.status, refusal.err.count("\n")), (1, 1), refusal.err)
            self.assertRegex(refusal.err, r": Permission denied; run this as user \d+, .* or as root\n$")
            with self.exporter(f"--emu={self.image}", f"--scrub-results={results}") as exporter:
                for _ in range(3):
                    metrics = self.scrape()
                    self.assertEqual(metrics[f"zenfs_scrub_errors{{{device}}}"], 0, "the volume can be read, and has been scrubbed")
                    self.assertEqual((metrics[f"zenfs_up{{{device}}}"], metrics[f"zenfs_denied{{{device}}}"]), (0, 1))
                    self.assertEqual(metrics[f"zenfs_readable{{{device}}}"], 1)
                status, _, err = exporter.end()
                self.assertEqual(status, 0)
                self.assertRegex(err, r"^zenfs exporter: .*: Permission denied; run this as user \d+, .* or as root\n$")

    def test_a_directory_of_results_that_is_missing_is_told_at_the_start(self):
        self.fails("exporter", f"--emu={self.image}", f"--listen={self.address}", f"--scrub-results={self.dir}/none", saying="--scrub-results: ")

    def test_several_volumes(self):
        other = os.path.join(self.dir, "other.img")
        self.make_device(path=other)
        with self.exporter(f"--emu={self.image}", f"--emu={other}") as exporter:
            metrics = self.scrape()
            self.assertEqual(metrics[f'zenfs_readable{{device="emu:{self.image}"}}'], 1)
            self.assertEqual(metrics[f'zenfs_readable{{device="emu:{other}"}}'], 0, "there is no file system on it")
            status, _, err = exporter.end(signal.SIGINT)
            self.assertEqual(status, 0)
            self.assertEqual(err.count("\n"), 1, "one line about the one that can't be read")
            self.assertIn("other.img", err)

    def slow(self, image, microseconds):
        return f"--uri=emu:{image}?latency_us:{microseconds}"

    def test_a_volume_that_hangs_delays_no_other(self):
        other = os.path.join(self.dir, "other.img")
        self.make_device(path=other)
        self.ok("mkfs", f"--emu={other}")
        with self.exporter(self.slow(other, 10000000), f"--emu={self.image}", "--timeout=0.5") as exporter:
            for _ in range(3):
                begin = time.monotonic()
                metrics = self.scrape()
                self.assertLess(time.monotonic() - begin, 5)
                self.assertEqual(metrics[f'zenfs_readable{{device="emu:{self.image}"}}'], 1)
                self.assertEqual(metrics[f'zenfs_up{{device="emu:{other}"}}'], 0)
                self.assertEqual(metrics[f'zenfs_trouble{{device="emu:{other}",reason="slow"}}'], 1)
                self.assertNotIn(self.image, "".join(name for name in metrics if name.startswith("zenfs_trouble")))
            begin = time.monotonic()
            status, _, err = exporter.end()
            self.assertLess(time.monotonic() - begin, 5, "it does not wait for the device")
            self.assertEqual((status, err.count("\n")), (0, 1), err)
            self.assertRegex(err, r"^zenfs exporter: emu:.*other.img: the volume could not be read within .*--timeout\n$")

    def test_a_device_that_comes_later_is_read_from_then_on(self):
        later = os.path.join(self.dir, "later.img")
        with self.exporter(f"--emu={later}", f"--emu={self.image}") as exporter:
            metrics = self.scrape()
            self.assertEqual(metrics[f'zenfs_trouble{{device="emu:{later}",reason="missing"}}'], 1)
            self.assertEqual(metrics[f'zenfs_up{{device="emu:{later}"}}'], 0)
            self.assertEqual(metrics[f'zenfs_readable{{device="emu:{self.image}"}}'], 1)
            self.make_device(path=later)
            self.assertIn(f'zenfs_trouble{{device="emu:{later}",reason="missing"}}', self.scrape(), "there is no volume on it")
            self.ok("mkfs", f"--emu={later}")
            metrics = self.scrape()
            self.assertEqual(metrics[f'zenfs_readable{{device="emu:{later}"}}'], 1)
            self.assertNotIn("zenfs_trouble", "".join(metrics))
            os.unlink(later)
            self.assertIn(f'zenfs_trouble{{device="emu:{later}",reason="missing"}}', self.scrape())
            status, _, err = exporter.end()
            self.assertEqual((status, err.count("\n")), (0, 3), err)  # missing, without a volume, missing

    def test_memory_that_runs_out_in_a_scrape_costs_that_volume_alone(self):
        with open(ZENFS, "rb") as program:
            if b"__asan_init" in program.read():
                self.skipTest("NOT RUN: memory that runs out ends a program with AddressSanitizer")
        big = os.path.join(self.dir, "big.img")
        with self.exporter(f"--emu={big}", f"--emu={self.image}") as exporter:
            self.scrape()
            with open(f"/proc/{exporter.process.pid}/status", encoding="utf-8") as status:
                used = int(re.search(r"VmData:\s+(\d+) kB", status.read())[1]) << 10
            self.make_device("--zones=65536", "--zone-size=64K", "--max-open=14", "--max-active=14", path=big)
            self.ok("mkfs", f"--emu={big}")
            outcomes = set()
            for spare in (*range(0, 2 << 20, 128 << 10), *range(2 << 20, 64 << 20, 2 << 20)):
                # RLIMIT_DATA, because a thread's heap holds addresses (RLIMIT_AS) long before it uses them.
                resource.prlimit(exporter.process.pid, resource.RLIMIT_DATA, (used + spare, resource.RLIM_INFINITY))
                try:
                    metrics = self.scrape()
                    starved = metrics.get(f'zenfs_trouble{{device="emu:{big}",reason="out_of_memory"}}') == 1
                    outcomes.add("starved" if starved else "read")
                    self.assertEqual(metrics[f'zenfs_readable{{device="emu:{big}"}}'], 1 - starved)
                    self.assertEqual(metrics[f'zenfs_readable{{device="emu:{self.image}"}}'], 1)
                except urllib.error.HTTPError as error:
                    self.assertEqual(error.code, 503)
                self.assertIsNone(exporter.process.poll(), f"ended with {spare} bytes to spare")
            self.assertEqual(outcomes, {"starved", "read"})
            self.assertEqual(exporter.end()[0], 0)

    def idle_clients(self, count, sent):
        """Connections on which `sent` has arrived, and nothing else comes."""
        host, port = self.address.split(":")
        clients = []
        for _ in range(count):
            clients.append(socket.create_connection((host, int(port)), timeout=30))
            self.addCleanup(clients[-1].close)
            clients[-1].sendall(sent)
        return clients

    def scrape_takes(self, seconds):
        begin = time.monotonic()
        self.assertIn("zenfs_readable", "".join(self.scrape()))
        self.assertLess(time.monotonic() - begin, seconds)

    def test_clients_that_send_nothing_hold_nobody_up(self):
        with self.exporter():
            for sent in (b"", b"GET /metrics HTTP/1.1\r\nHost: x\r\n",
                         b"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nx",
                         b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n"):
                clients = self.idle_clients(12, sent)
                self.scrape_takes(1)
                for client in clients:
                    client.close()

    def test_clients_that_send_a_byte_at_a_time_hold_nobody_up(self):
        with self.exporter():
            clients = self.idle_clients(8, b"GET /metrics HTTP/1.1\r\nX: ")
            clients += self.idle_clients(8, b"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
            ends = time.monotonic() + 5
            while clients and time.monotonic() < ends:
                for client in list(clients):
                    try:
                        client.sendall(b"x")
                    except OSError:
                        clients.remove(client)
                time.sleep(0.1)
                self.scrape_takes(1)
            self.assertEqual(len(clients), 0, "clients that are still served")

    def test_more_clients_than_are_served_at_a_time_cost_seconds_at_most(self):
        with self.exporter():
            self.idle_clients(40, b"")
            self.scrape_takes(5)

    def test_addresses_that_can_not_be_had(self):
        emu = f"--emu={self.image}"
        with self.exporter():
            self.fails("exporter", emu, f"--listen={self.address}", saying=["can't listen on", "Address already in use"])
        self.fails("exporter", emu, "--listen=9817", saying=["--listen", "HOST:PORT"])
        self.fails("exporter", emu, "--listen=127.0.0.1:99999", saying=["--listen", "HOST:PORT"])
        self.fails("exporter", emu, "--listen=192.0.2.1:9817", saying=["can't listen on 192.0.2.1", "--listen=HOST:PORT"])
        self.fails("exporter", emu, "--timeout=0", saying=["--timeout", "seconds from 0.1 to 3600"])
        self.fails("exporter", "--uri=nosuch:x", saying="nosuch")
        self.fails("exporter", saying=["no device given", "at least one"])


if __name__ == "__main__":
    unittest.main()
