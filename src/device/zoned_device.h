// The one interface to a zoned device. Everything above it is the same for an NVMe ZNS drive, an SMR disk,
// zonefs and the emulator; tests/conformance holds every implementation to this text.
//
// Units: bytes. Offsets and lengths of reads and writes are multiples of geometry().block_size, and so is the
// address of every buffer (AlignedBuffer satisfies every device).
//
// Durability (NVMe base specification, "Volatile write cache"): a completed command survives the death of the
// process. If geometry().volatile_cache, it survives the loss of power only once a Flush that was sent after
// its completion has returned; that goes for Reset, Finish, Open and Close as much as for data.
//
// Threads: every call may come from any thread. Writes to one zone must not overlap in time (the caller holds
// the right to write a zone, ZoneWriter of zone/zone_manager.h); Appends may. An IoQueue belongs to one thread at a time.
//
// Errors, beside kIo with the errno: kZoneFull when the zone ended (or the device ended it early: legal at
// any time, device-assumptions 4), kReadOnly and kNotFound for read-only and offline zones, kInvalidArgument
// for a misaligned request or one not at the write pointer, kBusy when a limit of open or active zones is
// reached, kUnknownOutcome when the command may or may not have been carried out. After a failed write the
// write pointer is unknown until the zone has been reported again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "device/geometry.h"
#include "device/zone_info.h"

namespace zenfs {

enum class OpenMode {
  kReadOnly,   // beside a writer if need be; takes no lock and changes nothing
  kExclusive,  // reads and writes; one holder at a time on this host
};

// One read, write or append, submitted to an IoQueue. The caller owns it and its buffers, unmoved, until it
// has been reaped.
struct IoRequest {
  enum class Kind { kRead, kWrite, kAppend };

  Kind kind = Kind::kRead;
  DeviceOffset offset;  // kRead, kWrite: where; kAppend: start of the zone
  ByteSpan read_into;   // kRead
  ByteView write_from;  // kWrite, kAppend
  void* tag = nullptr;  // the caller's

  Status status;           // valid once reaped
  DeviceOffset placed_at;  // kAppend: where the device put it; valid once reaped and ok
};

// Commands in flight. Not thread-safe. Destroying a queue waits for what is in flight.
class IoQueue {
 public:
  virtual ~IoQueue() = default;

  // Takes `request`. An error that can be told at once is delivered through Reap as any other. A queue may start what
  // it took as late as the next Reap, so that many start with one system call; Reap(0) starts them without waiting.
  virtual void Submit(IoRequest* request) = 0;
  // Waits until at least `min_count` (or all that are in flight, if fewer) have completed, and appends the
  // completed requests to `done` in order of completion. min_count 0 polls.
  virtual void Reap(std::size_t min_count, std::vector<IoRequest*>& done) = 0;
  virtual std::size_t in_flight() const = 0;
};

// What has gone wrong since a guard was put in front of the device (device/guarded_device.h).
struct DeviceErrors {
  std::uint64_t repeated_reads = 0;  // reads that were sent again after an error
  std::uint64_t failed_flushes = 0;
};

class ZonedDevice {
 public:
  virtual ~ZonedDevice() = default;

  virtual const Geometry& geometry() const = 0;
  // How a person calls this device, for messages: "emu:/tmp/a.img".
  virtual const std::string& name() const = 0;
  virtual OpenMode mode() const = 0;
  // Tells this device from every other one, a copy of all its bytes included, for as long as the host runs; empty if
  // it can't be found again once it is closed (a device in memory).
  virtual const std::string& identity() const = 0;
  // The user that the device's node or file belongs to, who can change every byte of it; none of a device in memory.
  virtual std::optional<std::uint32_t> owner() const { return std::nullopt; }
  // What works and is not as it should be, a line each for a person; whoever mounts the device passes it on.
  virtual std::vector<std::string> notices() const { return {}; }

  // CPU time that this process has spent so far on playing the device, in nanoseconds; none for a real one.
  virtual std::uint64_t emulation_cpu_ns() const { return 0; }

  // All zero where there is no guard.
  virtual DeviceErrors errors() const { return {}; }

  // Conditions and write pointers of `count` zones from `first`, in order.
  [[nodiscard]] virtual Result<std::vector<ZoneInfo>> Report(ZoneId first, std::uint32_t count) = 0;

  // Fills all of `into`. A read must not cross the end of its zone; beyond the write pointer it may fail.
  [[nodiscard]] virtual Status Read(DeviceOffset offset, ByteSpan into) = 0;
  // Writes the pieces one behind the other at the write pointer of the zone that `offset` lies in; each
  // piece's length is a multiple of the block size. All or an error; after an error, see above.
  [[nodiscard]] virtual Status Write(DeviceOffset offset, std::span<const ByteView> pieces) = 0;
  // Writes `bytes` somewhere at or behind the write pointer of `zone` and returns where.
  [[nodiscard]] virtual Result<DeviceOffset> Append(ZoneId zone, ByteView bytes) = 0;

  [[nodiscard]] virtual Status Reset(ZoneId zone) = 0;
  [[nodiscard]] virtual Status Finish(ZoneId zone) = 0;
  [[nodiscard]] virtual Status Open(ZoneId zone) = 0;
  [[nodiscard]] virtual Status Close(ZoneId zone) = 0;
  // Everything completed before this call is on stable media when it returns.
  [[nodiscard]] virtual Status Flush() = 0;

  // `depth` is how many commands the caller means to have in flight.
  [[nodiscard]] virtual std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) = 0;

  // A single piece, for callers that have no list.
  [[nodiscard]] Status Write(DeviceOffset offset, ByteView bytes) {
    return Write(offset, std::span<const ByteView>(&bytes, 1));
  }
};

}  // namespace zenfs
