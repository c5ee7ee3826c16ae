// A read that was started (FileHandle::StartRead) and ends later.
//
// Threads: one at a time; need not be the one that started it. The object keeps alive what the read needs, except the memory that
// is read into, which only Finish writes to. One that is destroyed before gives the read up and does not wait.
#pragma once

#include <cstddef>
#include <utility>

#include "base/status.h"

namespace zenfs {

class PendingRead {
 public:
  virtual ~PendingRead() = default;
  // Waits for the bytes. Returns their number, as FileHandle::Read does. Call it once.
  [[nodiscard]] virtual Result<std::size_t> Finish() = 0;
};

// One whose outcome is known.
class FinishedRead final : public PendingRead {
 public:
  explicit FinishedRead(Result<std::size_t> outcome) : outcome_(std::move(outcome)) {}
  Result<std::size_t> Finish() override { return std::move(outcome_); }

 private:
  Result<std::size_t> outcome_;
};

}  // namespace zenfs
