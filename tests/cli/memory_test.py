"""The memory of each verb stays within the budget of docs/use/memory.md, and a verb without memory ends with one line."""
import json
import os
import pathlib
import resource
import subprocess
import unittest

from cli_case import ZENFS, CliCase, VolumeTool

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/use/memory.md"
MIB = 1 << 20
FILES = 100_000
ZONES = 262_144

DOCTOR = ["doctor", "--run", "true", "--prefix=EMPTY"]
# One verb or more of each row of the page's table. A row is named by its first verb.
VERBS = {
    "devices": [["ls-uuid"], ["devices"], ["buffers"]],
    "df": [["df"], ["du"], ["find"], ["fs-info"], ["list", "--recursive"], ["list", "--recursive", "--json"], ["zones"], ["zones", "--json"],
           ["zones", "--svg=-"], ["dump"], ["check"], ["check", "--repair", "--dry-run"], ["scrub"], DOCTOR],
    "rename": [["rename", "--src_file=dir-0/000001.sst", "--dest_file=moved"], ["mkdir", "--parents", "made"]],
    # DeepPaths runs backup and restore, because both need minutes for many files.
    "backup": [["cat", "dir-0/000000.sst"], ["get", "dir-0/000000.sst", "EMPTY/copy", "--force"]],
    "restore": [["put", __file__, "copy", "--force"]],
    # Needs a volume of the older ZenFS, as test_of_an_older_volume makes one.
    "upgrade": [],
}


def budgets():
    """Bytes of address space, by row: (fixed, per zone, per file)."""
    table = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 4:
            first = cells[0].split("`")[1]
            table[first] = (int(cells[1].removesuffix(" MiB")) * MIB, *(int(cell.replace(",", "")) for cell in cells[2:]))
    return table


