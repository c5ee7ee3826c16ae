// The state machine of a framed file: its turn, and the repairs that an error left for the next send.
//
// Turn: the right to change the end of the file in its map. Other threads wait until it is kFree.
//
//     kFree --BeginSend--> kSending --EndSend--> kFree
//     kFree --BeginTruncation--> kTruncating --EndTruncation--> kFree
//
//   A cleaning changes only the front of the file. It runs beside kFree and kSending, and excludes truncations
//   (BeginCleaning, EndCleaning).
//
// Bytes: the repairs that the next send has to make. The error of the last send is kept for the threads
// that waited for it.
//
//     kSound, kUnsent --FrameFailed--> kUnsent --EndSend(ok)--> kSound
//     kSound, kUnsent --FlushFailed--> kDoubtful --PlacedAnew--> kUnsent
//
//   kSound      nothing to repair
//   kUnsent     send the buffer in flight, or the rest of it, again
//   kDoubtful   a failed flush may have lost the frames behind the stable end: first write them again
//
// Appends: open until CloseAppends with an error, then closed for the rest of the mount. An append that waits although it is
// not complete is a long append. Until its end no other append begins, so that none gets between its bytes, and no truncation.
// The thread of a long append waits only for the turn, and for what a send waits for. No thread waits for a long append while
// it has the turn, and a send ends with an error if the device is full or fails (framed_file.h). So every long append ends.
//
// Threads: no lock; the lock of the file guards it (framed_file_parts.h).
#pragma once

#include <cstdint>
#include <utility>

#include "base/assert.h"
#include "base/status.h"

namespace zenfs {

class FramedFileState {
 public:
  bool free() const { return turn_ == Turn::kFree; }
  bool truncating() const { return turn_ == Turn::kTruncating; }
  bool cleaning() const { return cleaning_; }

  void BeginSend() {
    ZENFS_ASSERT(free());
    turn_ = Turn::kSending;
  }
  // `sent`: how the send ended.
  void EndSend(const Status& sent) {
    ZENFS_ASSERT(turn_ == Turn::kSending);
    turn_ = Turn::kFree;
    sent_ = sent;
    if (sent.ok()) {
      bytes_ = Bytes::kSound;
    } else {
      ++failed_sends_;
      if (bytes_ == Bytes::kSound) bytes_ = Bytes::kUnsent;
    }
  }
  void BeginTruncation() {
    ZENFS_ASSERT(free() && !cleaning_ && sound() && !appending_);
    turn_ = Turn::kTruncating;
  }
  void EndTruncation() {
    ZENFS_ASSERT(truncating());
    turn_ = Turn::kFree;
  }
  void BeginCleaning() {
    ZENFS_ASSERT(!cleaning_ && !truncating());
    cleaning_ = true;
  }
  void EndCleaning() {
    ZENFS_ASSERT(cleaning_);
    cleaning_ = false;
  }

  // True if no error left anything to repair.
  bool sound() const { return bytes_ == Bytes::kSound; }
  bool doubtful() const { return bytes_ == Bytes::kDoubtful; }
  // During a send.
  void FrameFailed() { bytes_ = Bytes::kUnsent; }
  void FlushFailed() { bytes_ = Bytes::kDoubtful; }
  void PlacedAnew() { bytes_ = Bytes::kUnsent; }

  // How the last send ended; not ok until sound().
  const Status& sent() const { return sent_; }
  // A call does not return an error that is older than the call; it sends again. It returns the error of a
  // send that it waited for. So it reads failed_sends first, and later asks SendFailedSince.
  std::uint64_t failed_sends() const { return failed_sends_; }
  bool SendFailedSince(std::uint64_t failed_sends) const { return !sound() && failed_sends_ != failed_sends; }

  // True during a long append.
  bool appending() const { return appending_; }
  void BeginLongAppend() {
    ZENFS_ASSERT(!appending_ && !truncating());
    appending_ = true;
  }
  void EndLongAppend() {
    ZENFS_ASSERT(appending_);
    appending_ = false;
  }
  // Once appends are closed: the reason.
  const Status& appends() const { return appends_; }
  // Only the first error counts; an ok status changes nothing.
  void CloseAppends(Status why) { appends_.Update(std::move(why)); }

 private:
  enum class Turn { kFree, kSending, kTruncating };
  enum class Bytes { kSound, kUnsent, kDoubtful };

  Turn turn_ = Turn::kFree;
  bool cleaning_ = false;
  Bytes bytes_ = Bytes::kSound;
  Status sent_;
  std::uint64_t failed_sends_ = 0;
  bool appending_ = false;
  Status appends_;
};

}  // namespace zenfs
