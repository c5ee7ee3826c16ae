// What a framed file is doing, and what an error has left to be done. A part of FramedFile, which names the transitions.
//
// Turn: who may change what the index and the windows say of the file's end. Others wait until it is kFree.
//
//     kFree --BeginSend--> kSending --EndSend--> kFree
//     kFree --BeginTruncation--> kTruncating --EndTruncation--> kFree
//
//   A cleaning changes only the front of the file. It runs beside kFree and kSending, and excludes truncations
//   (BeginCleaning, EndCleaning).
//
// Bytes: what the next send has to do before it is done. An error is kept with it, for those who waited for that send.
//
//     kSound, kUnsent --FrameFailed--> kUnsent --EndSend(ok)--> kSound
//     kSound, kUnsent --FlushFailed--> kDoubtful --PlacedAnew--> kUnsent
//
//   kSound      all that was sent is where it promises
//   kUnsent     the buffer in flight, or the rest of it, has to be sent again
//   kDoubtful   a failed flush may have lost the frames behind the stable end: they have to be placed anew first
//
// Appends: open until CloseAppends, then closed for good.
//
// Threads: none; FramedFile::mutex_ guards it.
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
    ZENFS_ASSERT(free() && !cleaning_ && sound());
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

  // Nothing of an earlier error is left to be done.
  bool sound() const { return bytes_ == Bytes::kSound; }
  bool doubtful() const { return bytes_ == Bytes::kDoubtful; }
  // During a send.
  void FrameFailed() { bytes_ = Bytes::kUnsent; }
  void FlushFailed() { bytes_ = Bytes::kDoubtful; }
  void PlacedAnew() { bytes_ = Bytes::kUnsent; }

  // How the last send ended; not ok until sound().
  const Status& sent() const { return sent_; }
  // An error of before a call is no answer to it: that frame is tried again. One of a send that the call waited for is. So
  // the call notes this number first, and then asks whether a send failed since.
  std::uint64_t failed_sends() const { return failed_sends_; }
  bool SendFailedSince(std::uint64_t failed_sends) const { return !sound() && failed_sends_ != failed_sends; }

  // Not ok once appends are closed: why.
  const Status& appends() const { return appends_; }
  // The first reason counts.
  void CloseAppends(Status why) { appends_.Update(std::move(why)); }

 private:
  enum class Turn { kFree, kSending, kTruncating };
  enum class Bytes { kSound, kUnsent, kDoubtful };

  Turn turn_ = Turn::kFree;
  bool cleaning_ = false;
  Bytes bytes_ = Bytes::kSound;
  Status sent_;
  std::uint64_t failed_sends_ = 0;
  Status appends_;
};

}  // namespace zenfs
