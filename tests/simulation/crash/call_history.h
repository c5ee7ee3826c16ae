// The calls of one client of a volume, up to the first that fails. After that the client does
// nothing, like a program whose machine lost power.
//
// Threads: none.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "volume/volume.h"

namespace zenfs {

// Base class of the kinds of clients.
class CallHistory {
 public:
  bool failed() const { return !error_.empty(); }
  const std::string& error() const { return error_; }
  // The code of the failed call; none if its result was wrong instead.
  std::optional<Code> error_code() const { return error_code_; }
  // True if the failed call only reads.
  bool failed_to_read() const { return failed_to_read_; }
  // The last `count` calls that returned, one per line, oldest first.
  std::string History(std::size_t count = 40) const;

  // Once `dead` returns true, the process counts as dead: results of later returns do not count.
  void DiesWhen(std::function<bool()> dead) { dead_ = std::move(dead); }
  // From now on, a Flush or Sync of a framed file that fails because of the device is repeated this
  // many times.
  void RepeatWhatFails(int times) { repeats_ = times; }
  // From now on, a call that finds no space, or waits for it in vain, does not end the work. WasFull returns true once after
  // such a call. Its outcome is unknown, so the caller must delete the file next.
  void GoesOnWhenFull() { goes_on_when_full_ = true; }
  bool WasFull() { return std::exchange(was_full_, false); }

 protected:
  ~CallHistory() = default;

  // These three return whether the client continues. `what`: the call, for the history.
  bool Ok(const Status& returned, const std::string& what);
  bool OkToRead(const Status& returned, const std::string& what);
  // `why`: why the result of a call is impossible; empty if it is possible.
  bool Right(const std::string& why, const std::string& what);
  void Note(std::string what) { history_.push_back(std::move(what)); }
  bool IsDead() const { return dead_ && dead_(); }
  Status Repeated(FileShape shape, const std::function<Status()>& call);

 private:
  int repeats_ = 0;
  bool goes_on_when_full_ = false;
  bool was_full_ = false;
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
