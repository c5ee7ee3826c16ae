#include "call_history.h"

#include <algorithm>

namespace zenfs {

std::string CallHistory::History(std::size_t count) const {
  std::string text;
  for (std::size_t i = history_.size() - std::min(count, history_.size()); i < history_.size(); ++i) {
    text += "\n  " + history_[i];
  }
  return text;
}

bool CallHistory::Ok(const Status& returned, const std::string& what) {
  if (failed()) return false;
  const Status status =
      returned.ok() && IsDead() ? Fail(Code::kIo, "returned when the process was dead") : returned;
  Note(status.ok() ? what : what + ": " + status.error().ToString());
  if (status.ok()) return true;
  const Code code = status.error().code();
  if (goes_on_when_full_ && (code == Code::kNoSpace || code == Code::kTimedOut)) {
    was_full_ = true;
    return false;
  }
  error_ = history_.back();
  error_code_ = status.error().code();
  return false;
}

bool CallHistory::OkToRead(const Status& returned, const std::string& what) {
  if (failed()) return false;
  failed_to_read_ = !Ok(returned, what);
  return !failed_to_read_;
}

bool CallHistory::Right(const std::string& why, const std::string& what) {
  if (why.empty()) return !failed();
  if (failed()) return false;
  Note(what + ": " + why);
  error_ = history_.back();
  return false;
}

Status CallHistory::Repeated(FileShape shape, const std::function<Status()>& call) {
  Status status = call();
  for (int i = 0; i < repeats_ && !status.ok() && status.error().code() == Code::kIo; ++i) {
    if (shape != FileShape::kFramed) break;
    Note("  not done: " + status.error().ToString());
    status = call();
  }
  return status;
}

}  // namespace zenfs
