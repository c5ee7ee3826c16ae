// The interface to zoned devices: NVMe ZNS drives, SMR disks, zonefs and the emulator. tests/conformance tests every
// implementation against this text.
//
// Units: bytes. Offsets and lengths of reads and writes are multiples of geometry().block_size, and so is the
// address of every buffer (AlignedBuffer satisfies every device).
//
// Durability (NVMe base specification, "Volatile write cache"): a completed command survives the death of the process. If
// geometry().volatile_cache is set, it survives a power loss only after a Flush that was sent after its completion has
// returned. This applies to data and to Reset, Finish, Open and Close.
//
// Threads: any. Writes to one zone must not overlap in time (the caller holds the zone's ZoneWriter, zone/zone_manager.h);
// Appends may. An IoQueue is used by one thread at a time.
//
// Errors, besides kIo with the errno:
//   kZoneFull         the zone is full; a device may make it full at any time (docs/internals/device-assumptions.md, 4)
//   kReadOnly         the zone is read-only
//   kNotFound         the zone is offline
//   kInvalidArgument  the request is misaligned or not at the write pointer
//   kBusy             a limit of open or active zones is reached
//   kUnknownOutcome   the command may or may not have been executed
// After a failed write the write pointer is unknown until the next report of the zone.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

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
#include "model/units.h"

namespace zenfs {

enum class OpenMode {
  kReadOnly,   // takes no lock and changes nothing; allowed beside a writer
  kExclusive,  // reads and writes; one holder at a time on this host
};

// A read, write or append for an IoQueue. The caller owns it and its buffers, and must keep both in place until it is
// reaped.
struct IoRequest {
  enum class Kind { kRead, kWrite, kAppend };

  Kind kind = Kind::kRead;
  DeviceOffset offset;    // kRead, kWrite: where; kAppend: start of the zone
  ByteSpan read_into;     // kRead
  ByteView write_from;    // kWrite, kAppend
  void* tag = nullptr;    // for the caller's use
  bool given_up = false;  // nobody wants its outcome any more: a failed read is not repeated

  Status status;           // valid once reaped
  DeviceOffset placed_at;  // kAppend: the offset that the device chose; valid once reaped and ok
};

// Commands in flight. Not thread-safe. The destructor waits for all of them. Must not outlive its device.
class IoQueue {
 public:
  virtual ~IoQueue() = default;

  // Queues `request`. All errors are delivered through Reap. A queue may delay the start of requests until the next Reap,
  // to start many with one system call; Reap(0) starts them without waiting.
  virtual void Submit(IoRequest* request) = 0;
  // Waits until `min_count` requests have completed, or all if fewer are in flight. Appends all completed requests to
  // `done`, in order of completion. If min_count is 0, it does not wait.
  virtual void Reap(std::size_t min_count, std::vector<IoRequest*>& done) = 0;
  virtual std::size_t in_flight() const = 0;
  // Whether commands run while the caller does something else. Otherwise each is executed as it is submitted.
  virtual bool overlaps() const { return true; }
};

struct CachedRead {
  DeviceOffset offset;
  ByteSpan into;
  Status status;
};

enum class CacheAdvice {
  kWillNeed,  // begins to fill the cache with the range, and returns
  kDontNeed,  // drops the range from the cache
};

// The host's cache of what a device holds: the kernel's page cache, or a model of it. What it holds costs no command.
//
// It is for callers that want the bytes of a file and do not ask where they come from. Reads that prove something about the
// device go to the device itself (ZonedDevice::Read): recovery, check, scrub, verification of copies, backups.
//
// Coherence: bytes below the write pointer of a zone are those on the device, also after the zone was reset and written again.
// The caller reads no others: a cache may keep what was beyond the write pointer.
//
// Units: bytes; no offset, length or address needs to be aligned. A range does not cross the end of a zone. Threads: any.
class HostCache {
 public:
  virtual ~HostCache() = default;

