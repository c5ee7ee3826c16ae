"""How much space is used: every verb and the exporter say the same, in every state that a volume can be in."""
import json
import math
import os
import re
import socket
import subprocess
import unittest
import urllib.request

from cli_case import SMALL, ZENFS, CliCase

LARGE_ZONES = ["--zones=32", "--zone-size=4M", "--zone-capacity=3M", "--max-open=8", "--max-active=8"]
FEW_ZONES = ["--zones=8", "--zone-size=1M", "--max-open=4", "--max-active=4"]
TRIES = 20


def short(count):
    """As ShortBytes prints it."""
    units = ["B", "KiB", "MiB", "GiB"]
    value = float(count)
    while value >= (1024 if units[0] == "B" else 1000) and len(units) > 1:
        value /= 1024
        units.pop(0)
    if units[0] == "B":
        return f"{value:.0f} B"
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{math.floor(value * 10 ** digits) / 10 ** digits:.{digits}f} {units[0]}"


class Exporter:
    def __init__(self, image):
        self.image = image
        self.process = subprocess.Popen([ZENFS, "exporter", f"--emu={image}", "--listen=127.0.0.1:" + self.port()],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[1]

    @staticmethod
    def port():
        import socket
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return str(free.getsockname()[1])

    def space(self):
        with urllib.request.urlopen(self.url, timeout=30) as answer:
            text = answer.read().decode()
        return {name: int(float(value)) for name, value in re.findall(r"^zenfs_(\w+)_space_bytes\S* (\S+)$", text, re.M)}

    def end(self):
        self.process.kill()
        self.process.communicate()


class Space(CliCase):
    def setUp(self):
        super().setUp()
        self.states = 0
        self.exporters = {}
        self.notes = None  # what each note on standard error says; without it there is none

    def ok(self, *words, **environment):
        if self.notes is None:
            return super().ok(*words, **environment)
        outcome = self.zenfs(*words, **environment)
        self.assertEqual(outcome.status, 0, (words, outcome.err))
        for line in outcome.err.splitlines():
            self.assertIn(self.notes, line)
        return outcome.out

    # --- holding figures against each other ---
    def look(self):
        emu = f"--emu={self.image}"
        if self.image not in self.exporters:
            self.exporters[self.image] = Exporter(self.image)
            self.addCleanup(self.exporters[self.image].end)
        return {"df": self.ok_json("df", emu), "check": self.ok_json("check", emu), "scrub": self.ok_json("scrub", emu),
                "zones": self.ok_json("zones", emu)["zones"], "dump": json.loads(self.ok("dump", emu)),
                "exporter": self.exporters[self.image].space(),
                "texts": {verb: self.ok(verb, emu) for verb in ("df", "check", "scrub")},
                "svg": self.ok("zones", emu, "--svg=-"), "df again": self.ok_json("df", emu)}

    def look_at_rest(self):
        """A mounted volume writes by itself now and then: figures of one moment are those between two equal ones."""
        for _ in range(TRIES):
            seen = self.look()
            if seen["df"] == seen["df again"]:
                return seen
        raise AssertionError("the volume never came to rest")

    def agree(self, state):
        """Returns what df says."""
        self.states += 1
        with self.subTest(state=state):
            seen = self.look_at_rest()
            space = seen["df"]
            used = space["used_bytes"]
            self.assertEqual(space["total_bytes"], sum(space[part + "_bytes"] for part in
                                                       ("free", "used", "reclaimable", "reserved", "lost")))
            for parts in (space, seen["check"], seen["scrub"]):
                self.assertEqual([parts[name] for name in ("used_bytes", "data_bytes", "log_bytes", "metadata_bytes")],
                                 [space[name] for name in ("used_bytes", "data_bytes", "log_bytes", "metadata_bytes")])
                self.assertEqual(parts["used_bytes"], parts["data_bytes"] + parts["log_bytes"] + parts["metadata_bytes"])
            self.assertEqual(sum(zone["live"] for zone in seen["zones"]), used)
            for zone in seen["zones"]:
                self.assertLessEqual(zone["live"], zone["written"])
                self.assertLessEqual(zone["written"], zone["capacity"])
            dumped = seen["dump"]["zones"]
            self.assertEqual(sum(zone["used_capacity"] for zone in dumped["meta"] + dumped["io"]), used)
            self.assertEqual(sum(zone["used_capacity"] for zone in dumped["meta"]), space["metadata_bytes"])
            block = self.block_size()
            self.assertEqual(sum(-(-extent["length"] // block) * block for file in seen["dump"]["files"]
                                 for extent in file["extents"]), space["data_bytes"])
            frames = sum(frame["length"] for file in seen["dump"]["files"] for frame in file["frames"])
            self.assertLessEqual(frames, space["log_bytes"])
            self.assertEqual(frames == 0, space["log_bytes"] == 0)
            self.assertEqual(seen["exporter"], {part: space[part + "_bytes"] for part in
                                                ("free", "used", "reclaimable", "reserved", "lost", "total")})
            for line, name in (("Free", "free"), ("Used", "used"), ("Reclaimable", "reclaimable")):
                self.assertIn(f"{line}: {space[name + '_bytes'] >> 20} MB\n", seen["texts"]["df"])
            self.assertIn(f"Space amplification: {100 * space['reclaimable_bytes'] // max(used, 1)}%\n", seen["texts"]["df"])
            for verb in ("check", "scrub"):
                self.assertIn(f", {short(used)} used\n", seen["texts"][verb])
            self.assertIn(f"{short(used)} used · {short(space['reclaimable_bytes'])} reclaimable · "
                          f"{short(space['free_bytes'])} free · {short(space['total_bytes'])} in all", seen["svg"])
            return space
        return None

    def block_size(self):
        return self.ok_json("emu", "info", self.image)["block_size"]

    def requests(self, volume, *lines):
        for line in lines:
            self.assertTrue(volume.request(line).startswith("ok"), line)

    # --- states ---
    def test_files(self):
        made = self.make_volume()
        fresh = self.agree("empty")
        self.assertEqual(fresh["free_bytes"], made["free_bytes"])
        with self.mounted() as volume:
            self.agree("mounted, nothing written")
        self.agree("mounted once")
        with self.mounted() as volume:
            self.requests(volume, "write empty.sst 0 1")
        self.agree("an empty file")
        with self.mounted() as volume:
            self.requests(volume, "write small.sst 100 1")
            one = self.agree("one small file, beside its writer")
            self.assertEqual(one["data_bytes"], 4096)
        self.agree("one small file")
        with self.mounted() as volume:
            self.requests(volume, "mkdir a/b", "write a/b/large.sst 2500000 2", "write a/other.sst 300001 3",
                          "link a/other.sst linked.sst", "link a/b/large.sst a/again.sst")
            linked = self.agree("several zones, hard links, directories")
            self.requests(volume, "unlink linked.sst", "unlink a/again.sst")
            self.assertEqual(self.agree("a link less")["data_bytes"], linked["data_bytes"])
            self.requests(volume, "truncate a/b/large.sst 1000000")
            cut = self.agree("after a truncation")
            self.assertLess(cut["data_bytes"], linked["data_bytes"])
            self.requests(volume, "write new.sst 200000 4", "rename new.sst a/other.sst")
            self.agree("after a rename that replaced a file")
            self.requests(volume, "unlink a/b/large.sst", "unlink a/other.sst", "unlink small.sst", "unlink empty.sst")
            self.assertEqual(self.agree("all deleted, beside the writer")["data_bytes"], 0)
        self.agree("all deleted")
        clone = self.image + ".clone"
        self.ok("emu", "clone", self.image, clone)
        self.image = clone
        self.agree("a clone")
        self.assertEqual(self.states, 13)

    def test_logs(self):
        self.make_volume(*LARGE_ZONES)
        volume = self.mounted()
        self.requests(volume, "append a.log 100000 116 1", "sync a.log")
        full = self.agree("100,000 keys in a log, synced")
        self.assertGreater(full["log_bytes"], 100000 * 116)
        self.assertGreater(full["used_bytes"] >> 20, 10)
        self.requests(volume, "append b.log 1000 116 2")
        self.agree("a log that was flushed and not synced")
        volume.process.kill()
        volume.process.communicate()
        self.agree("after kill -9")
        with self.mounted() as volume:
            self.agree("mounted again")
            self.requests(volume, "append MANIFEST-1 50 3000 3", "close MANIFEST-1")
            self.agree("a second log")
            self.requests(volume, "truncate b.log 40000")
            self.agree("a log that was truncated")
            self.requests(volume, "unlink a.log")
            self.assertLess(self.agree("the large log deleted")["log_bytes"], full["log_bytes"])
        self.agree("unmounted with logs")
        self.assertEqual(self.states, 8)

    def test_space_gets_short(self):
        for flags in (SMALL, FEW_ZONES, [*SMALL, "--conventional=2"], [*SMALL, "--block-size=512"],
                      ["--zones=24", "--zone-size=1M", "--max-open=0", "--max-active=0"]):
            self.make_volume("--force", *flags)
            with self.mounted() as volume:
                self.requests(volume, "append a.log 300 1000 1", "sync a.log", "write kept.sst 70000 1")
                self.agree(f"{flags}: a log and a file")
                answer = volume.request("fill f 150000")
                count = int(answer.split()[1])
                self.assertGreater(count, 3, answer)
                self.agree(f"{flags}: full")
                for number in range(0, count, 2):
                    self.requests(volume, f"unlink f{number}")
                self.agree(f"{flags}: every second file deleted")
            self.agree(f"{flags}: unmounted")

    def test_a_full_volume_whose_process_died_can_be_emptied(self):
        """Logs and data fill it, more bytes are flushed than its log has room for, and the process is killed."""
        self.make_volume(*LARGE_ZONES)
        logs = [f"db/{number}.log" for number in range(8)]
        tool = self.mounted()
        self.assertEqual(tool.request("mkdir db"), "ok 0")
        tool.request("fill db/table 3000000")
        tool.request("fill db/small 100000")
        while tool.request(f"append {logs[0]} 1 100000 1") == "ok 0" and tool.request(f"sync {logs[0]}") == "ok 0":
            pass
        for log in logs[1:]:
            self.assertEqual(tool.request(f"append {log} 1 120000 1"), "ok 0")
        tool.process.kill()
        tool.process.communicate()
        for _ in range(3):  # frees nothing, so the bytes wait again
            outcome = self.zenfs("rename", f"--emu={self.image}", f"--src-file={logs[1]}", "--dest-file=db/x.log")
            self.assertEqual(outcome.status, 0, outcome.err)
            self.assertIn("flushed", outcome.err)
            self.assertEqual(outcome.err.count("\n"), 1, outcome.err)
            logs[1] = "db/x.log"
            self.zenfs("rename", f"--emu={self.image}", "--src-file=db/x.log", "--dest-file=db/1.log")
            logs[1] = "db/1.log"
        with self.mounted() as again:
            for log in logs[1:]:
                self.assertEqual(again.request(f"verify {log} 120000 1"), "ok 0")
        self.assertEqual(self.zenfs("delete", f"--emu={self.image}", "--path=db/table0").status, 0)
        self.assertEqual(self.ok("rmdir", f"--emu={self.image}", "--path=db", "--force"), "")
        self.assertEqual(self.ok_json("list", f"--emu={self.image}")["entries"], [])

    def test_after_a_loss_of_power(self):
        self.make_volume("--volatile-cache", *SMALL)
        volume = self.mounted()
        self.requests(volume, "write a.sst 300000 1", "append a.log 100 5000 1", "sync a.log", "append a.log 50 5000 1")
        volume.process.kill()
        volume.process.communicate()
        buffers = self.ok_json("buffers", f"--emu={self.image}")["buffers"]
        for row in buffers:  # the power takes them too
            if row["device"] == f"emu:{self.image}":
                os.unlink(row["path"])
        self.ok("emu", "power-cut", self.image, "--seed=3")
        self.notes = "bytes that were flushed and not synced may be missing"
        self.agree("after a power cut")
        self.notes = None
        with self.mounted():
            self.agree("mounted after a power cut")


if __name__ == "__main__":
    unittest.main()
