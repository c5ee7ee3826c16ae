"""The limit: files in memory, and the times of a drive (bench/ideal)."""
import json
import pathlib
import shutil
import uuid

from trial.candidates import Place, check_room, room_needed


# Not smr and smallzone: the ideal file system does not place its files, and there the place decides the time.
PROFILES = ("none", "zn540", "bufferless")


class IdealPlace(Place):
    def __init__(self, programs, profile, folder):
        self.page, self.folder = folder / "counters", folder
        super().__init__(folder / "db", f"ideal://{profile}?{self.page}", programs.ideal)

    def counters(self):
        return json.loads(self.page.read_text())

    def device_bytes(self, finished):
        return self.counters()["device_bytes"]

    def emulation_cpu_seconds(self):
        return self.counters()["waiting_cpu_ns"] / 1e9

    def used_bytes(self):
        return sum(path.stat().st_size for path in pathlib.Path(self.db).rglob("*") if path.is_file()), 0

    def remove(self):
        shutil.rmtree(self.folder)


class IdealCandidate:
    kind = "ideal"

    def __init__(self, programs, profile, directory):
        self.programs, self.profile, self.directory = programs, profile, pathlib.Path(directory)
        self.name = f"ideal-{profile}"
        self.uri = f"ideal://{profile}"
        self.description = "Files in memory" + ("" if profile == "none" else f" that take the times of the profile {profile}")

    def check(self, data_bytes):
        check_room(self.directory, room_needed(data_bytes), self.name)

    def make(self, _data_bytes):
        folder = self.directory / uuid.uuid4().hex[:12]
        folder.mkdir()
        return IdealPlace(self.programs, self.profile, folder)
