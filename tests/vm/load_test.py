"""Which hang of a load is RocksDB's own, and which is ours."""
import unittest

from guest.load import is_rocksdbs_own_hang

WAITING = "\n#0  __futex_abstimed_wait_common64 () at ./nptl/futex-internal.c:57\n"
CLOSING = WAITING + "#1 rocksdb::InstrumentedCondVar::Wait() ()\n#2 rocksdb::DBImpl::CloseHelper() () from librocksdb.so.7.8"
IDLE = WAITING + "#1 zenfs::CondVar::WaitUntil () at src/base/mutex.cc:29\n#2 zenfs::LogDrain::Work () at src/wal/log_drain.cc:61"
SYNCING = WAITING + "#1 zenfs::CondVar::WaitUntil () at src/base/mutex.cc:29\n#2 zenfs::VolumeHandle::Sync ()"


def stacks(*threads):
    return "thread 1 (db_bench), State: S" + "".join(
        f"\nThread {i} (LWP {i}) \"{name}\":{stack}" for i, (name, stack) in enumerate(threads))


class Hangs(unittest.TestCase):
    def test_a_close_that_waits_beside_idle_threads_is_rocksdbs(self):
        self.assertTrue(is_rocksdbs_own_hang(stacks(("zenfs-drain", IDLE), ("rocksdb:low", WAITING), ("db_bench", CLOSING))))

    def test_a_call_that_has_not_returned_is_ours(self):
        self.assertFalse(is_rocksdbs_own_hang(stacks(("rocksdb:low", SYNCING), ("db_bench", CLOSING))))

    def test_a_close_that_waits_for_us_is_ours(self):
        self.assertFalse(is_rocksdbs_own_hang(stacks(("db_bench", CLOSING.replace("#2", "#2 zenfs::Volume::Unmount()\n#3")))))

    def test_a_thread_of_ours_that_is_not_idle_is_ours(self):
        busy = IDLE.replace("zenfs::CondVar::WaitUntil", "zenfs::Mutex::Lock")
        self.assertFalse(is_rocksdbs_own_hang(stacks(("zenfs-drain", busy), ("db_bench", CLOSING))))

    def test_without_stacks_nothing_is_excused(self):
        self.assertFalse(is_rocksdbs_own_hang("thread 1 (db_bench), State: S"))


if __name__ == "__main__":
    unittest.main()
