// The tokens of a ZoneManager: ZonePin, ZoneClaim and ZoneWriter. Each releases itself in its destructor.
//
// Ownership: the manager outlives its tokens.
// Threads: a token is for one thread at a time; tokens of different threads need no lock. No token takes another lock
// than the leaf lock of the manager, so they may be dropped anywhere.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "model/units.h"
#include "zone/zone_allocation.h"

namespace zenfs {

class ZoneManager;

// Prevents the reset of a zone while somebody may read it or a commit in flight names it. Examples: the extents
// of an open file, and data that is written but not committed. Each copy counts as one more pin.
class ZonePin {
 public:
  ZonePin() = default;
  ZonePin(const ZonePin& other);
  ZonePin(ZonePin&& other) noexcept;
  ZonePin& operator=(ZonePin other) noexcept;
  ~ZonePin();
  bool valid() const { return zones_ != nullptr; }
  ZoneId zone() const { return zone_; }

 private:
  friend class ZoneManager;
  friend class ZoneWriter;
  // The pin is counted already.
  ZonePin(ZoneManager* zones, ZoneId zone) : zones_(zones), zone_(zone) {}
  ZoneManager* zones_ = nullptr;
  ZoneId zone_;
};

// A file's preference for the zone that it wrote last. Other files avoid a claimed zone while slots are free,
// but a claim never blocks them. The destructor releases the claim. For one thread at a time.
class ZoneClaim {
 public:
  ZoneClaim() = default;
  ZoneClaim(ZoneClaim&& other) noexcept;
  ZoneClaim& operator=(ZoneClaim&& other) noexcept;
  ~ZoneClaim();

  // Returns the promised room (ZoneManager::AllocateData) that the caller will not use.
  void ReleasePromise();
  // Takes over the promised room of another claim of the same file.
  void MovePromiseFrom(ZoneClaim& other);

 private:
  friend class ZoneManager;
  ZoneManager* zones_ = nullptr;
  ClaimState held_;
};

// The exclusive right to write one zone, with an open slot. It is held for one write, not while a file is open,
// so any number of files can share any number of zones.
class ZoneWriter {
 public:
  ZoneWriter() = default;
  ZoneWriter(ZoneWriter&& other) noexcept;
  ZoneWriter& operator=(ZoneWriter&& other) noexcept;
  ~ZoneWriter();

  ZoneId zone() const { return zone_; }
  // Bytes that can still be written; at least one block after AllocateData.
  std::uint64_t room() const { return room_; }

  // Writes the pieces at the write pointer and returns their place with a pin on the zone. Each piece is a
  // multiple of the block size; their sum is at most room(). The writer can be used again while room() > 0.
  // Errors; discard the data of this write after each of them:
  //   kZoneFull: the device made the zone full; use another zone.
  //   kBusy: the device has no free slot for this zone, because other users share its limits. Nothing was
  //     written, and the zone stays usable.
  //   kInvalidArgument: the sizes of the pieces are wrong; nothing was sent to the device.
  //   all others: the zone is retired.
  // After every error but kInvalidArgument room() is 0.
  struct Placed {
    DeviceOffset place;
    ZonePin pin;
  };
  [[nodiscard]] Result<Placed> Write(std::span<const ByteView> pieces);
  // A write in two steps, for writes of several zones in one queue. Begin fills `request`, which the caller submits; End takes its
  // outcome once it is reaped. Errors of End: those of Write.
  [[nodiscard]] Status Begin(ByteView bytes, IoRequest& request) const;
  [[nodiscard]] Result<Placed> End(IoRequest& request);
  // Writes the `length` bytes at `from` by a copy inside the device. Further error: kNotSupported: the device did not take the
  // copy. Nothing was written, the zone stays usable, and so does the writer.
  [[nodiscard]] Result<Placed> Copy(DeviceOffset from, std::uint64_t length);

 private:
  friend class ZoneManager;
  Status CheckRequest(std::uint64_t length, std::uint64_t all_sizes) const;
  Placed Wrote(std::uint64_t length);
  bool RefusedCopy(const Error& error) const;
  Error WriteFailed(Error error, std::uint64_t length);
  void Release();
  ZoneManager* zones_ = nullptr;
  ZoneId zone_;
  DeviceOffset place_;  // the write pointer
  std::uint64_t room_ = 0;
};

}  // namespace zenfs