  // Fills `into` of each read and sets its status. Those that the cache does not hold are read from the device together, and
  // kept. Errors: those of ZonedDevice::Read; the device may still return the bytes, because a cache reads more around them.
  virtual void Read(std::span<CachedRead> reads) = 0;
  // A hint; errors are ignored.
  virtual void Advise(DeviceOffset offset, std::uint64_t length, CacheAdvice advice) = 0;
};

// Who may change every byte of a device: those who may write to its node or file.
struct DeviceOwner {
  std::uint32_t user = 0;
  // A group that may write to the file. The group of a node is the system's (udev: disk), whose members may write to all disks,
  // so it does not count.
  std::optional<std::uint32_t> group{};
  bool everybody = false;

  static DeviceOwner Of(const struct stat& status) {
    DeviceOwner owner{.user = status.st_uid, .everybody = (status.st_mode & S_IWOTH) != 0};
    if (S_ISREG(status.st_mode) && (status.st_mode & S_IWGRP) != 0) owner.group = status.st_gid;
    return owner;
  }
  // True if only root and the user of this process may change it.
  bool IsTrusted() const {
    return !everybody && (user == 0 || user == ::geteuid()) && (!group || *group == ::getegid());
  }
  friend bool operator==(const DeviceOwner&, const DeviceOwner&) = default;
};

// Error counts of a guarded device (device/guarded_device.h).
struct DeviceErrors {
  std::uint64_t repeated_reads = 0;  // retries of reads after an error
  std::uint64_t failed_flushes = 0;
  std::uint64_t outages = 0;  // reads and reports that failed while the device served nothing
};

class ZonedDevice;

// The two devices below a joined one; both null for a single device. The joined device owns them.
struct JoinedParts {
  ZonedDevice* main = nullptr;
  ZonedDevice* logs = nullptr;
};

class ZonedDevice {
 public:
  virtual ~ZonedDevice() = default;

  virtual const Geometry& geometry() const = 0;
  // The device's name in messages: "emu:/tmp/a.img".
  virtual const std::string& name() const = 0;
  virtual OpenMode mode() const = 0;
  // Identifies this device until the host restarts; differs even from that of a byte-wise copy. Empty if the device can't
  // be opened again after it is closed (a device in memory).
  virtual const std::string& identity() const = 0;
  // Nothing for a device in memory.
  virtual std::optional<DeviceOwner> owner() const { return std::nullopt; }
  // Warnings about the device, one line each. A mount adds them to its notices.
  virtual std::vector<std::string> notices() const { return {}; }

  // The host's cache of this device; null if there is none. It lives as long as the device. A read through it is none of this
  // device: a decorator that changes, counts or delays reads decides for itself what it returns here.
  virtual HostCache* host_cache() { return nullptr; }

  // CPU time of this process spent on the emulation of the device, in nanoseconds; 0 for a real device.
  virtual std::uint64_t emulation_cpu_ns() const { return 0; }

  // Each of two joined devices (device/joined_device.h) by itself, with the zones that the joined device hides. A decorator of
  // the joined device is not between.
  virtual JoinedParts parts() const { return {}; }

  // All zero without a guard.
  virtual DeviceErrors errors() const { return {}; }

  // True once no call can succeed any more until the device is opened again. Not for errors that may pass.
  virtual bool IsGone() const { return false; }

  // Reports `count` zones from `first`, in order.
  [[nodiscard]] virtual Result<std::vector<ZoneInfo>> Report(ZoneId first, std::uint32_t count) = 0;

  // How many of the `length` bytes at `from` a read is known to return as zeros, or to refuse because they are behind the write
  // pointer, without reading them: a multiple of the block size, 0 if that is not known. A zone of an emulated device may claim any
  // length, and a scan of it must not take longer than the bytes that its file has. The range may reach beyond the zone, and the
  // answer then too, whatever the condition of the later zones. A decorator that changes reads decides for itself what it returns here.
  virtual std::uint64_t KnownZeros(DeviceOffset /*from*/, std::uint64_t /*length*/) { return 0; }

