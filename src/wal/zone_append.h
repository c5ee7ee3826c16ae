// Zone append for the frames of the log: when FrameWriter uses it (SendChoice), and the check of the places that the device
// chooses (AppendPlaces). The appends themselves are in frame_writer.h. No I/O here.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "model/units.h"

namespace zenfs {

// Option `wal` of a mount.
enum class WalSending {
  kAuto,      // measured
  kWrite,     // writes only
  kAppend,    // appends only
  kBlocking,  // writes; a buffer is sent only when it is full or synced. To compare with
};

// Chooses how the frames of a log zone are sent while several wait: as one write at a time, which takes all
// frames that wait, or as one zone append for each frame, several in flight.
//
// Which is faster depends on the drive and on the load: on a drive that acknowledges quickly one large write
// beats several appends; on a drive without a write buffer a frame should not wait for the write before it.
// So both are measured: the time from the arrival of a frame to its acknowledgement. All frames count while some
// meet others: those that meet none are the ones that are fast by writes. While no frame meets another, frames are
// sent by writes, which are never slower then, and no clock is read.
//
//   a round   kRound frames sent in one way; its result is the mean of their times, without the slowest
//   a trial   a round in the other way, now and then; that way stays if it is faster by kGainPercent or more
//
// After a trial that changed nothing, the next one comes twice as late.
//
// Threads: calls under the lock of FrameWriter; state() from any thread.
class SendChoice {
 public:
  static constexpr std::uint32_t kRound = 128;
  static constexpr std::uint32_t kSlowest = kRound / 16;
  static constexpr std::uint32_t kGainPercent = 10;
  // Frames at the start of a trial that are not measured: they may wait for what was sent the other way.
  static constexpr std::uint32_t kSettling = 8;
  // After so many frames in a row that met no other, writes are used again, and nothing is measured.
  static constexpr std::uint32_t kAloneMax = 256;
  static constexpr std::uint32_t kRoundsBetweenTrialsMin = 4;
  static constexpr std::uint32_t kRoundsBetweenTrialsMax = 64;

  // `device_appends`: the device has zone append.
  SendChoice(WalSending way, bool device_appends)
      : measured_(way == WalSending::kAuto && device_appends),
        appends_(way == WalSending::kAppend && device_appends) {}

  bool appends() const { return appends_; }
  // A frame came. `met`: while another one waited or was on its way.
  void NoteArrival(bool met) {
    if (met) {
      frames_met_.fetch_add(1, std::memory_order_relaxed);
      alone_ = 0;
    } else if (alone_ < kAloneMax && ++alone_ == kAloneMax) {
      UseWrites();
    }
  }
  // True if the frame's time should be measured.
  bool measures() const { return measured_ && alone_ < kAloneMax; }
  // The frame was acknowledged `after` its arrival, when the choice was `by_append`.
  void NoteTime(std::chrono::nanoseconds after, bool by_append);

  // The choice and its reason, for the statistics.
  struct State {
    bool appends = false;
    std::chrono::nanoseconds write{0};   // result of the last round of writes; 0: none yet
    std::chrono::nanoseconds append{0};  // the same for appends
    std::uint64_t frames_met = 0;        // frames that met another one
    std::uint64_t changes = 0;           // of the choice, trials not counted
  };
  State state() const;

 private:
  void EndRound();
  void UseWrites();
  std::uint64_t ResultOfRound();

  const bool measured_;
  bool appends_;
  bool trial_ = false;
  std::uint32_t alone_ = kAloneMax;  // frames in a row that met no other, up to kAloneMax
  std::uint32_t settling_ = 0;
  std::uint32_t rounds_ = 0;  // since the last trial
  std::uint32_t rounds_between_trials_ = kRoundsBetweenTrialsMin;
  std::uint32_t count_ = 0;
  std::array<std::chrono::nanoseconds, kRound> times_{};

  std::atomic<std::uint64_t> result_ns_[2] = {0, 0};  // of the last rounds: of writes, of appends
  std::atomic<std::uint64_t> frames_met_{0};
  std::atomic<std::uint64_t> changes_{0};
  std::atomic<bool> chosen_{appends_};  // appends_ without trials
};

// Checks the places that a device returns for the appends in flight in one zone: inside the room that was
// reserved for them, and each byte taken once. Appends complete in any order, so there may be holes below a place until the
// other appends complete.
//
// Threads: no lock; the lock of FrameWriter guards it.
class AppendPlaces {
 public:
  // All bytes before `from` are taken, and nothing is in flight.
  void Restart(DeviceOffset from) {
    taken_.clear();
    from_ = from;
  }
  // Returns false if the bytes are not between the start and `reserved_to`, or if some are taken already.
  [[nodiscard]] bool Take(DeviceOffset at, std::uint64_t bytes, DeviceOffset reserved_to);

 private:
  struct Range {
    DeviceOffset from;
    DeviceOffset to;
  };

  DeviceOffset from_;
  std::vector<Range> taken_;  // behind from_, in order, not adjacent to it
};

}  // namespace zenfs
