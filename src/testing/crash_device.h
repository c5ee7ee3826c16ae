// A zoned device in memory for tests of power loss. It records all state changes since the last
// Flush on top of the durable state, stops at a chosen command, and makes images that a power loss
// may leave.
//
//    CrashDevice device(geometry);
//    device.StopAfter(n);            // the n-th state-changing command is the last one executed
//    ... work until it fails ...
//    auto found = device.Image(LossPolicy::Random(seed));   // mount this, compare with what was synced
//
// Threads: any.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/emulator/zone_machine.h"
#include "base/mutex.h"
#include "base/random.h"
#include "device/request_check.h"
#include "device/zoned_device.h"
#include "testing/loss.h"

namespace zenfs {

struct LossPolicy {
  enum class Kind {
    kKeepAll,  // only the process died: all stays except blocks lost by DropCache; open zones stay open
    kLoseAll,  // nothing unflushed survives
    kRandom,
  };
  Kind kind = Kind::kKeepAll;
  std::uint64_t seed = 0;

  static LossPolicy KeepAll() { return {Kind::kKeepAll, 0}; }
  static LossPolicy LoseAll() { return {Kind::kLoseAll, 0}; }
  static LossPolicy Random(std::uint64_t seed) { return {Kind::kRandom, seed}; }
};

class CrashDevice final : public ZonedDevice {
 public:
  // All zones are empty and durable. `geometry` must be valid.
  explicit CrashDevice(const EmulatorGeometry& geometry);

  // From the (n+1)-th state-changing command (write, append, reset, finish, open, close, commit, flush)
  // since construction on, every command fails with kIo "power lost", also reads and reports.
  void StopAfter(std::uint64_t n) EXCLUDES(mutex_);
  // Called once, by the first command that is not executed, before it fails. Must not use the
  // device.
  void OnStop(std::function<void()> call) EXCLUDES(mutex_);
  // Number of executed state-changing commands; failed ones do not count.
  std::uint64_t commands() const EXCLUDES(mutex_);
  bool stopped() const EXCLUDES(mutex_);

  // A new, independent device in a state that a power loss now may leave. Counts its commands from
  // 0.
  [[nodiscard]] std::unique_ptr<CrashDevice> Image(LossPolicy policy) const EXCLUDES(mutex_);

  struct Images {
    std::vector<std::unique_ptr<CrashDevice>> images;
    bool complete = false;
  };
  // All combinations of the results of EnumerateLosses for each zone, if there are at most `limit`
  // (>= 2). Otherwise `limit` images, incomplete: nothing lost, everything lost, and random ones,
  // the same in every run.
  [[nodiscard]] Images EnumerateImages(std::size_t limit) const EXCLUDES(mutex_);

  // A flush that fails and loses some unflushed blocks. Reads return them until power is lost or
  // the process dies, and no later flush makes them durable. Does not count as a command.
  void DropCache(std::uint64_t seed) EXCLUDES(mutex_);
  bool dropped() const EXCLUDES(mutex_);

  // Makes `zone` read-only or offline, durably.
  [[nodiscard]] Status SetCondition(ZoneId zone, ZoneCondition condition) EXCLUDES(mutex_);

  // Inverts bits of the byte at `place`, as a medium that rots, until its block is written again. False if the block was not
  // written, or not flushed since: nothing is changed.
  bool Rot(DeviceOffset place, std::byte bits) EXCLUDES(mutex_);

  // The first device as it is, with the zones of the second device for logs as `logs` has them. Both are as after the death of
  // their process, and have the same geometry.
  [[nodiscard]] std::unique_ptr<CrashDevice> ImageWithLogsOf(const CrashDevice& logs) const EXCLUDES(mutex_);

  const EmulatorGeometry& emulator_geometry() const { return emulator_geometry_; }
  const Geometry& geometry() const override { return geometry_; }
  const std::string& name() const override { return name_; }
  const std::string& identity() const override { return identity_; }
  // Makes the last zones those of a second device for logs (device/joined_device.h), which loses power with the first one.
  // `max_active` of the device's limits of open and active zones are the second device's. Call before the device is used.
  void SplitLogs(std::uint32_t zones, std::uint32_t max_active);
  // From now on blocks of zeros are known to be such, as on the copy of an image that leaves them out (`cp --sparse=always`);
  // also in its images. Call before the device is used.
  void ShowZeros() { shows_zeros_ = true; }
  // Empty unless set, because a device in memory can't be opened again. Call before the device is
  // used.
  void SetIdentity(std::string identity) { identity_ = std::move(identity); }
  OpenMode mode() const override { return OpenMode::kExclusive; }
  bool IsGone() const override { return stopped(); }
  Result<std::vector<ZoneInfo>> Report(ZoneId first, std::uint32_t count) override;
  std::uint64_t KnownZeros(DeviceOffset from, std::uint64_t length) override;
  Status Read(DeviceOffset offset, ByteSpan into) override;
  using ZonedDevice::Write;
  Status Write(DeviceOffset offset, std::span<const ByteView> pieces) override;
  Result<DeviceOffset> Append(ZoneId zone, ByteView bytes) override;
  Status Reset(ZoneId zone) override;
  Status Finish(ZoneId zone) override;
  Status Open(ZoneId zone) override;
  Status Close(ZoneId zone) override;
  Status OpenRandom(ZoneId zone) override;
  Status CommitRandom(DeviceOffset to) override;
  Status Copy(DeviceOffset from, DeviceOffset to, std::uint64_t length) override {
    return CopyByHost(*this, from, to, length);
  }
  Status Flush() override;
  Status FlushDeviceOf(ZoneId zone) override;
  std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) override;

 private:
  using Management = std::function<Status(ZoneMachine&, ZoneId)>;

  CrashDevice(const EmulatorGeometry& geometry, std::vector<ZoneImage> images);

  Status CheckPower() const REQUIRES(mutex_);
  Status BeginChange() REQUIRES(mutex_);
  Status FlushZones(std::uint32_t first, std::uint32_t end) EXCLUDES(mutex_);
  Status Manage(ZoneId zone, const Management& command) EXCLUDES(mutex_);
  void RecordOthers(ZoneId zone) REQUIRES(mutex_);
  void RecordWrite(ZoneId zone, std::uint64_t block, Blocks blocks) REQUIRES(mutex_);
  std::unique_ptr<CrashDevice> ImageOf(const std::vector<ZoneLoss>& losses, Random& random) const
      REQUIRES(mutex_);
  std::unique_ptr<CrashDevice> ImageBy(LossPolicy policy) const REQUIRES(mutex_);

  const EmulatorGeometry emulator_geometry_;
  Geometry geometry_;  // constant once the device is used
  const std::string name_ = "crash:memory";
  std::string identity_;
  bool shows_zeros_ = false;
  mutable Mutex mutex_;  // leaf
  ZoneMachine machine_ GUARDED_BY(mutex_);
  std::vector<ZoneHistory> zones_ GUARDED_BY(mutex_);
  std::uint64_t commands_ GUARDED_BY(mutex_) = 0;
  std::optional<std::uint64_t> stop_after_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::function<void()> on_stop_ GUARDED_BY(mutex_);
  bool dropped_ GUARDED_BY(mutex_) = false;
};

}  // namespace zenfs
