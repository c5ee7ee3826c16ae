"""What is made from the table of verbs: the man page, and the completions of shells."""
import os
import shutil
import subprocess
import unittest
import unittest.mock

from cli_case import ZENFS, CliCase


def needs(program):
    """Skips, loudly, where a program is not installed; with CI=true that is a failure."""
    if shutil.which(program) is None:
        if os.environ.get("CI") == "true":
            raise AssertionError(f"{program} is not installed; see scripts/packages.txt")
        raise unittest.SkipTest(f"{program} is not installed")


def run(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, **more)
    return done.stdout, done.stderr


class Shells(CliCase):
    def setUp(self):
        super().setUp()
        self.verbs = [line[2:].split("  ")[0] for line in self.ok("help").splitlines() if line.startswith("  ")]
        self.firsts = sorted({verb.split()[0] for verb in self.verbs})

    def script(self, shell):
        path = os.path.join(self.dir, shell)
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.ok("completion", shell))
        return path

    def flags(self, verb):
        return {word.rstrip(",") for line in self.ok(*verb.split(), "--help").splitlines() for word in
                line.replace(",", " ").split()[:2] if word.startswith("--")}

    # --- bash ---
    def bash(self, *words):
        """What bash would offer for the last of `words`."""
        out, err = run("bash", "-c", 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _zenfs; printf "%s\\n" "${COMPREPLY[@]}"',
                       self.script("bash"), "zenfs", *words, cwd=self.dir)
        self.assertEqual(err, "")
        return sorted(out.split())

    def test_bash_offers_verbs(self):
        self.assertEqual(self.bash(""), self.firsts)
        self.assertEqual(self.bash("mk"), ["mkdir", "mkfs"])
        self.assertIn("create", self.bash("emu", ""))
        self.assertEqual(self.bash("help", "zo"), ["zones"])
        self.assertEqual(self.bash("completion", ""), ["bash", "fish", "zsh"])

    def test_bash_offers_every_flag_of_every_verb(self):
        for verb in self.verbs:
            offered = {word.rstrip("=") for word in self.bash(*verb.split(), "--")}
            self.assertEqual(offered, self.flags(verb), verb)
        self.assertIn("--emu=", self.bash("df", "--e"))
        self.assertIn("--json", self.bash("df", "--j"))

    def test_bash_offers_files_where_a_path_is_wanted(self):
        self.make_device()
        self.assertEqual(self.bash("df", "--emu", "=", "dev"), ["device.img"])
        self.assertEqual(self.bash("df", "--emu", "="), sorted(os.listdir(self.dir)))
        self.assertEqual(self.bash("df", "--emu", "dev"), ["device.img"])
        self.assertEqual(self.bash("emu", "info", "dev"), ["device.img"])
        os.mkdir(os.path.join(self.dir, "folder"))
        self.assertEqual(self.bash("backup", "--path", "="), ["folder"])
        self.assertEqual(self.bash("list", "--path", "=", "dev"), [], "inside the volume, where bash can't look")

    def test_bash_and_fish_offer_the_names_of_volumes(self):
        os.makedirs(os.path.join(self.configuration, "zenfs"))
        with open(os.path.join(self.configuration, "zenfs", "zenfs.conf"), "w", encoding="utf-8") as file:
            file.write('[volumes]\nmain = "dev:a"\nmirror = "dev:b"\n')
        os.mkdir(os.path.join(self.dir, "bin"))
        os.symlink(ZENFS, os.path.join(self.dir, "bin", "zenfs"))
        path = os.path.join(self.dir, "bin") + ":" + os.environ["PATH"]
        with unittest.mock.patch.dict(os.environ, PATH=path, XDG_CONFIG_HOME=self.configuration):
            needs("fish")
            self.assertEqual(self.bash("df", "m"), ["main", "mirror"])
            self.assertEqual(self.bash("df", "--volume", "=", "mi"), ["mirror"])
            self.assertEqual(self.bash("du", "--volume", "="), ["main", "mirror"])
            self.assertEqual(self.bash("du", "m"), [])
            self.assertIn("mirror", self.fish("zenfs df "))
            self.assertIn("--volume=mirror", self.fish("zenfs du --volume=m"))

    # --- the others ---
    def test_zsh_takes_its_script(self):
        needs("zsh")
        self.assertEqual(run("zsh", "-n", self.script("zsh")), ("", ""))
        out, err = run("zsh", "-f", "-c", 'autoload -U compinit; compinit -D; source "$0"; echo $_comps[zenfs]', self.script("zsh"))
        self.assertEqual((out, err), ("_zenfs\n", ""))

    def fish(self, line):
        """What fish would offer for the last word of `line`."""
        out, err = run("fish", "--no-config", "-c", f'source {self.script("fish")}; complete -C "{line}"', cwd=self.dir,
                       env=os.environ | {"HOME": self.dir})
        self.assertEqual(err, "")
        return sorted(line.split("\t")[0] for line in out.splitlines())

    def test_fish_offers_verbs_and_flags(self):
        needs("fish")
        self.assertEqual(self.fish("zenfs "), self.firsts)
        self.assertIn("create", self.fish("zenfs emu "))
        self.assertEqual({word.rstrip("=") for word in self.fish("zenfs df --")}, self.flags("df"))

    def test_unknown_shell(self):
        self.fails("completion", "tcsh", saying=["'tcsh'", "bash, zsh or fish"])
        self.fails("completion", saying="SHELL is missing: zenfs completion SHELL")

    # --- man ---
    def test_man_page_has_every_verb_and_flag(self):
        page = self.ok("help", "--man")
        for verb in self.verbs:
            self.assertIn(f".SS {verb}\n".replace("-", "\\-"), page)
            for flag in self.flags(verb) - {"--help"}:
                self.assertIn("\\fB" + flag.replace("-", "\\-") + "\\fR", page)
        self.fails("help", "--man", "df", saying="--man")

    def test_man_page_is_clean(self):
        page = self.ok("help", "--man")
        needs("groff")
        out, err = run("groff", "-ww", "-man", "-Tutf8", "-P", "-cbou", input=page)  # without escapes
        self.assertEqual(err, "")
        self.assertIn("ZENFS(8)", out)
        needs("mandoc")
        complaints, _ = run("mandoc", "-Tlint", input=page)
        # A date would differ from build to build.
        self.assertEqual([line for line in complaints.splitlines() if "missing date" not in line], [])


if __name__ == "__main__":
    unittest.main()
