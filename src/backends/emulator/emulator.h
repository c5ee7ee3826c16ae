// A zoned device without hardware: in memory, or in one sparse file that survives the process and a kill -9.
//
// What it promises is the interface of device/zoned_device.h and the state machine of zone_machine.h. It
// adds: latencies, fixed ones for each kind of command or those of a drive (docs/use/timing.md), a meter, and zones that
// fail when a test asks for it.
//
// An emulated file survives processes, not the host's loss of power, unless `hostsync` makes every Flush an
// fdatasync of the file. The device's own loss of power is another matter: a file that was made with a volatile cache
// keeps count of what a Flush has made durable, and CutPower (power_cut.h) loses the rest.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "backends/emulator/emulator_geometry.h"
#include "backends/emulator/timing.h"
#include "base/uuid.h"
#include "device/zoned_device.h"

namespace zenfs {

enum class EmulatorCommand { kRead, kWrite, kAppend, kManagement, kFlush };
inline constexpr std::size_t kEmulatorCommands = 5;

struct EmulatorOptions {
  // Whose times the commands take; unset: those that the file asks for, of a device in memory none. Each open device
  // has a clock of its own: two processes that have one file open do not slow each other down.
  std::optional<Timing> timing;
  // Microseconds from the start of a command to its completion; a command that takes the host longer is not
  // made to wait. Commands of an IoQueue overlap. Where there is a profile too, the later of the two counts.
  std::uint32_t read_us = 0;
  std::uint32_t write_us = 0;
  std::uint32_t append_us = 0;
  std::uint32_t management_us = 0;
  std::uint32_t flush_us = 0;
  bool hostsync = false;
  bool volatile_cache = true;  // of geometry(); always true of a file made with a volatile cache

  std::uint32_t latency_us(EmulatorCommand command) const;
};

// What the device has done, and what it cost the host; figures about the software above leave cpu_ns out.
struct EmulatorMeter {
  struct Kind {
    std::uint64_t commands = 0;  // carried out without an error
    std::uint64_t bytes = 0;
  };
  std::array<Kind, kEmulatorCommands> kinds{};
  std::uint64_t cpu_ns = 0;   // CPU time of the callers' threads spent inside the device, waiting included
  std::uint64_t metered = 0;  // how many commands cpu_ns comes from: short ones are sampled (cpu_meter.h)

  const Kind& of(EmulatorCommand command) const { return kinds[static_cast<std::size_t>(command)]; }
};

class EmulatorDevice : public ZonedDevice {
 public:
  virtual EmulatorMeter meter() const = 0;
  std::uint64_t emulation_cpu_ns() const final { return meter().cpu_ns; }
  // Lets a zone fail (kReadOnly, kOffline) or end early (kFull), as a controller may at any time.
  [[nodiscard]] virtual Status SetCondition(ZoneId zone, ZoneCondition condition) = 0;
};

// `geometry` must be valid.
[[nodiscard]] std::unique_ptr<EmulatorDevice> CreateMemoryDevice(const EmulatorGeometry& geometry,
                                                                 const EmulatorOptions& options = {});

// Makes an emulated device of empty zones in a new file. With `overwrite` also in place of an existing
// emulated device that nobody has open, or of an empty file; never of anything else. `timing` is recorded in it, and so
// is `volatile_cache`: whether the device can lose what was not flushed. A failure leaves no file behind.
// `mode`: the file's permissions, whatever the umask. Unset: those of a file that is replaced, else kEmulatedFileMode.
// Errors: kExists, kInvalidArgument, kBusy (with the holder), kNoSpace and others of the host.
[[nodiscard]] Status CreateEmulatedFile(const std::string& path, const EmulatorGeometry& geometry,
                                        bool overwrite, Timing timing = Timing::kNone,
                                        bool volatile_cache = false, std::optional<mode_t> mode = {});

// It holds a database, and who may read it may also keep others from opening it (LockEmulatedFile): its user's alone.
inline constexpr mode_t kEmulatedFileMode = 0600;

struct EmulatedFileInfo {
  EmulatorGeometry geometry;
  Timing timing = Timing::kNone;
  Uuid uuid;
  std::string model;
  std::uint32_t version = 0;
  bool volatile_cache = false;        // it can lose what was not flushed
  std::uint64_t file_bytes = 0;       // as `ls` shows
  std::uint64_t allocated_bytes = 0;  // as `du` shows: what it takes of the host's disk
};

// Takes no lock. Errors as OpenEmulatedFile.
[[nodiscard]] Result<EmulatedFileInfo> ReadEmulatedFileInfo(const std::string& path);

// kExclusive locks the file against other processes and devices (kBusy names the holder); kReadOnly takes no
// lock, works without write permission and sees what a writer beside it does.
// Errors: kNotFound, kInvalidArgument (not an emulated device), kCorruption (damaged or cut off),
// kNotSupported (made by a newer version), kPermission, kReadOnly.
[[nodiscard]] Result<std::unique_ptr<EmulatorDevice>> OpenEmulatedFile(const std::string& path, OpenMode mode,
                                                                       const EmulatorOptions& options = {});

}  // namespace zenfs
