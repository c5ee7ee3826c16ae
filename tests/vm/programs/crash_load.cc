// A load on a database that a crash ends, and the check of what the crash left. The lab runs it in its guests; FOLDER is
// on the host (acknowledged.h).
//
//   zenfs_crash_load URI FOLDER verify             opens the database and checks that for each thread all is there up to
//                                                  the last number acknowledged
//   zenfs_crash_load URI FOLDER write SEED [ACKS]  the same, then writes until it is killed; with ACKS resets the machine
//                                                  a moment after so many acknowledgements
//
// ZENFS_CRASH_DATABASES=N: N databases instead of one, each with one thread that syncs each write, so that the frames of many
// logs are in flight.
//
// What was not synced may be there or not, and not only the last of it: RocksDB begins a new WAL without a sync of the one
// before, so bytes of both may be under way.
//
// Of the four threads of one database one syncs each write, two sync some, one writes batches, syncs some and flushes
// memtables. A synced write acknowledges all that its thread wrote before: it stands behind it in the WAL. A fifth of a second
// in which they sync is followed by one in which nobody does, so that a crash may find much that the device has not flushed.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "../../rocksdb/kill_values.h"
#include "acknowledged.h"
#include "base/clock.h"
#include "base/thread.h"
#include "crash_values.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"

namespace zenfs {
namespace {

// Databases and their threads: thread T writes to database T % databases.
struct Shape {
  int databases = 1;
  int threads() const { return databases == 1 ? 4 : databases; }
  bool is_batch(int thread) const { return thread == threads() - 1; }
  // One write of so many is synced.
  std::uint64_t SyncsOneIn(int thread) const { return databases == 1 ? std::uint64_t{1} << thread : 1; }

  static Shape OfEnvironment() {
    const char* const databases = std::getenv("ZENFS_CRASH_DATABASES");
    return {.databases = databases == nullptr ? 1 : std::atoi(databases)};
  }
};

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "crash_load: %s\n", what.c_str());
  std::fflush(stderr);
  std::_Exit(1);
}

void OkOrDie(const rocksdb::Status& status, const char* what) {
  if (!status.ok()) Die(fmt::format("{}: {}", what, status.ToString()));
}

// What the database has of a thread's writes.
struct Found {
  long newest = -1;           // number; -1: none
  std::vector<long> missing;  // below it, and not overwritten since
  long lost = 0;              // slots that have not even what was acknowledged, or something newer
};
using FoundOfAll = std::vector<Found>;

// The last number up to `limit` that goes to `slot`; -1 if there is none.
long LastOf(long slot, long limit) { return limit < slot ? -1 : limit - (limit - slot) % kCrashSlots; }

// Files that take a while to be written, several at a time, so that a cut finds some that are not synced yet.
rocksdb::Options Options(rocksdb::Env* env) {
  rocksdb::Options options = KillOptions(env);
  options.target_file_size_base = 512 << 10;
  options.writable_file_max_buffer_size = 64 << 10;
  options.max_background_jobs = 4;
  options.keep_log_file_num = 2;  // RocksDB's own text would outgrow the data
  return options;
}

class Databases {
 public:
  Databases(const char* uri, const Shape& shape) : shape_(shape) {
    rocksdb::Env* env = rocksdb::Env::Default();
    OkOrDie(rocksdb::Env::CreateFromUri(rocksdb::ConfigOptions(), "", uri, &env, &env_), "mount");
    for (int i = 0; i < shape.databases; ++i) {
      rocksdb::DB* raw = nullptr;
      OkOrDie(rocksdb::DB::Open(Options(env), i == 0 ? "/db" : fmt::format("/db{}", i), &raw), "open");
      databases_.emplace_back(raw);
    }
  }

  const Shape& shape() const { return shape_; }
  rocksdb::DB& Of(int thread) const {
    return *databases_[static_cast<std::size_t>(thread % shape_.databases)];
  }

  FoundOfAll Look(const Acknowledged& acknowledged) const {
    FoundOfAll all(static_cast<std::size_t>(shape_.threads()));
    for (int thread = 0; thread < shape_.threads(); ++thread) {
      const std::vector<long> slots = ReadSlots(thread);
      Found& found = all[static_cast<std::size_t>(thread)];
      found.newest = *std::max_element(slots.begin(), slots.end());
      for (long slot = 0; slot < kCrashSlots; ++slot) {
        const long number = slots[static_cast<std::size_t>(slot)];
        const long expected = LastOf(slot, found.newest);
        if (number != expected) found.missing.push_back(expected);
        if (number < LastOf(slot, acknowledged.last(thread))) ++found.lost;
      }
    }
    return all;
  }

 private:
  // The number that each slot of a thread has, -1 where it has none.
  std::vector<long> ReadSlots(int thread) const {
    std::vector<long> numbers;
    for (long slot = 0; slot < kCrashSlots; ++slot) {
      std::string value;
      const rocksdb::Status status = Of(thread).Get(rocksdb::ReadOptions(), CrashKey(thread, slot), &value);
      numbers.push_back(status.IsNotFound() ? -1 : std::atol(value.c_str()));
      if (status.IsNotFound()) continue;
      OkOrDie(status, "get");
      if (numbers.back() % kCrashSlots != slot || value != CrashValue(thread, numbers.back())) {
        Die(fmt::format("thread {}: slot {} has a value that was never written there", thread, slot));
      }
    }
    return numbers;
  }

