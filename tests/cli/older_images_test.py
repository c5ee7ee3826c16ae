"""Devices that the real older ZenFS wrote: read, upgraded, written, and given back.

ZENFS_OLDER_IMAGES names a directory with them: NAME.img.zst (the device, zones never written are zeros), NAME.json (geometry; for each zone its start,
written bytes and condition) and NAME.txt (each file as the older program lists it after its recovery: path, size, mtime, lifetime, links,
bytes read, SHA-256). They are too large for the source tree. Without the variable the test is skipped.
"""
import hashlib
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import unittest

from cli_case import CliCase, Image

IMAGES = os.environ.get("ZENFS_OLDER_IMAGES", "")
CONDITIONS = {"empty": 1, "imp_open": 2, "exp_open": 3, "closed": 4, "read_only": 0xD, "full": 0xE, "offline": 0xF}
RECOVERED = "== every file after a read-write mount"
EMULATED_TABLE = 4096


def listed_files(text):
    """path -> (size, mtime, lifetime, links, sha256) of the section with recovery."""
    section = text[text.index(RECOVERED):].split("\n== ", 1)[0]
    files = {}
    for line in section.splitlines():
        fields = line.split("\t")
        if len(fields) == 7 and fields[0].startswith("/"):
            path, size, mtime, lifetime, links, _, digest = fields
            files[path] = (int(size), int(mtime), int(lifetime), int(links), digest)
    return files


class OlderImages(CliCase):
    def load(self, name):
        """Makes an emulated device with the contents of an image."""
        shape = json.loads(pathlib.Path(IMAGES, f"{name}.json").read_text())
        if os.path.exists(self.image):
            os.remove(self.image)
        self.make_device(f"--zones={shape['zones']}", f"--zone-size={shape['zone_size']}", f"--zone-capacity={shape['zone_capacity']}",
                         f"--max-open={shape['max_open_zones']}", f"--max-active={shape['max_active_zones']}")
        raw = subprocess.run(["zstd", "-dcq", pathlib.Path(IMAGES, f"{name}.img.zst")], capture_output=True, check=True).stdout
        image = Image(self.image)
        for zone in shape["write_pointers"]:
            word = zone["written"] // shape["block_size"] << 8 | CONDITIONS[zone["cond"]]
            image.write(EMULATED_TABLE + 8 * zone["zone"], struct.pack("<Q", word))
            image.write(image.zone(zone["zone"]), raw[zone["start"]:zone["start"] + zone["written"]])
        return listed_files(pathlib.Path(IMAGES, f"{name}.txt").read_text())

    def files(self):
        """As listed_files, of what a backup has; lifetimes and links by dump."""
        into = pathlib.Path(self.dir, "files")
        subprocess.run(["rm", "-rf", into], check=True)
        backed_up = self.zenfs("backup", f"--emu={self.image}", f"--path={into}")
        self.assertEqual(backed_up.status, 0, backed_up.err)
        files = {}
        for file in json.loads(self.zenfs("dump", f"--emu={self.image}").out)["files"]:
            for path in file["filename"]:
                bytes = (into / path).read_bytes()
                self.assertEqual(len(bytes), file["size"])
                mtime = int((into / path).stat().st_mtime)
                files["/" + path.lstrip("/")] = (len(bytes), mtime, file["hint"], len(file["filename"]), hashlib.sha256(bytes).hexdigest())
        return files

    def zone_digest(self, zone):
        """Of the written bytes of a zone. A full zone reads as zeros behind what was written before it was finished."""
        image = Image(self.image)
        word, = struct.unpack_from("<Q", image.read(EMULATED_TABLE + 8 * zone, 8))
        bytes = image.read(image.zone(zone), (word >> 8) * 4096)
        return hashlib.sha256(bytes.rstrip(b"\0") if word & 0xF == CONDITIONS["full"] else bytes).hexdigest()

    def test_each_image_is_read_taken_over_and_given_back(self):
        names = sorted(path.name.removesuffix(".json") for path in pathlib.Path(IMAGES).glob("*.json"))
        self.assertNotEqual(names, [], f"no image in {IMAGES}")
        for name in names:
            with self.subTest(image=name):
                self.take_over_and_give_back(name)

    def take_over_and_give_back(self, name):
        expected = self.load(name)
        self.assertEqual(self.files(), expected)
        log = int(re.search(r"older metadata in zone (\d+)", self.zenfs("upgrade", f"--emu={self.image}", "--dry-run").out)[1])
        older_log = self.zone_digest(log)
        saved = os.path.join(self.dir, f"{name}.zmeta")
        upgraded = self.ok_json("upgrade", f"--emu={self.image}", "--yes", f"--save={saved}")
        self.assertTrue(upgraded["clean"])
        self.assertEqual(self.files(), expected)
        self.ok("check", f"--emu={self.image}", "--read-data")
        self.ok("scrub", f"--emu={self.image}")  # records checksums, unless the undo needs the write pointers that it would change
        self.ok("upgrade", f"--emu={self.image}", f"--undo={saved}")
        self.assertEqual(self.zone_digest(log), older_log)
        self.assertEqual(self.files(), expected)
        os.remove(saved)
        self.ok("upgrade", f"--emu={self.image}", "--yes", f"--save={saved}")
        with self.mounted() as volume:
            self.assertTrue(volume.request("write /new.sst 100000 1").startswith("ok"))
        self.ok("check", f"--emu={self.image}", "--read-data")
        self.ok("scrub", f"--emu={self.image}")
        self.assertEqual(self.ok_json("scrub", f"--emu={self.image}")["extents_without_checksum"], 0)
        found = self.files()
        del found["/new.sst"]
        self.assertEqual(found, expected)


if __name__ == "__main__":
    if not IMAGES:
        print("skipped: ZENFS_OLDER_IMAGES names no directory with devices of the older ZenFS")
        sys.exit(77)
    unittest.main(verbosity=2)
