#!/usr/bin/env python3
"""What scripts/rocksdb-stress takes for good and for bad: a run that proves nothing must not pass."""
import unittest

from stress import kinds, output

PASSED = """Crash-recovery verification passed :)
2026/11/22-07:15:57  Starting database operations
"""


class Output(unittest.TestCase):
    def test_what_each_thread_reported_last_counts(self):
        # Two threads: one got to 300, the other to 100.
        text = "... finished 100 ops    \r... finished 100 ops  \r... finished 200 ops \r... finished 300 ops \r"
        self.assertEqual(output.operations(text), 400)

    def test_the_report_at_the_end_counts_instead_where_there_is_one(self):
        text = "... finished 100 ops \r            : Wrote 0.26 MB (0.10 MB/sec) (44% of 38001 ops)\n"
        self.assertEqual(output.operations(text), 38001)

    def test_killed_before_its_recovery_was_verified(self):
        said = output.read("DB path: [/stress]\n", "")
        self.assertFalse(said.opened or said.recovered or said.verified)
        self.assertEqual((said.operations, said.complaint), (0, ""))

    def test_killed_after_it(self):
        said = output.read(PASSED, "")
        self.assertTrue(said.opened and said.recovered)
        self.assertFalse(said.verified)

    def test_each_way_to_fail_is_a_complaint(self):
        for line in ("Crash-recovery verification failed :(", "Verification failed :(", "open error: IO error: no space",
                     "Verification failed for column family 0 key 1: value_from_db: , value_from_expected: 00",
                     "db_stress: db/x.cc:1: void f(): Assertion `s.ok()' failed.",
                     "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x1", "x.cc:7:5: runtime error: overflow",
                     "terminate called without an active exception"):
            self.assertEqual(output.read(PASSED, f"WARNING: all is well\n{line}\n").complaint, line)

    def test_warnings_are_no_complaint(self):
        self.assertEqual(output.read("", "WARNING: prefix_size is non-zero but memtablerep != prefix_hash\n").complaint, "")


class Kinds(unittest.TestCase):
    def test_no_kind_gives_a_flag_that_is_held_back(self):
        for kind in kinds.KINDS:
            given = {flag[2:].split("=")[0] for flag in kind.flags() if not flag.endswith("=0")}
            self.assertFalse(given & set(kinds.HELD_BACK), kind.name)

    def test_names_are_unique(self):
        names = [kind.name for kind in kinds.KINDS]
        self.assertEqual(len(names), len(set(names)))

    def test_memory_is_lost_only_where_every_write_is_synced_or_the_loss_is_expected(self):
        for kind in kinds.KINDS:
            if kind.loses_memory and not kind.must_fail:
                self.assertTrue(kind.options.get("sync") or kind.options.get("sync_fault_injection"), kind.name)

    def test_who_loses_power_loses_memory_too(self):
        for kind in kinds.KINDS:
            self.assertTrue(kind.loses_memory or not kind.loses_power, kind.name)

    def test_the_short_selection_cuts_the_power_of_a_device(self):
        self.assertTrue(any(kind.short and kind.loses_power and not kind.must_fail for kind in kinds.KINDS))

    def test_the_short_selection_has_a_run_that_must_fail(self):
        self.assertTrue(any(kind.short and kind.must_fail for kind in kinds.KINDS))


if __name__ == "__main__":
    unittest.main(verbosity=2)
