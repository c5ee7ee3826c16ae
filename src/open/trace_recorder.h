// Records the files of a mount, how they grow and when they are deleted, in a file of the host: the mount option `trace_file`.
// scripts/simulate-space replays it. Names and contents are not recorded (docs/formats/trace.md).
//
// A write to the volume never fails because of the trace. If the trace can't be written, the recording ends, and problem()
// says why. Each event is one write to the host, so a crash costs at most a part of the last line.
//
// Threads: any. mutex_ is a leaf lock, held while a line is written to the host.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/unique_fd.h"
#include "format/file_trace.h"
#include "model/state.h"

namespace zenfs {

class TraceRecorder {
 public:
  // Opens or creates the trace at `path`, readable by its owner only. An existing trace is continued; another file is
  // refused. `state` has the files that the mount found. Errors: kExists; those of OpenOutput. Each has the path.
  [[nodiscard]] static Result<std::unique_ptr<TraceRecorder>> Open(const std::string& path,
                                                                   const TraceDevice& device,
                                                                   const State& state);

  void Created(FileId id, std::string_view name, Lifetime lifetime) EXCLUDES(mutex_);
  void SetLifetime(FileId id, Lifetime lifetime) EXCLUDES(mutex_);
  // The file was appended to and has `size` bytes. Recorded once it grew by kStep.
  void Grew(FileId id, std::uint64_t size) EXCLUDES(mutex_);
  // The file was synced: records its size if it changed.
  void Synced(FileId id, std::uint64_t size) EXCLUDES(mutex_);
  // A handle that is open for writing was closed.
  void Closed(FileId id, std::uint64_t size) EXCLUDES(mutex_);
  // Does nothing for a file that is not recorded, or deleted.
  void Deleted(FileId id) EXCLUDES(mutex_);
  // The mount ends.
  void End() EXCLUDES(mutex_);

  // Why the recording ended before the mount, as one line; empty while it has not.
  std::optional<std::string> problem() const EXCLUDES(mutex_);

 private:
  // Tables grow by a MiB with each write of RocksDB. So traces show which files grow at the same time.
  static constexpr std::uint64_t kStep = 1 << 20;

  TraceRecorder(UniqueFd fd, std::string path) : path_(std::move(path)), fd_(std::move(fd)) {}
  void Start(const TraceDevice& device, const State& state, bool ends_torn) EXCLUDES(mutex_);
  void Write(TraceEvent event) REQUIRES(mutex_);
  void WriteText(std::string_view text) REQUIRES(mutex_);

  const std::string path_;
  const SteadyTime begin_ = SteadyNow();
  mutable Mutex mutex_{LockRank::kLeaf};
  UniqueFd fd_ GUARDED_BY(mutex_);  // not valid once the recording has ended
  std::optional<std::string> problem_ GUARDED_BY(mutex_);
  std::unordered_map<FileId, std::uint64_t> sizes_
      GUARDED_BY(mutex_);  // the recorded sizes of existing files
};

}  // namespace zenfs
