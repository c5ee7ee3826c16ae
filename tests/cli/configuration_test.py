"""Configuration files: names of volumes, defaults, who wins, and what is wrong in a file."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest
import unittest.mock

from cli_case import UUID, ZENFS, CliCase, VolumeTool
from exporter_process import ExporterProcess

ROOT = pathlib.Path(__file__).parents[2]
READERS = ["list", "find", "du", "df", "fs-info", "advise", "zones", "check", "scrub", "dump"]
WRITERS = [["mkfs"], ["restore", "--path=."], ["put", "/etc/hostname", "x"], ["link", "--src-file=a", "--dest-file=b"],
           ["rename", "--src-file=a", "--dest-file=b"], ["delete", "--path=a"], ["mkdir", "a"], ["rmdir", "--path=a"]]


class ConfigurationCase(CliCase):
    def setUp(self):
        super().setUp()
        self.file = pathlib.Path(self.configuration) / "zenfs" / "zenfs.conf"
        self.file.parent.mkdir(parents=True)

    def configure(self, *lines):
        self.file.write_text("".join(line + "\n" for line in lines))

    def configure_volume(self, *lines):
        self.make_volume()
        self.configure(*lines, "[volumes]", f'main = "zenfs://emu:{self.image}"', 'other = "dev:no-such-disk"')


class Names(ConfigurationCase):
    def test_a_name_takes_the_place_of_a_device_flag(self):
        self.configure_volume()
        self.ok("mkdir", "db", "--volume=main")
        with self.mounted() as volume:
            self.assertEqual(volume.request("write db/CURRENT 16 1"), "ok 0")
        for verb in READERS:
            status = self.zenfs(verb, f"--emu={self.image}")
            named = self.zenfs(verb, "--volume=main")
            self.assertEqual((named.status, named.out, named.err), (status.status, status.out, status.err), verb)
            if verb not in ("find", "du"):
                self.assertEqual(self.zenfs(verb, "main").out, status.out, verb)
        self.assertEqual(self.ok("list", "main", "--path=db"), self.ok("list", f"--emu={self.image}", "--path=db"))
        self.assertEqual(self.ok("find", "db", "--volume=main", "--type=file"), "db/CURRENT\n")

    def test_a_named_volume_is_written(self):
        self.configure_volume()
        self.ok("mkdir", "db", "--volume=main")
        self.ok("put", str(self.file), "db/", "--volume=main")
        self.ok("rename", "main", "--src-file=db/zenfs.conf", "--dest-file=db/moved")
        self.assertEqual(self.ok("cat", "db/moved", "--volume=main"), self.file.read_text())
        self.ok("delete", "main", "--path=db/moved")
        self.assertRegex(self.ok("mkfs", "main", "--force"), "^ZenFS file system created")

    def test_options_of_the_uri_count(self):
        self.configure_volume()
        self.configure("[volumes]", f'main = "zenfs://emu:{self.image}?ro"')
        self.ok("df", "main")
        self.fails("mkdir", "a", "--volume=main", saying="leave the option 'ro' out")

    def test_an_unknown_name_lists_the_known_ones(self):
        self.fails("df", "main", saying=["zenfs df: no volume is named 'main': none is configured in", str(self.file), "/etc/zenfs/zenfs.conf"])
        self.configure_volume()
        self.fails("df", "mian", saying="zenfs df: no volume is named 'mian'; known: main, other\n")
        self.fails("df", "--volume=mian", saying="no volume is named 'mian'; known: main, other\n")
        self.fails("check", "mian", status=2, saying="known: main, other")
        self.fails("df", "--volume=", saying="--volume needs a value: --volume=VOLUME;")

    def test_one_device_is_one_device(self):
        self.configure_volume()
        self.fails("df", "main", f"--emu={self.image}", saying="'main' is one word too many; see 'zenfs df --help'")
        self.fails("df", "main", "other", saying="'other' is one word too many")
        self.fails("df", "--volume=main", "--zbd=x", saying="--volume and --zbd name 2 devices; name exactly one")

    def test_a_path_that_looks_like_a_name_stays_a_path(self):
        self.configure_volume('default_volume = "main"')
        self.ok("mkdir", "main", "--volume=main")
        self.assertIn("main", self.ok("du", "main"))
        self.fails("du", "other", saying="other")

    def test_volumes_are_listed_with_their_place(self):
        self.assertEqual(self.ok("volumes"), "")
        self.configure_volume('default_volume = "main"')
        self.golden("volumes.txt", self.ok("volumes"))
        self.golden("volumes.json", self.ok("volumes", "--json"))


class Defaults(ConfigurationCase):
    def test_the_default_volume_is_read(self):
        self.configure_volume('default_volume = "main"')
        for verb in READERS:
            named = self.zenfs(verb, "--volume=main")
            default = self.zenfs(verb)
            self.assertEqual((default.status, default.out, default.err), (named.status, named.out, named.err), verb)
        self.fails("df", "--zbd=no-such-disk", saying="/dev/no-such-disk")
        self.fails("df", "other", saying="/dev/no-such-disk")

    def test_the_default_volume_is_never_written(self):
        self.configure_volume('default_volume = "main"')
        says = "no device given, and only verbs that read use the default volume; --volume=main names it"
        with self.unchanged():
            for words in WRITERS + [["mkfs", "--force"], ["doctor", "--run", "--", "true"]]:
                self.fails(*words, saying=[f"zenfs {words[0]}: {says}", "--emu=PATH"])
            self.fails("check", "--repair", "--yes", status=2, saying=says)
            self.fails("check", "--undo-repair=x", status=2, saying=says)
        self.zenfs("check", "--repair", "--dry-run")

    def test_the_directory_for_append_buffers(self):
        self.configure_volume('flush_dir = "/no/such"')
        self.fails("mkdir", "a", "--volume=main", saying=["option flush_dir", "/no/such"])
        self.fails("mkdir", "a", f"--emu={self.image}", saying="option flush_dir")
        self.ok("mkdir", "a", f"--uri=zenfs://emu:{self.image}?flush_dir:auto")
        self.configure('flush_dir = "none"')
        self.ok("mkdir", "b", f"--emu={self.image}")

    def test_buffers_are_looked_for_in_the_configured_directory(self):
        shared = pathlib.Path("/dev/shm") / os.path.basename(self.dir)
        shared.mkdir()
        self.addCleanup(shutil.rmtree, shared)
        self.make_volume()
        self.configure(f'flush_dir = "{shared}"')
        with VolumeTool("mount", self.image, str(shared)) as volume:
            self.assertEqual(volume.request("mkdir x"), "ok 0")
            found = json.loads(self.ok("buffers", "--json", f"--emu={self.image}"))["buffers"]
            self.assertIn(str(shared), "".join(one["path"] for one in found))
            self.file.unlink()
            found = json.loads(self.ok("buffers", "--json", f"--emu={self.image}"))["buffers"]
            self.assertNotIn(str(shared), "".join(one["path"] for one in found))

    def test_the_exporter_listens_where_it_is_told(self):
        self.make_volume()
        for listen, place in (("127.0.0.1", "2: exporter.listen"), ("127.0.0.1:0", "2: exporter.listen")):
            self.configure("[exporter]", f'listen = "{listen}"')
            self.fails("exporter", f"--emu={self.image}", saying=[f"{self.file}:{place}: '{listen}' is not HOST:PORT"])
            self.fails("exporter", f"--emu={self.image}", "--listen=x", saying="--listen: 'x' is not HOST:PORT")
        self.configure("[exporter]", 'listen = "192.0.2.1:9817"')
        self.fails("exporter", f"--emu={self.image}", saying="can't listen on 192.0.2.1:9817")

    def test_the_exporter_serves_named_volumes(self):
        self.configure_volume()
        with unittest.mock.patch.dict(os.environ, XDG_CONFIG_HOME=self.configuration), ExporterProcess("main") as exporter:
            self.assertIn(f'device="emu:{self.image}"', exporter.get("/metrics"))


class TwoFiles(ConfigurationCase):
    """The host's file, in a mount namespace where /etc is a folder of the test."""

    def zenfs_of_host(self, host, *words):
        etc = pathlib.Path(self.dir) / "etc"
        (etc / "zenfs").mkdir(parents=True, exist_ok=True)
        (etc / "zenfs" / "zenfs.conf").write_text(host)
        probe = subprocess.run(["unshare", "-rm", "mount", "--bind", etc, "/etc"], capture_output=True, text=True, check=False)
        if probe.returncode != 0:
            if os.environ.get("CI") == "true":
                self.fail(f"no mount namespace: {probe.stderr}")
            self.skipTest(f"no mount namespace: {probe.stderr}")
        return subprocess.run(["unshare", "-rm", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"', etc, ZENFS, *words],
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "XDG_CONFIG_HOME": self.configuration, "LC_ALL": "C"})

    def test_the_users_file_comes_before_the_hosts(self):
        self.make_volume()
        host = f'default_volume = "main"\n[volumes]\nmain = "zenfs://emu:{self.image}"\nother = "dev:of-host"\n'
        self.assertIn(UUID, self.zenfs_of_host(host, "fs-info").stdout)
        self.configure("[volumes]", 'main = "dev:of-user"')
        self.assertIn("/dev/of-user", self.zenfs_of_host(host, "fs-info").stderr)
        self.assertIn("/dev/of-host", self.zenfs_of_host(host, "fs-info", "other").stderr)
        self.assertIn(UUID, self.zenfs_of_host(host, "fs-info", f"--emu={self.image}").stdout, "a flag comes before both")
        listed = self.zenfs_of_host(host, "volumes").stdout
        self.assertEqual(listed, f"main\tdev:of-user\t{self.file}:2\tdefault\nother\tdev:of-host\t/etc/zenfs/zenfs.conf:4\n")
        self.assertIn("/etc/zenfs/zenfs.conf:1: colour: unknown key", self.zenfs_of_host('colour = "red"\n', "volumes").stderr)


