"""The model of a power cut (lab/drive_log.py): what it may take, and what it must leave."""
import pathlib
import random
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from lab.drive_log import BadLog, DriveLog, Kept  # noqa: E402
from lab.drives import ZnsDrive  # noqa: E402

BLOCK = 4096
ZONE = 1 << 20
CAPACITY = 768 << 10
DRIVE = ZnsDrive("test", zones=4, zone_size=ZONE, zone_capacity=CAPACITY)


def log_of(*lines):
    log = DriveLog(DRIVE)
    log.read("".join(line + "\n" for line in lines))
    return log


def cuts(*lines):
    """What 200 cuts after these events leave: the set of the outcomes."""
    return {tuple(log_of(*lines).cut(random.Random(seed))) for seed in range(200)}


class DriveLogTest(unittest.TestCase):
    def test_what_was_flushed_stays(self):
        self.assertEqual(cuts("write 0 8192", "flush 0", "flushed 0"), {(Kept(0, 8192, "close"),)})

    def test_what_was_not_flushed_may_end_at_any_block(self):
        self.assertEqual(cuts("write 0 4096", "flush 0", "flushed 0", "write 4096 8192"),
                         {(Kept(0, length, "close"),) for length in (4096, 8192, 12288)})

    def test_a_flush_covers_what_was_complete_when_it_began(self):
        self.assertIn((Kept(0, 4096, "close"),),
                      cuts("write 0 4096", "flush 0", "write 4096 4096", "flushed 0"))
        self.assertIn((), cuts("write 0 4096", "flush 0"))

    def test_zones_are_lost_each_on_its_own(self):
        found = cuts("write 0 4096", f"write {ZONE} 4096")
        self.assertEqual(found, {(), (Kept(0, 4096, "close"),), (Kept(1, 4096, "close"),),
                                 (Kept(0, 4096, "close"), Kept(1, 4096, "close"))})

    def test_a_reset_zone_stays_empty_whatever_a_flush_covered(self):
        self.assertEqual(cuts("write 0 4096", "flush 0", "reset 0", "flushed 0"), {()})
        self.assertIn((), cuts("write 0 4096", "flush 0", "reset 0", "write 0 4096", "flushed 0"))

    def test_a_finish_is_kept_if_flushed_else_perhaps(self):
        finished = ("write 0 4096", "flush 0", "flushed 0", "finish 0")
        self.assertEqual(cuts(*finished), {(Kept(0, 4096, "close"),), (Kept(0, 4096, "finish"),)})
        self.assertEqual(cuts(*finished, "flush 1", "flushed 1"), {(Kept(0, 4096, "finish"),)})

    def test_a_zone_written_to_its_end_is_full_by_that(self):
        self.assertEqual(cuts(f"write 0 {CAPACITY}", "flush 0", "flushed 0"), {(Kept(0, CAPACITY, "nothing"),)})

    def test_what_survived_a_cut_survives_the_next(self):
        log = log_of("write 0 8192")
        kept = log.cut(random.Random(1))
        self.assertEqual(log.cut(random.Random(2)), kept)
        self.assertEqual((log.at_risk, log.lost), (0, 0))

    def test_appends_end_in_any_order(self):
        self.assertEqual(cuts("append 4096 4096", "append 0 4096", "flush 0", "flushed 0"), {(Kept(0, 8192, "close"),)})
        self.assertEqual(cuts("append 4096 4096", "flush 0", "append 0 4096", "flushed 0"), {(Kept(0, 8192, "close"),)})

    def test_a_copy_is_kept_like_a_write(self):
        self.assertEqual(cuts("write 0 4096", "flush 0", "flushed 0", f"copy {ZONE} 4096"),
                         {(Kept(0, 4096, "close"),), (Kept(0, 4096, "close"), Kept(1, 4096, "close"))})
        self.assertEqual(cuts("cancelled copy 0 4096", "failed copy 0 4096", "flush 0", "flushed 0"),
                         {(Kept(0, 4096, "close"),)})

    def test_a_write_behind_a_command_may_be_refused_once(self):
        for first in ("copy 0 4096", "append 0 4096"):
            self.assertEqual(cuts(first, "failed write 4096 4096", "write 4096 4096", "flush 0", "flushed 0"),
                             {(Kept(0, 8192, "close"),)})
            for lines in ((first, "failed write 4096 4096", "failed write 4096 4096"), (first, "failed write 0 4096"),
                          (first, "failed write 4096 4096", "write 8192 4096"), (first, "reset 0", "failed write 0 4096")):
                with self.assertRaises(BadLog):
                    log_of(*lines)

    def test_a_rewritten_block_is_a_version_since_the_flush_or_torn_between_two(self):
        def block_after(*lines):
            found = set()
            for seed in range(300):
                log = log_of("area 0", *lines)
                self.assertEqual(log.cut(random.Random(seed)), [Kept(0, 0, "area")])
                found.add(tuple((offset, one.at, one.torn == BLOCK, one.behind) for offset, one in log.kept_blocks))
            return found
        first, second = f"rewrite {BLOCK} {BLOCK} 0", f"rewrite {BLOCK} {BLOCK} {BLOCK}"
        whole = [((BLOCK, at, True, at),) for at in (0, BLOCK)]
        torn = ((BLOCK, BLOCK, False, 0),)
        self.assertEqual(block_after(first), {(), whole[0]})
        self.assertEqual(block_after(first, "flush 0", second, "flushed 0"), {whole[0], whole[1], torn})
        self.assertEqual(block_after(first, second, "flush 0", "flushed 0"), {whole[1]})
        self.assertEqual(block_after(first, "flush 0", "flushed 0", "reset 0", "area 0"), {()})

    def test_a_cancelled_command_may_have_been_executed(self):
        whole = (Kept(0, 4096, "close"),)
        flushed = ("flush 0", "flushed 0")
        self.assertEqual(cuts("cancelled write 0 4096", "failed write 0 4096", *flushed), {whole})
        self.assertEqual(cuts("cancelled write 0 4096", "write 0 4096", *flushed), {whole})
        self.assertEqual(cuts("cancelled append 0 4096", "append 4096 4096", *flushed), {(Kept(0, 8192, "close"),)})
        self.assertEqual(cuts("write 0 4096", "cancelled flush 0", "flush 1", "flushed 1"), {whole})

    def test_the_last_line_counts_only_with_its_end(self):
        log = DriveLog(DRIVE)
        log.read("write 0 4096\nwrite 4096 40")
        self.assertEqual(log.zones[0].written, 4096)

    def test_a_log_with_a_gap_is_refused(self):
        for lines in (("write 4096 4096",), ("write 0 4096", "reset 0", "write 4096 4096"),
                      ("finish 0", "write 0 4096"), ("reset 4096",), ("failed write 0 4096",), ("failed copy 0 4096",), ("copy 4096 4096",), ("rewrite 0 4096 0",),
                      ("area 0", "append 0 4096"), ("write 0 4096", "area 0"),
                      ("append 4096 4096", "append 0 4096", "append 0 4096"), ("write 0 8192", "append 4096 4096")):
            with self.assertRaises(BadLog):
                log_of(*lines)


if __name__ == "__main__":
    unittest.main()