class MemoryCase(CliCase):
    def run_within(self, limit, words):
        def confine():
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        env = {"PATH": os.environ["PATH"], "LC_ALL": "C", "ZENFS_DEVICES_FILE": "/dev/null", "MALLOC_ARENA_MAX": "1"}
        empty = os.path.join(self.dir, "empty")
        os.makedirs(empty, exist_ok=True)
        words = [word.replace("EMPTY", empty) for word in words]
        return subprocess.run([ZENFS, *words, f"--emu={self.image}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
                              stdin=subprocess.DEVNULL, timeout=120, preexec_fn=confine, check=False)

    def tool(self, request):
        with VolumeTool("device", self.image) as tool:
            self.assertTrue(tool.request(request).startswith("ok"), request)

    def make(self, *geometry):
        self.ok("emu", "create", self.image, "--max-open=14", "--max-active=14", *geometry)
        self.ok("mkfs", f"--emu={self.image}")


class Budgets(MemoryCase):
    def check_all(self, zones, files):
        table = budgets()
        self.assertEqual(list(table), list(VERBS))
        for row, (fixed, per_zone, per_file) in table.items():
            limit = fixed + zones * per_zone + files * per_file
            for words in VERBS[row]:
                if words[0] in ("rename", "cat", "get") and files == 0:
                    continue
                with self.subTest(words=words, limit=limit):
                    done = self.run_within(limit, words)
                    self.assertEqual((done.returncode, done.stderr), (0, b""))
                    self.refused_within(fixed + (limit - fixed) // 8, words)

    def refused_within(self, limit, words):
        done = self.run_within(limit, words)
        # That may do for a verb that shares its row with larger ones.
        if done.returncode == 0:
            return
        self.assertGreater(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr.decode(), rf"\Azenfs {words[0]}: [^\n]*memory[^\n]*\n\Z")

    def test_of_many_logs(self):
        logs = FILES // 2
        self.make("--zones=64", "--zone-size=64M")
        self.tool(f"logs {logs} 8")
        table = budgets()
        for row, files_of_a_log in (("df", 2), ("rename", 3)):
            fixed, per_zone, per_file = table[row]
            limit = fixed + 64 * per_zone + logs * files_of_a_log * per_file
            for words in VERBS[row]:
                words = [word.replace("dir-0/000001.sst", "0.log") for word in words]
                with self.subTest(words=words, limit=limit):
                    done = self.run_within(limit, words)
                    self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_of_many_files(self):
        self.make("--zones=64", "--zone-size=64M")
        self.tool(f"files {FILES}")
        self.check_all(64, FILES)

    def test_of_many_zones(self):
        self.make(f"--zones={ZONES}", "--zone-size=64K")
        self.check_all(ZONES, 0)


    def test_of_an_older_volume(self):
        self.ok("emu", "create", self.image, "--max-open=14", "--max-active=14", "--zones=64", "--zone-size=64M")
        self.tool(f"older-files {FILES}")
        table = budgets()
        fixed, per_zone, per_file = table["df"]
        for words in VERBS["df"]:
            if "--repair" in words:  # refuses such a volume
                continue
            with self.subTest(words=words):
                done = self.run_within(fixed + 64 * per_zone + FILES * 2 * per_file, words)
                self.assertEqual(done.returncode, 0, done.stderr)
        fixed, per_zone, per_file = table["upgrade"]
        budget = 64 * per_zone + FILES * per_file
        saved = os.path.join(self.dir, "saved")
        upgrade = ["upgrade", "--yes", f"--save={saved}"]
        done = self.run_within(fixed + budget // 8, upgrade)
        self.assertEqual((done.returncode, done.stderr), (1, b"zenfs upgrade: out of memory\n"))
        for words in (upgrade, ["upgrade", f"--undo={saved}"]):
            done = self.run_within(fixed + budget, words)
            self.assertEqual((done.returncode, done.stderr), (0, b""), words)
        self.assertEqual(self.ok_json("fs-info", f"--emu={self.image}")["format"], 2)


class DeepPaths(MemoryCase):
    FILES = 4_000
    DEPTH = 2_000

    def test_the_length_of_paths_costs_a_backup_and_a_restore_no_memory(self):
        self.make("--zones=24", "--zone-size=64M")
        self.tool(f"deep {self.DEPTH} d {self.FILES}")
        backup = os.path.join(self.dir, "backup")
        self.run_in_budget("backup", f"--path={backup}")
        self.run_in_budget("backup", f"--path={backup}", "--force")
        self.make("--force", "--zones=24", "--zone-size=64M")
        self.run_in_budget("restore", f"--path={backup}")
        self.assertEqual(self.ok_json("check", f"--emu={self.image}")["files"], self.FILES + 1)

    def test_the_length_of_paths_costs_a_look_at_a_run_no_memory(self):
        self.make("--zones=24", "--zone-size=64M")
        files, depth = 40_000, 15
        self.tool(f"deep {depth} {'d' * 250} {files}")
        fixed, per_zone, per_file = budgets()["df"]
        done = self.run_within(fixed + 24 * per_zone + (files + depth) * per_file + depth * 4 * 250, DOCTOR)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertIn(b"in the volume: 0 files new or changed", done.stdout)

    def run_in_budget(self, verb, *flags):
        fixed, per_zone, per_file = budgets()[verb]
        limit = fixed + 24 * per_zone + (self.FILES + self.DEPTH) * per_file
        with self.subTest(verb=verb, limit=limit):
            done = self.run_within(limit, [verb, "--jobs=1", *flags])
            self.assertEqual((done.returncode, done.stderr), (0, b""))

    def tearDown(self):
        # Deeper than shutil.rmtree goes.
        subprocess.run(["rm", "-rf", os.path.join(self.dir, "backup")], check=True)
        super().tearDown()


class WithoutMemory(MemoryCase):
    # A mount that needs a log switch takes memory for each file once more, in the log's own thread.
    def test_a_mount_ends_with_one_line_wherever_memory_runs_out(self):
        self.make("--zones=64", "--zone-size=64M")
        self.tool(f"files {FILES}")
        fixed, per_zone, per_file = budgets()["rename"]
        budget = fixed + 64 * per_zone + FILES * per_file
        refused = 0
        for part in range(1, 40):
            done = self.run_within(16 * MIB + budget * part // 40, VERBS["rename"][0])
            if done.returncode == 0:
                break
            refused += 1
            self.assertGreater(done.returncode, 0, done.stderr)
            self.assertRegex(done.stderr.decode(), r"\Azenfs rename: [^\n]*memory[^\n]*\n\Z")
        self.assertGreater(refused, 10)
        self.assertEqual(self.ok_json("check", f"--emu={self.image}")["files"], FILES)


class HostileMetadata(MemoryCase):
    NAMES = 20_000
    EXTENTS = 200_000

    def setUp(self):
        super().setUp()
        self.make("--zones=24", "--zone-size=64M")
        self.tool(f"damage {self.NAMES} {self.EXTENTS}")

    def limit(self):
        fixed, per_zone, per_file = budgets()["df"]
        return fixed + 24 * per_zone + self.NAMES * (per_file + 4 * 200) + self.EXTENTS * 128

    def test_findings_are_bounded_and_counted(self):
        done = self.run_within(self.limit(), ["check"])
        self.assertEqual((done.returncode, done.stderr), (1, b""))
        lines = done.stdout.decode().splitlines()
        # Each extent is behind the write pointer, and all but one overlap another.
        self.assertEqual(lines[1000], f"{2 * self.EXTENTS - 1 - 1000} more errors, not listed")
        self.assertLess(len(lines), 1010)
        self.assertIn(f"and {self.NAMES - 3} more names", lines[0])

        report = self.ok_json_of(1, "check")
        self.assertEqual((report["clean"], len(report["findings"])), (False, 1000))
        self.assertEqual(report["findings_omitted"], {"errors": 2 * self.EXTENTS - 1001, "warnings": 0, "notes": 0})
        self.assertEqual((len(report["findings"][0]["paths"]), report["findings"][0]["more_paths"]), (3, self.NAMES - 3))

    def ok_json_of(self, status, *words):
        outcome = self.zenfs(*words, f"--emu={self.image}", "--json")
        self.assertEqual(outcome.status, status, outcome.err)
        return json.loads(outcome.out)

    def test_no_verb_takes_more_than_its_budget(self):
        for words in [["scrub"], ["dump"], ["list"], ["check", "--repair", "--dry-run"], DOCTOR]:
            with self.subTest(words=words):
                done = self.run_within(self.limit(), words)
                self.assertIn(done.returncode, (0, 1))
                self.assertEqual(done.stderr, b"")


class HostileLog(MemoryCase):
    FRAMES = 32 * MIB  # the largest frame of both metadata zones

    def setUp(self):
        super().setUp()
        self.make("--zones=64", "--zone-size=64M")
        fixed, per_zone, _ = budgets()["df"]
        self.limit = fixed + 64 * per_zone + self.FRAMES

    def run_all(self, statuses, *verbs):
        for words in verbs:
            with self.subTest(words=words):
                done = self.run_within(self.limit, words)
                self.assertIn(done.returncode, statuses)
                self.assertNotIn(b"memory", done.stdout + done.stderr)

    def test_the_edits_of_a_commit_take_the_memory_of_one(self):
        self.tool("edits 4000000")
        self.run_all((0,), ["list"], ["dump"], ["check"], ["scrub"], ["check", "--repair", "--dry-run"])

    def test_commits_that_are_only_claimed_take_no_memory(self):
        self.tool("claim 15000000")
        self.run_all((1, 2), ["list"], ["check"], ["scrub"], ["check", "--repair", "--dry-run"])


if __name__ == "__main__":
    unittest.main()
