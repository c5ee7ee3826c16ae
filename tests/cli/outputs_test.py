"""Files that the command writes where its user says: limits of the host, and what others put there."""
import os
import resource
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


if __name__ == "__main__":
    unittest.main()
