// The allowed contents of a log that several threads append to, flush and sync concurrently, each
// through its own handle: whole records, each once, in an order consistent with the begin and end
// of all calls. After a crash: a prefix of that order, with every record that was there when a
// successful Sync began (or a Flush, if the process died).
//
// Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "expectation.h"

namespace zenfs {

class SharedLog final : public Expectation {
 public:
  using Time = std::uint64_t;
  using Record = std::size_t;

  // `root` contains only the log.
  explicit SharedLog(std::string root) : root_(std::move(root)), path_(root_ + "/shared.log") {}

  const std::string& path() const { return path_; }
  std::size_t size() const EXCLUDES(mutex_);

  // Returns a new record of `count` bytes or a few more. Its append begins now.
  Record BeginAppend(std::string bytes) EXCLUDES(mutex_);
  std::string BytesOf(Record record) const EXCLUDES(mutex_);
  void Appended(Record record) EXCLUDES(mutex_);
  // For a Flush, a Sync or an unmount: its begin, and its success.
  Time Begin() EXCLUDES(mutex_);
  void Flushed(Time begin) EXCLUDES(mutex_);
  void Synced(Time begin) EXCLUDES(mutex_);
  // Empty if a read that began then may return this.
  std::string WhyNotRead(const std::string& content, Time begin) const EXCLUDES(mutex_);

  const std::string& root() const override { return root_; }
  std::string WhyNot(const FoundTree& found, CrashKind kind) const override EXCLUDES(mutex_);
  // From now on, exactly this content is there.
  void Settle(const std::string& content) EXCLUDES(mutex_);

 private:
  static constexpr Time kNever = UINT64_MAX;
  struct Entry {
    std::string bytes;
    Time begin = 0;
    Time end = kNever;
    bool flushed = false;
    bool synced = false;
  };

  // The complete records in `content`, in order. Sets `why` to the first error, if any.
  std::vector<Record> Parse(const std::string& content, std::string& why) const REQUIRES(mutex_);
  // `must` returns whether a record has to be there.
  template <typename Must>
  std::string WhyNotContent(const std::string& content, const Must& must) const REQUIRES(mutex_);

  const std::string root_;
  const std::string path_;
  mutable Mutex mutex_;  // leaf
  Time clock_ GUARDED_BY(mutex_) = 0;
  std::string base_ GUARDED_BY(mutex_);  // from earlier mounts
  std::vector<Entry> records_ GUARDED_BY(mutex_);
  std::size_t size_ GUARDED_BY(mutex_) = 0;
};

}  // namespace zenfs
