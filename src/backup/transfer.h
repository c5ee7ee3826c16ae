// The work of a backup and of a restore: files are read ahead, copied by several threads, and reported to an observer.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/thread.h"

namespace zenfs {

// Reads a file from start to end in large aligned chunks. The next chunk is read while the caller
// processes the last one.
//
// Threads: Next is called by one thread. A file of more than one chunk has its own reading thread;
// if the host refuses that thread, Next reads.
class ReadAhead {
 public:
  static constexpr std::size_t kChunk = 1 << 20;
  // Reads into.size() bytes at `offset`, fewer only at the end. Called by one thread at a time.
  using Reader = std::function<Result<std::size_t>(std::uint64_t offset, ByteSpan into)>;

  // The objects that `read` uses must outlive this one. `name` is for the error of a file that ends
  // before `size`.
  ReadAhead(Reader read, std::uint64_t size, std::string name);
  ~ReadAhead();

  // Returns the next bytes, valid until the next call; empty after `size` bytes. Errors: those of
  // `read`; kIo if the file is shorter than `size`.
  [[nodiscard]] Result<ByteView> Next() EXCLUDES(mutex_);

 private:
  struct Slot {
    AlignedBuffer buffer;
    bool full = false;
    Status status;
  };

  void ReadAll() EXCLUDES(mutex_);
  [[nodiscard]] Status Fill(std::uint64_t offset, AlignedBuffer& buffer);

  const Reader read_;
  const std::uint64_t size_;
  const std::string name_;
  std::uint64_t handed_out_ = 0;  // the caller's
  std::size_t current_ = 0;       // the caller's: slot of the next chunk
  bool holding_ = false;          // the caller's: it still works on the slot before current_

  Mutex mutex_;  // leaf
  CondVar changed_;
  Slot slots_[2];  // the caller owns a slot's buffer while it is full, otherwise the reader
  bool stop_ GUARDED_BY(mutex_) = false;
  Thread thread_;
};

class TransferObserver {
 public:
  virtual ~TransferObserver() = default;
  virtual void OnPath(const std::string& path) = 0;    // the file is done
  virtual void OnNotice(const std::string& line) = 0;  // a message that does not end the work
  // A few times per second, in bytes of files. Half of a file counts when it is written, half when
  // it is verified.
  virtual void OnProgress(std::uint64_t done, std::uint64_t of) = 0;
};

// Work on many files in parallel: several threads copy, and the calling thread reports progress to
// an observer. The first error, or a request to stop, ends all work.
//
// Threads: Run and the calls of the observer belong to the thread that made the object. Say,
// Notice, Expect, Pump and CheckGoingOn are for the work, from any thread.
class Transfer {
 public:
  // `stop`, if given, ends the work when it becomes true. Both must outlive the object.
  Transfer(TransferObserver& observer, const std::atomic<bool>* stop);

  // Calls work(0) ... work(count - 1), `jobs` of them in parallel, or as many as the host allows
  // threads for, at least one. Returns the first error; after it no further work begins. Own error:
  // kShutdown if stopped.
  [[nodiscard]] Status Run(std::size_t count, unsigned jobs, const std::function<Status(std::size_t)>& work)
      EXCLUDES(mutex_);
  // Announces files of `bytes` more to transfer, for which Pump will read `work` bytes: each file
  // is read more than once. Progress is reported in bytes of files, by the share of the work that
  // is done.
  void Expect(std::uint64_t work, std::uint64_t bytes) {
    work_of_ += work;
    bytes_of_ += bytes;
  }

  // While Run reports, they wait if many lines wait for the observer.
  void Say(std::string path) EXCLUDES(mutex_);
  void Notice(std::string line) EXCLUDES(mutex_);
  // kShutdown if the work must end; called for each chunk.
  [[nodiscard]] Status CheckGoingOn() const;

  // Reads `size` bytes with `read` and passes each chunk to `write` (if it is empty, only reads).
  // Returns the CRC32C of all bytes. `name` is for errors.
  using Writer = std::function<Status(ByteView)>;
  [[nodiscard]] Result<std::uint32_t> Pump(const ReadAhead::Reader& read, std::uint64_t size,
                                           const std::string& name, const Writer& write);

 private:
  void Work(std::size_t count, const std::function<Status(std::size_t)>& work) EXCLUDES(mutex_);
  void StartWorkers(unsigned count, const std::function<void()>& body, std::vector<Thread>& workers)
      EXCLUDES(mutex_);
  void NoteWorker(int change) EXCLUDES(mutex_);
  void Report() EXCLUDES(mutex_);
  void Queue(std::vector<std::string>& lines, std::string line) REQUIRES(mutex_);
  void SetReporting(bool reporting) EXCLUDES(mutex_);

  const pid_t owner_ = ::gettid();
  TransferObserver& observer_;
  const std::atomic<bool>* const stop_;
  std::atomic<bool> failed_{false};
  std::atomic<std::uint64_t> work_done_{0};
  std::atomic<std::uint64_t> work_of_{0};
  std::atomic<std::uint64_t> bytes_of_{0};
  std::atomic<std::size_t> next_{0};

  Mutex mutex_;  // leaf
  CondVar changed_;
  std::vector<std::string> paths_ GUARDED_BY(mutex_);
  std::vector<std::string> notices_ GUARDED_BY(mutex_);
  int working_ GUARDED_BY(mutex_) = 0;
  bool reporting_ GUARDED_BY(mutex_) = false;
  Status status_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
