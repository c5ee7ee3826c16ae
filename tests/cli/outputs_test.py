"""Files that the command writes where its user says: limits of the host, and what others put there."""
import os
import pathlib
import resource
import shutil
import unittest

from cli_case import CliCase


class Limits(CliCase):
    def limited(self, bytes_max, *words, saying="File too large"):
        """Runs the command below a limit of file sizes; it must end with one line."""
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_max, before[1]))
        try:
            return self.fails(*words, saying=saying)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    def test_a_limit_of_file_sizes_is_one_line_and_harms_nothing(self):
        self.make_volume()
        source = os.path.join(self.dir, "source")
        os.mkdir(source)
        with open(os.path.join(source, "a.sst"), "wb") as file:
            file.write(bytes(range(256)) * 4000)
        self.ok("restore", f"--emu={self.image}", f"--path={source}")
        new = os.path.join(self.dir, "new.img")
        with self.unchanged():
            self.limited(100 << 10, "backup", f"--emu={self.image}", f"--path={self.dir}/saved")
            self.limited(1 << 20, "emu", "create", new)
            self.limited(1 << 20, "emu", "clone", self.image, new)
            self.limited(0, "zones", f"--emu={self.image}", f"--svg={self.dir}/zones.svg")
        self.assertFalse(os.path.exists(new))
        self.limited(64 << 10, "restore", f"--emu={self.image}", f"--path={source}", "--restore_path=again", saying=self.image)
        self.ok("check", f"--emu={self.image}", "--read-data")
        self.ok("backup", f"--emu={self.image}", f"--path={self.dir}/saved")


class Places(CliCase):
    """A directory that all users may write in, with what others put there."""

    def setUp(self):
        super().setUp()
        self.make_volume()
        self.public = os.path.join(self.dir, "public")
        os.mkdir(self.public)
        os.chmod(self.public, 0o1777)
        self.victim = os.path.join(self.dir, "victim.img")
        shutil.copy(self.image, self.victim)
        self.victims = pathlib.Path(self.victim).read_bytes()

    def put(self, name, owner=65534):
        path = os.path.join(self.public, name)
        kind = name.split("-")[0]
        if kind == "link":
            os.symlink(self.victim, path)
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            shutil.copy(self.image, path)
            if os.geteuid() != 0:
                self.skipTest("only root can make a file of another user")
        if os.geteuid() == 0:
            os.chown(path, owner, owner, follow_symlinks=False)
        return path

    def test_no_output_follows_a_link_or_opens_a_pipe_or_takes_another_users_file(self):
        for kind, saying in (("link", "symbolic link"), ("pipe", "not a regular file"), ("theirs", "belongs to user 65534")):
            for number, words in enumerate((["zones", f"--emu={self.image}", "--svg=PATH"],
                                            ["emu", "create", "PATH", "--force", "--zones=8", "--mode=666"],
                                            ["emu", "clone", self.image, "PATH", "--force"])):
                path = self.put(f"{kind}-{number}")
                before = os.lstat(path)
                self.fails(*(word.replace("PATH", path) for word in words), saying=[path, saying])
                after = os.lstat(path)
                self.assertEqual((before.st_ino, before.st_mode, before.st_size), (after.st_ino, after.st_mode, after.st_size))
        self.assertEqual(pathlib.Path(self.victim).read_bytes(), self.victims)
        self.assertEqual(len(os.listdir(self.public)), 9, "no temporary file stays")

    def test_trace_and_metrics_are_not_written_where_others_wait(self):
        move = ["--src_file=a.sst", "--dest_file=b.sst"]
        for name in ("link", "pipe", "theirs"):
            self.put(name)
            for option in ("trace_file", "metrics_file"):
                path = os.path.join(self.public, name)
                self.fails("rename", f"--uri=emu:{self.image}?{option}:{path}", *move, saying=path)
        self.assertEqual(pathlib.Path(self.victim).read_bytes(), self.victims)
        self.ok("check", f"--emu={self.image}")

    def test_a_device_that_is_replaced_leaves_its_other_names_alone(self):
        other = pathlib.Path(self.dir, "other.img")
        os.link(self.image, other)
        before = other.read_bytes()
        self.ok("emu", "create", self.image, "--force", "--zones=8")
        os.unlink(self.image)
        os.link(other, self.image)
        self.ok("emu", "clone", self.victim, self.image, "--force")
        self.assertEqual(other.read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