  // Fills `into`. A read must not cross the end of its zone. Beyond the write pointer it may fail.
  [[nodiscard]] virtual Status Read(DeviceOffset offset, ByteSpan into) = 0;
  // Writes the pieces one after the other at `offset`, which must be the write pointer of its zone. The length of each
  // piece is a multiple of the block size. After an error, any part may have been written.
  [[nodiscard]] virtual Status Write(DeviceOffset offset, std::span<const ByteView> pieces) = 0;
  // Writes `bytes` at or after the write pointer of `zone` and returns their offset.
  [[nodiscard]] virtual Result<DeviceOffset> Append(ZoneId zone, ByteView bytes) = 0;

  [[nodiscard]] virtual Status Reset(ZoneId zone) = 0;
  [[nodiscard]] virtual Status Finish(ZoneId zone) = 0;
  [[nodiscard]] virtual Status Open(ZoneId zone) = 0;
  [[nodiscard]] virtual Status Close(ZoneId zone) = 0;
  // Opens an empty zone with a random write area (NVMe ZNS, "Zone Random Write Area"): geometry().random_area_bytes from its
  // write pointer on. A write inside of the area may begin at any block and may replace blocks; it does not move the write
  // pointer. A write that ends up to one area behind it first moves the write pointer, by a multiple of random_area_unit, so
  // far that the write ends inside (implicit commit). Blocks below the write pointer can't be written again; a Finish
  // commits all. Blocks of the area can be read; those that were not written are zeros. A zone loses its area when it is
  // full or reset. An Append to such a zone fails. Errors: kBusy if random_area_zones have one; kNotSupported.
  [[nodiscard]] virtual Status OpenRandom(ZoneId zone);
  // Moves the write pointer of a zone with a random write area to `to`, which is inside of the area or at its end, and a
  // multiple of random_area_unit from the start of the zone or the end of its capacity (explicit commit).
  [[nodiscard]] virtual Status CommitRandom(DeviceOffset to);
  // Writes the `length` bytes at `from`, which are below the write pointer of their zone, to `to`, as a Write of them would; they
  // do not pass through the host (NVM Command Set, "Copy"). Neither range crosses the end of a zone, and both are on one
  // device. At most geometry().max_copy_bytes. Errors: also those of a Read; kNotSupported.
  [[nodiscard]] virtual Status Copy(DeviceOffset from, DeviceOffset to, std::uint64_t length);
  // When this returns OK, all commands completed before the call are on stable media.
  [[nodiscard]] virtual Status Flush() = 0;
  // The same for the commands to zones on the device of `zone`: one of two joined devices, or this one.
  [[nodiscard]] virtual Status FlushDeviceOf(ZoneId zone);

  // `depth`: the number of commands that the caller intends to have in flight.
  [[nodiscard]] virtual std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) = 0;

  // Reports one zone.
  [[nodiscard]] Result<ZoneInfo> ReportZone(ZoneId zone) {
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> zones, Report(zone, 1));
    if (zones.size() != 1) return Fail(Code::kIo, name() + ": the report of a zone has not one zone");
    return zones.front();
  }
  // Writes a single piece.
  [[nodiscard]] Status Write(DeviceOffset offset, ByteView bytes) {
    return Write(offset, std::span<const ByteView>(&bytes, 1));
  }
};

[[nodiscard]] inline Result<std::vector<ZoneInfo>> ReportAll(ZonedDevice& device) {
  return device.Report(ZoneId(0), device.geometry().zone_count);
}

// The flush behind the frames of logs, which are all on one device.
[[nodiscard]] inline Status FlushLogs(ZonedDevice& device) {
  return device.FlushDeviceOf(ZoneId(device.geometry().zone_count - 1));
}

}  // namespace zenfs
