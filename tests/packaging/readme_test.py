"""What README tells to type under "Use it with your program" works as it is typed.

usage: readme_test.py SOURCE_DIR BUILD_DIR
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD = (pathlib.Path(path) for path in sys.argv[1:3])
del sys.argv[1:3]


def commands(section):
    """The lines of the section's block that a shell is to run."""
    text = (SOURCE / "README.md").read_text()
    text = text[text.index(f"\n## {section}\n"):]
    return re.search(r"```sh\n(.*?)```", text, re.S).group(1)


class ReadmeTest(unittest.TestCase):
    def test_commands_of_the_readme_work_in_a_clone_that_was_built(self):
        for program in ("db_bench", "ldb"):
            if shutil.which(program) is None:
                self.fail(f"{program} is missing; scripts/setup installs it")
        block = commands("Use it with your program")
        self.assertGreaterEqual(block.count("\n"), 6)
        with tempfile.TemporaryDirectory(prefix="zenfs-readme-") as clone:
            (pathlib.Path(clone) / "build").mkdir()
            (pathlib.Path(clone) / "build" / "release").symlink_to(BUILD)
            done = subprocess.run(["bash", "-e", "-u", "-o", "pipefail", "-c", block], cwd=clone, capture_output=True, text=True,
                                  timeout=240, check=False,
                                  env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": clone, "LC_ALL": "C"})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("ZenFS file system created.", done.stdout)
            self.assertRegex(done.stdout, r"fillrandom +: ")
            self.assertEqual(len(re.findall(r"^0x[0-9A-F]+ (?::|==>) 0x", done.stdout, re.M)), 3, "three keys of ldb")
            self.assertRegex(done.stdout, r"\d+ +\w+ \d+ \d+ [\d:]+ +CURRENT")
            self.assertNotRegex(done.stderr, "cannot be preloaded")
            used = int(re.search(r"^Used: (\d+) MB$", done.stdout, re.M).group(1))
            self.assertGreaterEqual(used, 10, "the keys are on the device")
            self.assertEqual(sorted(path.name for path in pathlib.Path(clone).iterdir()), ["build", "device.img"],
                             "nothing went to the host")


if __name__ == "__main__":
    unittest.main()
