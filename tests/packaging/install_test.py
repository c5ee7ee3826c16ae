"""An installation is complete, and programs find it: by find_package, by pkg-config, and as it stands.

usage: install_test.py SOURCE_DIR BUILD_DIR
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD = (pathlib.Path(path) for path in sys.argv[1:3])
del sys.argv[1:3]
HELLO = SOURCE / "examples" / "cpp" / "hello.cc"
HELLO_C = SOURCE / "examples" / "c" / "hello.c"


def run(*command, **environment):
    """Standard output of a command that must succeed."""
    done = subprocess.run([str(part) for part in command], env={**os.environ, **environment}, capture_output=True,
                          text=True, check=False, timeout=240)
    if done.returncode != 0:
        raise AssertionError(f"{shlex.join(map(str, command))} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="zenfs-install-")
        cls.addClassCleanup(cls.directory.cleanup)
        cls.root = pathlib.Path(cls.directory.name)
        cls.prefix = cls.root / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)
        cls.library = next(cls.prefix.rglob("libzenfs.so"))
        cls.zenfs = cls.prefix / "bin" / "zenfs"

    def expect_greeting(self, program, name, before=""):
        """`program` opens a database on a new device. It says `before`, and greets."""
        image = self.root / f"{name}.img"
        run(self.zenfs, "emu", "create", image)
        run(self.zenfs, "mkfs", f"--emu={image}")
        said = run(program, f"zenfs://emu:{image}", LD_LIBRARY_PATH=str(self.library.parent))
        self.assertEqual(said, before + "hello from a zone\n")
        self.assertIn(".log", run(self.zenfs, "list", f"--emu={image}", "--path=hello"))

    def test_everything_is_there(self):
        installed = {str(path.relative_to(self.prefix)) for path in self.prefix.rglob("*") if path.is_file()}
        library = self.library.parent.relative_to(self.prefix)
        for file in ("bin/zenfs", f"{library}/libzenfs.so", f"{library}/pkgconfig/zenfs.pc",
                     f"{library}/cmake/zenfs/zenfs-config.cmake", f"{library}/cmake/zenfs/zenfs-config-version.cmake",
                     "include/zenfs/registration.h", "lib/udev/rules.d/60-zenfs.rules",
                     "lib/systemd/system/zenfs-exporter.service", "lib/systemd/system/zenfs-exporter@.service",
                     "lib/systemd/system/zenfs-scrub@.service", "lib/systemd/system/zenfs-scrub@.timer", "share/man/man8/zenfs.8",
                     "share/bash-completion/completions/zenfs", "share/zsh/site-functions/_zenfs",
                     "share/fish/vendor_completions.d/zenfs.fish",
                     "share/doc/zenfs/examples/zenfs.conf",
                     "share/zenfs/grafana-dashboard.json", "share/zenfs/prometheus-alerts.yml"):
            self.assertIn(file, installed)
        self.assertFalse([file for file in installed if file.endswith(".a")], "layers are no product")

    def test_building_the_command_makes_all_pages_that_are_installed_with_it(self):
        told = (BUILD / "cmake_install.cmake").read_text()
        pages = re.findall(rf'FILES "{BUILD}/(share/[^"]+)"', told)
        self.assertEqual(len(pages), 5, pages)
        for page in pages:
            made_by = run("ninja", "-C", BUILD, "-t", "query", page)
            self.assertIn("EXECUTABLE_LINKER__zenfs_cli", made_by, f"{page} is missing after a build of the command alone")

    def test_nothing_that_is_installed_names_where_it_was_built(self):
        for path in self.library.parent.rglob("*zenfs*"):
            if path.suffix in (".cmake", ".pc"):
                self.assertNotIn(str(BUILD), path.read_text(), path)
        self.assertNotIn(str(BUILD), run("readelf", "-d", self.library))

    def test_find_package(self):
        build = self.root / "consumer"
        told = run("cmake", "-G", "Ninja", "-S", SOURCE / "tests" / "packaging" / "consumer", "-B", build,
                   f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DHELLO={HELLO}")
        self.assertRegex(told, r"zenfs 3\.\d+\.\d+ for RocksDB \d+\.\d+\.\d+")
        run("ninja", "-C", build)
        self.expect_greeting(build / "hello", "find-package")

    def test_pkg_config(self):
        flags = run("pkg-config", "--cflags", "--libs", "zenfs",
                    PKG_CONFIG_PATH=str(self.library.parent / "pkgconfig")).split()
        program = self.root / "hello"
        run("g++", "-std=c++17", HELLO, "-o", program, *flags)
        self.expect_greeting(program, "pkg-config")

    def test_from_c(self):
        program = self.root / "hello-c"
        run("gcc", "-Wall", "-Werror", HELLO_C, "-o", program, f"-L{self.library.parent}", "-Wl,--as-needed", "-lzenfs",
            "-lrocksdb")
        version = run("pkg-config", "--modversion", "zenfs", PKG_CONFIG_PATH=str(self.library.parent / "pkgconfig")).strip()
        rocksdb = run("pkg-config", "--modversion", "rocksdb").strip()
        self.expect_greeting(program, "c", f"ZenFS {version} for RocksDB {rocksdb}\n")

    def test_the_example_without_the_library_does_not_go_on_on_the_host(self):
        program = self.root / "hello-without"
        run("g++", "-std=c++17", HELLO, "-o", program, "-lrocksdb")
        done = subprocess.run([program, "zenfs://emu:/nonexistent"], capture_output=True, text=True, check=False,
                              timeout=240)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("zenfs://emu:/nonexistent", done.stderr)


if __name__ == "__main__":
    unittest.main()