class Faults(ConfigurationCase):
    def test_an_error_names_file_line_and_key(self):
        self.make_volume()
        for lines, says in ((["", 'default_volum = "main"'], "2: default_volum: unknown key, did you mean default_volume?"),
                            (["[volumes]", "main = dev:nvme0n1"], "2: main = dev:nvme0n1: could not determine value type"),
                            (["[volumes]", 'main = "device.img"'], "2: volumes.main: "),
                            (['default_volume = "main"'], "1: default_volume: no volume is named 'main'"),
                            (["[volumes]", 'main = "emu:device.img"'], "2: volumes.main: 'device.img' is not an absolute path")):
            self.configure(*lines)
            self.fails("df", saying=f"zenfs df: {self.file}:{says}")
            self.fails("df", "main", saying=f"zenfs df: {self.file}:{says}")
            self.fails("volumes", saying=f"zenfs volumes: {self.file}:{says}")
            self.fails("mkdir", "a", f"--emu={self.image}", saying=f"zenfs mkdir: {self.file}:{says}")
            self.ok("df", f"--emu={self.image}")  # needs nothing of the file
        self.file.write_bytes(b'flush_dir = "\xff\x1b[2J"\n')
        self.assertNotIn("\x1b", self.fails("volumes", saying=f"{self.file}:1: "))

    def test_a_file_that_cannot_be_read(self):
        self.configure_volume()
        self.file.chmod(0)
        for folder in (self.dir, self.configuration, self.file.parent):
            os.chmod(folder, 0o755)
        os.chmod(self.image, 0o644)
        self.run_without_privileges()
        self.fails("df", "main", saying=f"zenfs df: {self.file}: the configuration file: Permission denied")
        self.ok("df", f"--emu={self.image}")
        os.chmod(self.file.parent, 0o700)
        self.fails("df", "main", saying="no volume is named 'main': none is configured")

    def test_a_file_of_everybody_is_not_trusted_by_root(self):
        if os.geteuid() != 0:
            self.skipTest("only root is refused")
        self.configure_volume()
        self.file.chmod(0o666)
        self.fails("df", "main", saying=[f"zenfs df: {self.file}: every user may change this file", f"chmod o-w {self.file}"])
        os.chmod(self.dir, 0o755)
        os.chmod(self.image, 0o644)
        self.run_without_privileges()
        self.ok("df", "main")


