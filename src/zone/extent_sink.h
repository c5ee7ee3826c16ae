// Writes the blocks of plain files to data zones: finds zones, tries again with others, spreads large writes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "zone/zone_manager.h"

namespace zenfs {

// A sink's state for one file between two writes. For one thread at a time.
struct SinkCursor {
  std::vector<ZoneClaim> claims;  // one for each zone that the file is spread over (zone/spread.h)
  std::size_t current = 0;        // of `claims`: where the next write goes
  std::uint64_t in_unit = 0;      // bytes that went there in this turn
  bool failed = false;            // a write to several zones at once: one zone at a time from now on
};

class ExtentSink {
 public:
  struct Placed {
    DeviceOffset place;
    std::uint64_t length = 0;  // bytes written: a multiple of the block size, maybe less than requested
    ZonePin pin;
  };

  // `zones` outlives the sink. `spread`: over how many zones a file is spread, at least 1. `written`, if not null, outlives the sink
  // and counts the bytes that it places.
  explicit ExtentSink(ZoneManager& zones, WritePurpose purpose = WritePurpose::kData,
                      std::uint32_t spread = 1, std::atomic<std::uint64_t>* written = nullptr);

  // Writes the front of `pieces` to one zone, as much as fits and at least one block. If a zone is ended early or
  // fails, tries again with another zone, a limited number of times. After an error, discard the data of this write.
  // Thread-safe. Errors: those of ZoneManager::AllocateData and ZoneWriter::Write; kIo if too many zones failed.
  [[nodiscard]] Result<Placed> Write(SinkCursor& cursor, Lifetime lifetime, std::span<const ByteView> pieces,
                                     Deadline deadline);
  // The same for the front of `pieces`, which may go to several zones at once: the parts in the order of their bytes. At least one.
  [[nodiscard]] Result<std::vector<Placed>> WriteSpread(SinkCursor& cursor, Lifetime lifetime,
                                                        std::span<const ByteView> pieces, Deadline deadline);
  // The same as Write for the `length` bytes at `from` on the device, by copies inside the device. Further error: kNotSupported: the
  // device did not take it, and nothing was written.
  [[nodiscard]] Result<Placed> Copy(SinkCursor& cursor, Lifetime lifetime, DeviceOffset from,
                                    std::uint64_t length, Deadline deadline);

 private:
  // Writes the front of `total` bytes, whose length it is told.
  using Send = std::function<Result<ZoneWriter::Placed>(ZoneWriter& writer, std::uint64_t length)>;
  // A part of a write, for one zone.
  struct Part {
    explicit Part(ZoneWriter part_writer) : writer(std::move(part_writer)) {}

    ZoneWriter writer;
    IoRequest request;
  };

  ZoneClaim& Claim(SinkCursor& cursor) const;
  // The next turn begins after this many bytes.
  std::uint64_t LeftInUnit(const SinkCursor& cursor) const { return unit_ - cursor.in_unit; }
  // Bytes were placed. The promised room goes with the turn.
  void Advance(SinkCursor& cursor, std::uint64_t written) const;
  Result<Placed> WriteOne(SinkCursor& cursor, Lifetime lifetime, std::span<const ByteView> pieces,
                          std::uint64_t longest, Deadline deadline);
  // Writes the front of the first piece to several zones at once. Returns nothing if it can be written to one only, or if that
  // write failed; then nothing is placed. What was written behind a part that failed is garbage.
  Result<std::vector<Placed>> WriteAtOnce(SinkCursor& cursor, Lifetime lifetime,
                                          std::span<const ByteView> pieces, Deadline deadline);
  // The writers of the next turns, the first of which waits for a zone and for room for all `total` bytes. The others get what
  // there is, so that nobody waits while it holds a writer.
  Result<std::vector<Part>> BeginParts(SinkCursor& cursor, Lifetime lifetime, ByteView bytes,
                                       std::uint64_t total, Deadline deadline, std::size_t& promised);
  // Appends what counts to `placed`: the parts in front of the first one that failed.
  void EndParts(SinkCursor& cursor, std::vector<Part>& parts, std::vector<Placed>& placed) const;
  Result<Placed> Place(SinkCursor& cursor, Lifetime lifetime, std::uint64_t total, std::uint64_t longest,
                       Deadline deadline, const Send& send);
  Result<Placed> PlacePromised(SinkCursor& cursor, Lifetime lifetime, std::uint64_t total,
                               std::uint64_t longest, Deadline deadline, const Send& send);

  ZoneManager& zones_;
  const WritePurpose purpose_;
  const std::uint32_t spread_;
  std::atomic<std::uint64_t>* const written_;
  const std::uint64_t unit_;  // of a turn, which never ends if there is one zone
};

}  // namespace zenfs
