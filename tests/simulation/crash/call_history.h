// The calls of one client of a volume, up to the first that fails. That is the last: from then on the client does nothing,
// as a program does whose machine lost power.
//
// Threads: none.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "volume/volume.h"

namespace zenfs {

// For a kind of client to derive from.
class CallHistory {
 public:
  bool failed() const { return !error_.empty(); }
  const std::string& error() const { return error_; }
  // Of the call that failed; none if what it answered can't be.
  std::optional<Code> error_code() const { return error_code_; }
  // Whether that call only reads.
  bool failed_to_read() const { return failed_to_read_; }
  // The calls that returned, one a line, the last of them at the end.
  std::string History(std::size_t count = 40) const;

  // When `dead` says so the process has died: what still returns, returns to nobody.
  void DiesWhen(std::function<bool()> dead) { dead_ = std::move(dead); }
  // From now on a Flush or Sync of a framed file that the device lets fail is made again, so often.
  void RepeatWhatFails(int times) { repeats_ = times; }

 protected:
  ~CallHistory() = default;

  // Each of the three says whether the client goes on. `what` is the call, for the history.
  bool Ok(const Status& returned, const std::string& what);
  bool OkToRead(const Status& returned, const std::string& what);
  // `why` the answer of a call can't be; empty if it can.
  bool Right(const std::string& why, const std::string& what);
  void Note(std::string what) { history_.push_back(std::move(what)); }
  bool IsDead() const { return dead_ && dead_(); }
  Status Repeated(FileShape shape, const std::function<Status()>& call);

 private:
  int repeats_ = 0;
  std::function<bool()> dead_;
  std::string error_;
  std::optional<Code> error_code_;
  bool failed_to_read_ = false;
  std::vector<std::string> history_;
};

template <typename T>
Status StatusOf(const Result<T>& result) {
  if (!result) return Fail(result.error());
  return {};
}

}  // namespace zenfs