class Documents(ConfigurationCase):
    def block(self, kind):
        page = (ROOT / "docs/use/configuration.md").read_text()
        return re.search(rf"```{kind}\n(.*?)```", page, re.S).group(1)

    def test_the_page_can_be_typed(self):
        self.make_device()
        text = self.block("toml")
        self.assertIn("/var/tmp/trial.img", text)
        self.file.write_text(text.replace("/var/tmp/trial.img", self.image).replace('default_volume = "main"', 'default_volume = "trial"'))
        bin_folder = pathlib.Path(self.dir) / "bin"
        bin_folder.mkdir()
        (bin_folder / "zenfs").symlink_to(ZENFS)
        done = subprocess.run(["bash", "-eu", "-c", self.block("sh")], capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}", "XDG_CONFIG_HOME": self.configuration})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("ZenFS file system created.", done.stdout)
        self.assertEqual(done.stdout.count("Free:"), 2)
        self.assertIn(pathlib.Path("/etc/hostname").read_text(), done.stdout)
        self.assertRegex(done.stdout, r"main\tzenfs://dev:nvme0n1\t.*\ntrial\t.*\tdefault\n$")

    def test_the_sample_file_is_valid_with_and_without_its_comments(self):
        sample = (ROOT / "packaging/config/zenfs.conf").read_text()
        self.file.write_text(sample)
        self.assertEqual(self.ok("volumes"), "")
        self.file.write_text(re.sub(r"^#(?=[a-z_]+ = )", "", sample, flags=re.M))
        listed = self.ok("volumes")
        self.assertEqual([line.split("\t")[0] for line in listed.splitlines()], ["archive", "main", "trial"])
        page = (ROOT / "docs/use/configuration.md").read_text()
        for key in ("default_volume", "flush_dir", "exporter.listen", "volumes."):
            self.assertIn(key, page)

    def test_the_page_names_the_verbs_that_take_no_name_as_a_word(self):
        page = (ROOT / "docs/use/configuration.md").read_text()
        named = set(re.findall(r"`([\w-]+)`", re.search(r"take `--volume` only: (.*?)\.\n", page, re.S).group(1)))
        verbs = [line[2:].split("  ")[0] for line in self.ok("help").splitlines() if line.startswith("  ")]
        helps = {verb: self.ok(*verb.split(), "--help") for verb in verbs}
        without = {verb for verb, text in helps.items() if "--volume VOLUME" in text and "[VOLUME" not in text.splitlines()[1]}
        self.assertEqual(named, without)


if __name__ == "__main__":
    unittest.main()
