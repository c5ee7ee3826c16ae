"""A file system from mkfs to full: what list, df, fs-info, zones and check say, and who may write when."""
import json
import os
import stat
import unittest

from cli_case import SMALL, UUID, CliCase, VolumeTool


class FileSystem(CliCase):
    def fill_with_known_files(self):
        self.make_volume()
        with self.mounted() as volume:
            for request in ["mkdir rocksdbtest/dbbench", "write rocksdbtest/dbbench/000014.sst 300000 1",
                            "write rocksdbtest/dbbench/000015.sst 1500000 2", "write rocksdbtest/dbbench/000029.log 5000 3",
                            "write rocksdbtest/dbbench/CURRENT 16 4", "link rocksdbtest/dbbench/000014.sst linked.sst"]:
                self.assertEqual(volume.request(request), "ok 0", request)

    def test_mkfs_says_how_much_is_free(self):
        self.make_device()
        out, copies = self.ok("mkfs", f"--emu={self.image}").split("\n", 1)
        self.assertRegex(out, r"^ZenFS file system created\. Free space: \d+ MB$")
        made = self.ok_json("mkfs", f"--emu={self.image}", "--force")
        self.assertEqual(out, f"ZenFS file system created. Free space: {made['free_bytes'] >> 20} MB")
        self.assertEqual(made["metadata_copies"], 1)
        self.assertEqual(copies, "The metadata has one copy, because two copies take 5 zones, which is more than an eighth of the "
                                 "16 usable ones: the loss of one zone can cost the file system.\n")

    def test_a_large_device_gets_two_copies_of_the_metadata_and_survives_a_dead_zone(self):
        self.ok("emu", "create", self.image, "--zones=40", "--zone-size=1M", "--max-open=8", "--max-active=8")
        self.assertRegex(self.ok("mkfs", f"--emu={self.image}"), r"^ZenFS file system created\. Free space: \d+ MB\n$")
        with open(self.image, "r+b") as image:  # all places where zone 0 may be
            at = image.read().find(b"ZENFS3SB")
            image.seek(at)
            image.write(b"\0" * 65536)
        for verb in ("list", "df", "fs-info"):
            self.ok(verb, f"--emu={self.image}")
        self.assertIn("is whole", self.zenfs("check", f"--emu={self.image}").out)
        self.fails("mkfs", f"--emu={self.image}", saying="--force")

    def test_mkfs_keeps_an_existing_file_system_without_force(self):
        self.fill_with_known_files()
        with self.unchanged():
            self.fails("mkfs", f"--emu={self.image}",
                       saying="Existing filesystem found, use --force if you want to replace it.")
        before = self.ok_json("fs-info", f"--emu={self.image}")["uuid"]
        self.ok("mkfs", f"--emu={self.image}", "--force")
        self.assertNotEqual(self.ok_json("fs-info", f"--emu={self.image}")["uuid"], before)
        self.assertEqual(self.ok("list", f"--emu={self.image}"), "")

    def test_mkfs_keeps_data_that_is_not_ours_without_force(self):
        self.make_device()
        with VolumeTool("device", self.image) as device:
            self.assertEqual(device.request("write 3 8192 7"), "ok 8192")
        with self.unchanged():
            self.fails("mkfs", f"--emu={self.image}", saying="--force")
        self.ok("mkfs", f"--emu={self.image}", "--force")
        self.ok("check", f"--emu={self.image}")

    def test_mkfs_needs_enough_and_large_enough_zones(self):
        self.make_device("--zones=3", "--zone-size=2M")
        with self.unchanged():
            self.fails("mkfs", f"--emu={self.image}", saying="zones")
        self.ok("emu", "create", self.image, "--force", "--zones=64", "--zone-size=8K")
        with self.unchanged():
            self.fails("mkfs", f"--emu={self.image}", saying="zone")
        self.ok("emu", "create", self.image, "--force", "--zones=16", "--zone-size=2M", "--max-open=3", "--max-active=5")
        with self.unchanged():
            self.fails("mkfs", f"--emu={self.image}",
                       saying=[self.image, "allows 3 open and 5 active zones", "needs at least 4 of each"])

    def test_mkfs_bad_values(self):
        self.make_device()
        with self.unchanged():
            self.fails("mkfs", f"--emu={self.image}", "--uuid=12345", saying=["--uuid", "12345"])
            self.fails("mkfs", f"--emu={self.image}", "--label=" + "x" * 64, saying="label")
            self.fails("mkfs", f"--emu={self.image}", "--finish-threshold=101", saying="from 0 to 100")

    def test_mkfs_makes_and_records_the_aux_directory(self):
        self.make_device()
        aux = os.path.join(self.dir, "deep", "aux")
        self.ok("mkfs", f"--emu={self.image}", f"--aux_path={aux}/")
        with open(os.path.join(aux, ".zenfs_aux")) as file:
            uuid, secret = file.read().split()
        self.assertEqual(uuid, self.ok_json("fs-info", f"--emu={self.image}")["uuid"])
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(aux, ".zenfs_aux")).st_mode), 0o600)
        for verb in ("fs-info", "dump"):
            self.assertNotIn(secret, self.ok(verb, f"--emu={self.image}", "--json"))
        self.assertEqual(os.listdir(aux), [".zenfs_aux"])
        self.assertEqual(self.ok_json("fs-info", f"--emu={self.image}")["aux_path"], aux)
        self.assertRegex(self.ok("fs-info", f"--emu={self.image}"), f"Aux directory: +{aux}\n")
        clone = os.path.join(self.dir, "clone.img")
        self.assertIn(f"no aux directory: {aux} belongs to", self.ok("emu", "clone", self.image, clone))
        self.assertEqual(self.ok_json("fs-info", f"--emu={clone}")["aux_path"], "")
        relative = os.path.relpath(aux)
        self.ok("mkfs", f"--emu={self.image}", f"--aux-path={relative}", "--force")
        self.assertEqual(self.ok_json("fs-info", f"--emu={self.image}")["aux_path"], aux)

    def test_verbs_see_the_files_of_the_aux_directory(self):
        self.make_device()
        aux, tree = os.path.join(self.dir, "aux"), os.path.join(self.dir, "tree")
        self.ok("mkfs", f"--emu={self.image}", f"--aux_path={aux}")
        os.makedirs(os.path.join(tree, "db"))
        for name, text in [("LOG", "log"), ("LOCK", ""), ("LOG.old.1", "old"), ("CURRENT", "MANIFEST-1\n")]:
            with open(os.path.join(tree, "db", name), "w") as file:
                file.write(text)
        device = f"--emu={self.image}"
        self.ok("restore", device, f"--path={tree}")
        self.assertEqual(sorted(os.listdir(os.path.join(aux, "db"))), ["LOCK", "LOG", "LOG.old.1"])
        with open(os.path.join(aux, "db", "LOG")) as file:
            self.assertEqual(file.read(), "log")
        names = [e["name"] for e in self.ok_json("list", device, "--recursive")["entries"]]
        self.assertEqual(names, ["db", "db/CURRENT", "db/LOCK", "db/LOG", "db/LOG.old.1"])
        self.ok("rename", device, "--src-file=db/LOG", "--dest-file=db/LOG.old.2")
        self.ok("link", device, "--src-file=db/LOG.old.2", "--dest-file=db/LOG.old.3")
        self.ok("rename", device, "--src-file=db/LOG.old.1", "--dest-file=db/copy")
        self.ok("delete", device, "--path=db/LOCK")
        self.fails("delete", device, "--path=db/LOCK", saying="db/LOCK")
        self.assertEqual(sorted(os.listdir(os.path.join(aux, "db"))), ["LOG.old.2", "LOG.old.3"])
        saved = os.path.join(self.dir, "saved")
        self.ok("backup", device, f"--path={saved}")
        with open(os.path.join(saved, "db", "LOG.old.2")) as file:
            self.assertEqual(file.read(), "log")
        with open(os.path.join(saved, "db", "copy")) as file:
            self.assertEqual(file.read(), "old")
        self.fails("rmdir", device, "--path=db", saying="not empty")
        self.ok("rmdir", device, "--path=db", "--force")
        self.assertEqual(self.ok("list", device), "")
        self.assertEqual(os.listdir(aux), [".zenfs_aux"])

    def test_without_the_aux_directory_verbs_say_so_and_use_the_volume(self):
        self.make_device()
        aux, tree = os.path.join(self.dir, "aux"), os.path.join(self.dir, "tree")
        self.ok("mkfs", f"--emu={self.image}", f"--aux_path={aux}")
        os.rename(aux, aux + ".gone")
        os.makedirs(os.path.join(tree, "db"))
        with open(os.path.join(tree, "db", "LOG"), "w") as file:
            file.write("log")
        outcome = self.zenfs("restore", f"--emu={self.image}", f"--path={tree}")
        self.assertEqual(outcome.status, 0)
        self.assertIn(f"note: the aux directory {aux}", outcome.err)
        os.rename(aux + ".gone", aux)
        self.ok("delete", f"--emu={self.image}", "--path=db/LOG")
        self.ok("rmdir", f"--emu={self.image}", "--path=db")

    def test_refused_mkfs_leaves_no_aux_directory(self):
        self.make_volume()
        aux = os.path.join(self.dir, "deep", "aux")
        with self.unchanged():
            self.fails("mkfs", f"--emu={self.image}", f"--aux_path={aux}", saying="--force")
            self.fails("mkfs", f"--emu={self.image}", f"--aux_path={self.image}", "--force", saying=["--aux-path", "is not a directory"])
            long = self.dir + 9 * ("/" + "x" * 120)
            self.fails("mkfs", f"--emu={self.image}", f"--aux_path={long}", "--force", saying="1023 bytes")
        self.assertEqual(os.listdir(self.dir), ["device.img"])

    def test_mkfs_makes_no_aux_directory_where_another_user_could_exchange_it(self):
        self.make_device()
        theirs, mine = os.path.join(self.dir, "theirs"), os.path.join(self.dir, "mine")
        os.mkdir(theirs)
        os.mkdir(mine)
        os.symlink(mine, os.path.join(self.dir, "link"))
        os.symlink(mine, os.path.join(theirs, "link"))
        os.chmod(theirs, 0o777)
        with self.unchanged():
            for path, why in [("link", "link is a symbolic link"), ("link/aux", "link is a symbolic link"),
                              ("theirs", "theirs belongs to another user or is writable by all"),
                              ("theirs/aux", "theirs belongs"), ("theirs/link/aux", "theirs belongs")]:
                self.fails("mkfs", f"--emu={self.image}", f"--aux-path={self.dir}/{path}", saying=["--aux-path", why])
        self.assertEqual(os.listdir(mine), [])
        self.assertEqual(os.listdir(theirs), ["link"])

    def test_list_has_the_familiar_columns(self):
        self.fill_with_known_files()
        self.golden("list.txt", self.ok("list", f"--emu={self.image}", "--path=rocksdbtest/dbbench"))
        self.golden("list-root.txt", self.ok("list", f"--emu={self.image}"))
        self.golden("list-recursive.txt", self.ok("list", f"--emu={self.image}", "--recursive"))
        self.golden("list-file.txt", self.ok("list", f"--emu={self.image}", "--path=/rocksdbtest/dbbench/CURRENT"))
        self.golden("list.json", self.ok("list", f"--emu={self.image}", "--path=rocksdbtest/dbbench", "--json"))

    def test_a_tree_of_any_depth_is_listed_dumped_moved_and_removed(self):
        self.make_volume()
        with VolumeTool("device", self.image) as device:
            self.assertEqual(device.request("deep 12000 d"), "ok 0")
        note = "1 name left out, with all below, because of a path of more than 4095 bytes"
        outcome = self.zenfs("list", f"--emu={self.image}", "--recursive")
        self.assertEqual((outcome.status, len(outcome.out.splitlines())), (0, 2048))
        self.assertIn(f"list: note: {note}", outcome.err)
        for words, names in ((["list", "--recursive"], "entries"), (["dump"], "directories")):
            outcome = self.zenfs(*words, f"--emu={self.image}", "--json")
            self.assertEqual((outcome.status, len(json.loads(outcome.out)[names])), (0, 2048))
            self.assertIn(f"{words[0]}: note: {note}", outcome.err)
            self.assertIn(note, json.loads(outcome.out)["left_out"])
        deep = "/".join(["d"] * 11000)
        self.ok("rename", f"--emu={self.image}", f"--src-file={deep}", "--dest-file=tail")
        tail = self.ok_json("list", f"--emu={self.image}", "--recursive", "--path=tail")
        self.assertEqual(len(tail["entries"]), 1001)
        self.assertEqual(tail["entries"][-1]["name"], "/".join(["d"] * 1000) + "/file")
        self.assertNotIn("left_out", tail)
        for directory in ("tail", "d"):
            self.ok("rmdir", f"--emu={self.image}", f"--path={directory}", "--force")
        self.assertEqual(self.ok_json("list", f"--emu={self.image}")["entries"], [])

    def test_list_of_what_is_not_there(self):
        self.make_volume()
        self.fails("list", f"--emu={self.image}", "--path=no/such", saying="no/such")

    def test_df_zones_fs_info_and_check(self):
        self.fill_with_known_files()
        space = self.ok_json("df", f"--emu={self.image}")
        text = self.ok("df", f"--emu={self.image}")
        # How many zones the log has ready depends on timing, and with it what is free for data.
        self.golden("df.txt", text.replace(f"Free: {space['free_bytes'] >> 20} MB", "Free: N MB"))
        self.golden("fs-info.txt", self.ok("fs-info", f"--emu={self.image}"))
        self.assertEqual(self.ok_json("fs-info", f"--emu={self.image}")["uuid"], UUID)
        zones = self.ok_json("zones", f"--emu={self.image}")["zones"]
        self.assertEqual(len(zones), 16)
        for columns in (40, 80, 200):
            picture = self.ok("zones", f"--emu={self.image}", COLUMNS=str(columns))
            self.assertLessEqual(max(len(line) for line in picture.splitlines()), columns)
            self.assertNotIn("\033", picture)
        self.assertRegex(self.ok("check", f"--emu={self.image}"), r"Clean: 4 files, \d+ directories, .*\n$")
        report = self.ok_json("check", f"--emu={self.image}", "--read-data")
        self.assertTrue(report["clean"])
        self.assertGreaterEqual(report["used_bytes"], 300000 + 1500000 + 16)

    def test_df_explains_all_of_the_device(self):
        self.fill_with_known_files()
        space = self.ok_json("df", f"--emu={self.image}")
        parts = ("file_bytes", "padding_bytes", "log_bytes", "metadata_bytes", "dead_file_bytes", "dead_log_bytes",
                 "free_bytes", "kept_for_logs_bytes", "kept_for_metadata_bytes", "reclaim_bytes", "lost_bytes")
        self.assertEqual(sum(space[part] for part in parts), space["total_bytes"])
        self.assertEqual(space["total_bytes"], 16 << 20)
        self.assertEqual(space["file_bytes"], 300000 + 1500000 + 16)
        self.assertEqual(space["file_bytes"] + space["padding_bytes"], space["data_bytes"])
        text = self.ok("df", f"--emu={self.image}", "--explain", COLUMNS="100")
        self.assertEqual(len(text.split("\n\n")[0].splitlines()), 2 + len(parts), text)
        self.assertRegex(text, r"data +1\.71 MiB +10\.7% ")

    def test_looking_changes_nothing(self):
        self.fill_with_known_files()
        with self.unchanged():
            for words in (["list"], ["df"], ["fs-info"], ["zones"], ["check", "--read-data"]):
                self.ok(*words, f"--emu={self.image}")

    def test_looking_works_beside_a_writer(self):
        self.make_volume()
        with self.mounted() as volume:
            self.assertEqual(volume.request("write a.sst 100000 1"), "ok 0")
            self.assertIn("a.sst", self.ok("list", f"--emu={self.image}"))
            self.ok("df", f"--emu={self.image}")
            self.ok("zones", f"--emu={self.image}")

    def test_a_second_writer_is_told_who_holds_the_device(self):
        self.make_volume()
        with self.mounted():
            self.fails("mkfs", f"--emu={self.image}", "--force", saying=[self.image, "process", "volume_tool"])
            second = VolumeTool("mount", self.image)
            self.assertTrue(second.answer.startswith("error busy"), second.answer)
            second.process.communicate()

    def test_a_full_device_says_so_and_deleting_makes_room(self):
        self.make_volume()
        with self.mounted() as volume:
            self.assertEqual(volume.request("write kept.sst 200000 99"), "ok 0")
            answer = volume.request("fill f 200000")
            self.assertTrue(answer.startswith("ok "), answer)
            count = int(answer.split()[1])
            self.assertGreater(count, 10)
            for number in range(count):
                self.assertEqual(volume.request(f"verify f{number} 200000 {number}"), "ok 0")
            for number in range(count):
                self.assertEqual(volume.request(f"unlink f{number}"), "ok 0")
            self.assertEqual(volume.request("write again.sst 400000 5"), "ok 0")
            self.assertEqual(volume.request("verify again.sst 400000 5"), "ok 0")
            self.assertEqual(volume.request("verify kept.sst 200000 99"), "ok 0")
        self.assertTrue(self.ok_json("check", f"--emu={self.image}", "--read-data")["clean"])

    def test_small_devices_shape_is_kept(self):
        self.make_volume(*SMALL, "--conventional=2")
        self.ok("check", f"--emu={self.image}")
        zones = self.ok_json("zones", f"--emu={self.image}")["zones"]
        self.assertEqual([zone["phase"] for zone in zones[:2]], ["conventional", "conventional"])


if __name__ == "__main__":
    unittest.main()
