// The generation that takes the commits, and whether it still takes them.
//
//     clean --Fence--> fenced --MoveTo--> clean
//     torn  ------------------- MoveTo--> clean
//
//   torn     the replay found a torn frame at the end. Nothing is written behind it
//   fenced   a write has an unknown outcome. Nothing more is written
//
// A complete log switch moves the log to its generation. If a log switch fails in a state other than clean, the log has
// to become read-only.
//
// Invariants
//   generation numbers rise; TakeNumber returns each number once
//   the writer stays the same while a thread leads (commit_queue.h), unless that thread calls MoveTo
//
// Ownership: owns the writer of the generation.
// Threads: no lock; the lock of the log guards it (metalog_parts.h). Only the leader uses the writer; it does so without
// the lock.
// Units: bytes. Errors: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/assert.h"
#include "metalog/generation_writer.h"

namespace zenfs {

class CurrentGeneration {
 public:
  // `writer` null: the device is read-only. `highest`: the highest number that a generation on the device has, complete
  // or not.
  CurrentGeneration(std::unique_ptr<GenerationWriter> writer, bool tail_is_clean, std::uint64_t highest)
      : writer_(std::move(writer)), tail_is_clean_(tail_is_clean), last_number_(highest) {}

  // False if the device is read-only. The functions from writer() on need a writer.
  bool has_writer() const { return writer_ != nullptr; }
  bool fenced() const { return fenced_; }
  bool tail_is_clean() const { return tail_is_clean_; }
  // True if frames may be written.
  bool clean() const { return !fenced_ && tail_is_clean_; }

  GenerationWriter& writer() { return *writer_; }
  const GenerationWriter& writer() const { return *writer_; }
  // True if a log switch should run: less room is left in the zone than SetSwitchRoom or MoveTo chose, or it would make the
  // second copy.
  bool WantsSwitch() const { return writer_->room() < switch_at_room_ || lacks_copy_; }
  bool lacks_copy() const { return lacks_copy_; }
  void SetSwitchRoom(std::uint64_t bytes) { switch_at_room_ = bytes; }
  void Fence() { fenced_ = true; }
  std::uint64_t TakeNumber() { return ++last_number_; }
  // The generation of `next` is complete. `lacks_copy`: it has one copy, and there is reason to expect that the next log
  // switch makes two. Returns the writer of the old one. `switch_reserve`: room for the commits during
  // a log switch.
  std::unique_ptr<GenerationWriter> MoveTo(std::unique_ptr<GenerationWriter> next,
                                           std::uint64_t switch_reserve, bool lacks_copy) {
    ZENFS_ASSERT(next->generation() > writer_->generation() && next->generation() <= last_number_);
    // At least half of the remaining room is used before the next log switch. Otherwise a large snapshot would cause a
    // switch after every few commits.
    switch_at_room_ = std::min(switch_reserve, next->room() / 2);
    tail_is_clean_ = true;
    fenced_ = false;
    lacks_copy_ = lacks_copy;
    return std::exchange(writer_, std::move(next));
  }
  // A log switch failed. The next one is wanted later.
  void NoteSwitchFailed() {
    switch_at_room_ /= 2;
    lacks_copy_ = false;
  }

 private:
  std::unique_ptr<GenerationWriter> writer_;
  bool tail_is_clean_;
  bool fenced_ = false;
  bool lacks_copy_ = false;
  std::uint64_t last_number_;
  std::uint64_t switch_at_room_ = 0;
};

}  // namespace zenfs
