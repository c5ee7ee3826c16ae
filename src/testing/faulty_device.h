// A decorator that lets chosen commands of a device fail, holds them at a gate, and counts them. A
// fault selects commands by kind, zone, bytes and number, and at random from a seed, once or
// always.
//
// Threads: any, for commands and for the plan. Commands of a queue use the same plan and are
// executed by Submit.
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "base/random.h"
#include "device/forwarding_device.h"

namespace zenfs {

class FaultyDevice final : public ForwardingDevice {
 public:
  enum class Command {
    kReport,
    kRead,
    kWrite,
    kAppend,
    kReset,
    kFinish,
    kOpen,
    kClose,
    kFlush,
    kOpenRandom,
    kCommitRandom,
    kCopy  // selected by the zone and bytes that it writes
  };
  enum class When {
    kBefore,     // the command is not executed
    kAfter,      // it is executed and reported as failed
    kPartly,     // a write writes its first block only; other commands do nothing
    kElsewhere,  // an append is executed and succeeds, but reports the start of its zone
  };
  static constexpr std::uint64_t kForEver = ~std::uint64_t{0};
  // Device offsets in [from, to).
  struct Bytes {
    DeviceOffset from;
    DeviceOffset to;
  };
  struct Fault {
    Command command = Command::kWrite;
    std::uint64_t kth = 1;       // the first matching command from now on is 1
    std::uint64_t times = 1;     // how many commands in a row fail
    std::optional<ZoneId> zone;  // only commands to this zone; none: all
    Code code = Code::kIo;
    When when = When::kBefore;
    std::optional<Bytes>
        bytes{};  // only reads, writes and appends of these bytes; an append touches its whole zone
    std::uint32_t one_in = 1;  // a selected command fails with probability 1 / one_in
    std::uint64_t seed = 1;    // seed of one_in: the same commands in the same order have the same faults
    int os_errno = EIO;        // reported with kIo and kNotFound
  };

  explicit FaultyDevice(std::unique_ptr<ZonedDevice> device);

  void Inject(const Fault& fault) EXCLUDES(mutex_);
  void ClearFaults() EXCLUDES(mutex_);
  // Unplugs the device: from now on every command fails with ENODEV, as the kernel does.
  void Unplug() EXCLUDES(mutex_);
  // Number of commands so far, failed ones included.
  std::uint64_t count(Command command) const EXCLUDES(mutex_);

  // From now on, matching commands wait before their execution until Release. One gate at a time.
  void Hold(Command command, std::optional<ZoneId> zone = {}) EXCLUDES(mutex_);
  // Waits until `count` commands wait at the gate. False if the deadline passed.
  [[nodiscard]] bool WaitUntilHeld(std::size_t count, Deadline deadline) EXCLUDES(mutex_);
  void Release() EXCLUDES(mutex_);

  std::vector<std::string> notices() const override { return notices_; }
  // Sets the notices of the device. Call before it is shared.
  void SetNotices(std::vector<std::string> notices) { notices_ = std::move(notices); }
  Result<std::vector<ZoneInfo>> Report(ZoneId first, std::uint32_t count) override;
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
  Status Copy(DeviceOffset from, DeviceOffset to, std::uint64_t length) override;
  Status Flush() override;
  std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) override;

 private:
  static constexpr std::size_t kCommands = 12;
  std::vector<std::string> notices_;
  struct Planned {
    Fault fault;
    Random chance;
    std::uint64_t seen = 0;
  };
  // The zone and bytes of a command.
  struct Target {
    std::optional<ZoneId> zone{};
    std::optional<Bytes> bytes{};
  };
  struct Gate {
    Command command;
    std::optional<ZoneId> zone;
  };

  // Counts the command, waits at the gate, and returns its fault, if any.
  std::optional<Fault> Enter(Command command, const Target& target) EXCLUDES(mutex_);
  static bool Meets(const Fault& fault, Command command, const Target& target);
  Target TargetOf(DeviceOffset offset, std::uint64_t length) const;
  template <typename Return, typename Do>
  Return Run(Command command, const Target& target, Do carry_out);

  mutable Mutex mutex_;  // leaf
  CondVar changed_;
  std::vector<Planned> faults_ GUARDED_BY(mutex_);
  std::array<std::uint64_t, kCommands> counts_ GUARDED_BY(mutex_){};
  std::optional<Gate> gate_ GUARDED_BY(mutex_);
  std::uint64_t gate_number_ GUARDED_BY(mutex_) = 0;
  std::size_t held_ GUARDED_BY(mutex_) = 0;
};

}  // namespace zenfs
