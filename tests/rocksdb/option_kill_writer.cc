#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "base/thread.h"
#include "option_kill_database.h"

namespace zenfs {
namespace {

constexpr long kSyncEvery = 16;  // writes of a thread; the others are only flushed

class Writer {
 public:
  Writer(const OptionKillCase& kill_case, OptionKillDatabase& database)
      : case_(kill_case), database_(database) {}

  // Until it is killed, or a write fails.
  void Run(int thread) {
    long number = 0;
    rocksdb::Status status = database_.LastOf(thread, &number);
    while (status.ok() && !failed_) {
      status = Write(thread, ++number);
      if (status.ok()) status = Acknowledge(thread, number);
    }
    failed_ = true;
    std::fprintf(stderr, "writer %d: operation %ld: %s\n", thread, number, status.ToString().c_str());
  }

 private:
  rocksdb::Status Write(int thread, long number) {
    const OptionKillOperation operation = OperationOf(thread, number, case_.families);
    rocksdb::ColumnFamilyHandle* const family =
        database_.families()[static_cast<std::size_t>(operation.family)];
    rocksdb::WriteBatch batch;
    rocksdb::Status status = operation.is_delete ? batch.Delete(family, operation.key)
                                                 : batch.Put(family, operation.key, operation.value);
    if (status.ok()) status = batch.Put(CounterKey(thread), std::to_string(number));
    if (!status.ok()) return status;
    rocksdb::WriteOptions options;
    options.disableWAL = case_.acknowledged == AcknowledgedBy::kMemtableFlush;
    options.sync = !options.disableWAL && number % kSyncEvery == 0;
    return database_.db().Write(options, &batch);
  }

  rocksdb::Status Acknowledge(int thread, long number) {
    if (case_.acknowledged != AcknowledgedBy::kTheWrite) {
      if (number % kWritesBetweenFlushes != 0) return rocksdb::Status::OK();
      const rocksdb::Status status =
          case_.acknowledged == AcknowledgedBy::kFlushWal
              ? database_.db().FlushWAL(number % (2 * kWritesBetweenFlushes) == 0)
              : database_.db().Flush(rocksdb::FlushOptions(), database_.families());
      if (!status.ok()) return status;
    }
    char line[48];
    const int length = std::snprintf(line, sizeof line, "%d %ld\n", thread, number);
    if (write(STDOUT_FILENO, line, static_cast<std::size_t>(length)) != length) {
      return rocksdb::Status::IOError("nobody reads what is acknowledged");
    }
    return rocksdb::Status::OK();
  }

  const OptionKillCase& case_;
  OptionKillDatabase& database_;
  std::atomic<bool> failed_ = false;
};

}  // namespace

int RunOptionKillWriter(const OptionKillCase& kill_case, const std::string& place) {
  std::unique_ptr<OptionKillDatabase> database;
  const rocksdb::Status status = OptionKillDatabase::Open(kill_case, place, &database);
  if (!status.ok()) {
    std::fprintf(stderr, "writer: %s\n", status.ToString().c_str());
    return 1;
  }
  Writer writer(kill_case, *database);
  std::vector<Thread> threads;
  for (int i = 0; i < kOptionKillThreads; ++i)
    threads.emplace_back("writer", [&writer, i] { writer.Run(i); });
  for (Thread& thread : threads) thread.Join();
  return 1;
}

}  // namespace zenfs
