// A zoned device without hardware: in memory, or in one sparse file that survives the process and a
// kill -9.
//
// It implements the interface of device/zoned_device.h and the state machine of zone_machine.h. It
// also has latencies, fixed for each kind of command or those of a drive (docs/use/timing.md),
// counters, and zones that fail on demand of a test.
//
// An emulated file survives the death of processes. It survives a power loss of the host only with
// `hostsync`, which makes every Flush an fdatasync of the file. A power loss of the device is
// simulated: a file with a volatile cache records which blocks a Flush has made durable, and
// CutPower (power_loss.h) removes the others.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/emulator/emulator_geometry.h"
#include "backends/emulator/timing.h"
#include "backends/host/backend_option.h"
#include "base/uuid.h"
#include "device/zoned_device.h"

namespace zenfs {

enum class EmulatorCommand { kRead, kWrite, kAppend, kManagement, kFlush };
inline constexpr std::size_t kEmulatorCommands = 5;

struct EmulatorOptions {
  // The timing profile. Unset: the profile of the file; none for a device in memory. Each open
  // device has its own clock: two processes that have the same file open do not slow each other
  // down.
  std::optional<Timing> timing;
  // Microseconds from the start of a command to its completion. If the host takes longer, the
  // command does not wait. Commands of an IoQueue overlap. With a profile as well, the later
  // completion counts.
  std::uint32_t read_us = 0;
  std::uint32_t write_us = 0;
  std::uint32_t append_us = 0;
  std::uint32_t management_us = 0;
  std::uint32_t flush_us = 0;
  bool hostsync = false;
  bool volatile_cache = true;        // in geometry(); always true for a file with a volatile cache
  std::uint64_t max_copy_bytes = 0;  // of a file's geometry, in whole blocks
  // What the modelled page cache of the host holds at most (page_cache_model.h). Unset: DefaultPageCacheBytes.
  std::optional<std::uint64_t> page_cache_bytes;
  // That cache begins with what is written on the device, the first zones first, until it is full; else it begins empty.
  bool warm_cache = false;

  std::uint32_t latency_us(EmulatorCommand command) const;
};

// The options of an emu: URI (host/backend_option.h).
[[nodiscard]] std::vector<OptionText> EmulatorOptionTexts();
[[nodiscard]] Result<EmulatorOptions> TakeEmulatorOptions(const DeviceOptions& given,
                                                          DeviceOptions* unclaimed);

// Counters of the device's work and of its cost on the host. Subtract cpu_ns to measure the
// software above.
struct EmulatorMeter {
  struct Kind {
    std::uint64_t commands = 0;  // that succeeded
    std::uint64_t bytes = 0;
  };
  std::array<Kind, kEmulatorCommands> kinds{};
  std::uint64_t cpu_ns = 0;   // CPU time of the callers' threads spent inside the device, waiting included
  std::uint64_t metered = 0;  // commands measured for cpu_ns: short ones are sampled (cpu_meter.h)

  const Kind& of(EmulatorCommand command) const { return kinds[static_cast<std::size_t>(command)]; }
};

class EmulatorDevice : public ZonedDevice {
 public:
  virtual EmulatorMeter meter() const = 0;
  std::uint64_t emulation_cpu_ns() const final { return meter().cpu_ns; }
  // Makes a zone fail (kReadOnly, kOffline) or end early (kFull), as a controller may at any time.
  [[nodiscard]] virtual Status SetCondition(ZoneId zone, ZoneCondition condition) = 0;
};

// `geometry` must be valid.
[[nodiscard]] std::unique_ptr<EmulatorDevice> CreateMemoryDevice(const EmulatorGeometry& geometry,
                                                                 const EmulatorOptions& options = {});

struct EmulatedFileOptions {
  // The file's permissions, whatever the umask. Unset: those of the replaced file, else kEmulatedFileMode.
  std::optional<mode_t> mode;
  // Writes zeros to all of the device, and makes resets keep this space. Then a full host can't fail a write, and the host
  // allocates nothing: a write with hostsync needs no commit of the host's journal.
  bool reserve = false;
  std::function<void(std::uint64_t done, std::uint64_t of)> progress;  // bytes reserved
  const std::atomic<bool>* stop = nullptr;  // ends the reservation when it becomes true
};

// Creates an emulated device of empty zones in a new file. With `overwrite` it may also replace an
// existing emulated device that nobody has open, or an empty file, and nothing else. The file
// records `timing` and `volatile_cache`: whether a power loss may lose blocks that were not
// flushed. After a failure no file remains. Errors: kExists, kInvalidArgument, kBusy (with the
// holder), kNoSpace (with `reserve` found before anything is written), kShutdown if stopped, and
// others of the host.
[[nodiscard]] Status CreateEmulatedFile(const std::string& path, const EmulatorGeometry& geometry,
                                        bool overwrite, Timing timing = Timing::kNone,
                                        bool volatile_cache = false, const EmulatedFileOptions& options = {});

// Only its user may read it: the file holds a database, and anybody who may read it can lock others out
// (LockEmulatedFile).
inline constexpr mode_t kEmulatedFileMode = 0600;

struct EmulatedFileInfo {
  EmulatorGeometry geometry;
  Timing timing = Timing::kNone;
  Uuid uuid;
  std::string model;
  std::uint32_t version = 0;
  bool volatile_cache = false;        // a power loss may lose blocks that were not flushed
  bool reserved = false;              // resets keep the space on the host
  std::uint64_t file_bytes = 0;       // as `ls` shows
  std::uint64_t allocated_bytes = 0;  // as `du` shows: space on the host's disk
};

// Takes no lock. Errors: those of OpenEmulatedFile.
[[nodiscard]] Result<EmulatedFileInfo> ReadEmulatedFileInfo(const std::string& path);

// kExclusive locks the file against other processes and devices (kBusy names the holder). kReadOnly
// takes no lock, needs no write permission, and sees the changes of a concurrent writer. Errors:
// kNotFound, kInvalidArgument (not an emulated device), kCorruption (damaged or cut off),
// kNotSupported (made by a newer version), kPermission, kReadOnly.
[[nodiscard]] Result<std::unique_ptr<EmulatorDevice>> OpenEmulatedFile(const std::string& path, OpenMode mode,
                                                                       const EmulatorOptions& options = {});

}  // namespace zenfs