  std::shared_ptr<rocksdb::Env> env_;
  const Shape shape_;
  std::vector<std::unique_ptr<rocksdb::DB>> databases_;
};

// Ends the process if something acknowledged is not there. Records what is there without a gap: RocksDB has flushed what it
// replayed, so from now on that must stay.
FoundOfAll Verify(const Databases& databases, Acknowledged& acknowledged) {
  FoundOfAll all = databases.Look(acknowledged);
  bool lost = false;
  for (int thread = 0; thread < databases.shape().threads(); ++thread) {
    const Found& found = all[static_cast<std::size_t>(thread)];
    std::printf("thread %d: acknowledged up to %ld; there up to %ld, without %zu, LOST %ld\n", thread,
                acknowledged.last(thread), found.newest, found.missing.size(), found.lost);
    lost |= found.lost != 0;
  }
  std::fflush(stdout);
  if (lost) Die("acknowledged writes are lost");
  for (int thread = 0; thread < databases.shape().threads(); ++thread) {
    const Found& found = all[static_cast<std::size_t>(thread)];
    if (found.missing.empty() && found.newest > acknowledged.last(thread))
      acknowledged.Record(thread, found.newest);
  }
  return all;
}

class Load {
 public:
  // `reset_after` 0: never.
  Load(const Databases& databases, Acknowledged& acknowledged, std::uint64_t seed, long reset_after)
      : databases_(databases), acknowledged_(acknowledged), seed_(seed), reset_after_(reset_after) {}

  // Never returns.
  void Run(const FoundOfAll& all) {
    std::vector<Thread> threads;
    for (int thread = 0; thread < shape().threads(); ++thread) {
      threads.emplace_back("load", [this, thread, &found = all[static_cast<std::size_t>(thread)]] {
        FillGaps(thread, found);
        Write(thread, found.newest + 1);
      });
    }
  }

 private:
  // From then on an acknowledgement again means all that was written before.
  void FillGaps(int thread, const Found& found) {
    if (found.missing.empty()) return;
    rocksdb::WriteBatch batch;
    for (const long number : found.missing) {
      OkOrDie(batch.Put(CrashKey(thread, number % kCrashSlots), CrashValue(thread, number)), "batch");
    }
    rocksdb::WriteOptions options;
    options.sync = true;
    OkOrDie(databases_.Of(thread).Write(options, &batch), "write");
    acknowledged_.Record(thread, found.newest);
  }

  void Write(int thread, long next) {
    Random random(seed_ + static_cast<std::uint64_t>(thread));
    for (;;) {
      rocksdb::WriteBatch batch;
      const long count = shape().is_batch(thread) ? 2 + static_cast<long>(random.Below(8)) : 1;
      for (long i = 0; i < count; ++i, ++next) {
        OkOrDie(batch.Put(CrashKey(thread, next % kCrashSlots), CrashValue(thread, next)), "batch");
      }
      rocksdb::WriteOptions options;
      options.sync = InSyncingPhase() && random.OneIn(shape().SyncsOneIn(thread));
      OkOrDie(databases_.Of(thread).Write(options, &batch), "write");
      const bool flush = shape().is_batch(thread) && random.OneIn(64);
      if (flush) OkOrDie(databases_.Of(thread).Flush(rocksdb::FlushOptions()), "flush");
      if (options.sync || flush) Acknowledge(thread, next - 1, random);
    }
  }

  bool InSyncingPhase() const { return (SteadyNow() - start_) / std::chrono::milliseconds(200) % 2 == 0; }

  void Acknowledge(int thread, long number, Random& random) {
    acknowledged_.Record(thread, number);
    if (count_.fetch_add(1) + 1 != reset_after_) return;
    SleepUntil(SteadyNow() + std::chrono::microseconds(random.Below(400'000)));
    const UniqueFd trigger(open("/proc/sysrq-trigger", O_WRONLY));
    if (write(trigger.get(), "b", 1) != 1) Die("can't write to /proc/sysrq-trigger");
  }

  const Shape& shape() const { return databases_.shape(); }

  const Databases& databases_;
  Acknowledged& acknowledged_;
  const std::uint64_t seed_;
  const long reset_after_;
  const SteadyTime start_ = SteadyNow();
  std::atomic<long> count_{0};
};

}  // namespace
}  // namespace zenfs

int main(int argc, char** argv) {
  const bool verify = argc == 4 && std::strcmp(argv[3], "verify") == 0;
  const bool write = (argc == 5 || argc == 6) && std::strcmp(argv[3], "write") == 0;
  if (!verify && !write) return 2;
  const zenfs::Shape shape = zenfs::Shape::OfEnvironment();
  zenfs::Acknowledged acknowledged(argv[2], shape.threads());
  const zenfs::Databases databases(argv[1], shape);
  const zenfs::FoundOfAll found = zenfs::Verify(databases, acknowledged);
  if (verify) return 0;
  zenfs::Load load(databases, acknowledged, std::strtoull(argv[4], nullptr, 10),
                   argc == 6 ? std::atol(argv[5]) : 0);
  load.Run(found);
}
