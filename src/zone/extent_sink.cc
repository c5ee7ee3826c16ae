#include "zone/extent_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

namespace zenfs {
namespace {

// Limit of failed zones per write: after that the device is broken, and further attempts would retire all zones.
constexpr int kZonesTried = 3;
// Limit of zones per write that the device makes full before they take data: further attempts would only cause wear.
constexpr int kZonesEnded = 32;
constexpr std::chrono::milliseconds kBusyPause{5};

// The first `length` bytes of `pieces`.
std::vector<ByteView> FirstBytes(std::span<const ByteView> pieces, std::uint64_t length) {
  std::vector<ByteView> front;
  for (const ByteView piece : pieces) {
    if (length == 0) break;
    if (piece.empty()) continue;
    front.push_back(piece.first(std::min<std::uint64_t>(piece.size(), length)));
    length -= front.back().size();
  }
  return front;
}

class ZoneExtentSink : public ExtentSink {
 public:
  ZoneExtentSink(ZoneManager& zones, WritePurpose purpose) : zones_(zones), purpose_(purpose) {}

  Result<Placed> Write(SinkCursor& cursor, Lifetime lifetime, std::span<const ByteView> pieces,
                       Deadline deadline) override {
    std::uint64_t total = 0;
    for (const ByteView piece : pieces) total += piece.size();
    return Place(cursor, lifetime, total, deadline, [&](ZoneWriter& writer, std::uint64_t length) {
      return writer.Write(FirstBytes(pieces, length));
    });
  }

  Result<Placed> Copy(SinkCursor& cursor, Lifetime lifetime, DeviceOffset from, std::uint64_t length,
                      Deadline deadline) override {
    return Place(cursor, lifetime, length, deadline,
                 [&](ZoneWriter& writer, std::uint64_t front) { return writer.Copy(from, front); });
  }

 private:
  // Writes the front of `total` bytes, whose length it is told.
  using Send = std::function<Result<ZoneWriter::Placed>(ZoneWriter& writer, std::uint64_t length)>;

  Result<Placed> Place(SinkCursor& cursor, Lifetime lifetime, std::uint64_t total, Deadline deadline,
                       const Send& send) {
    Result<Placed> placed = PlacePromised(cursor, lifetime, total, deadline, send);
    if (!placed) cursor.claim.TakeBackPromise();
    return placed;
  }

  Result<Placed> PlacePromised(SinkCursor& cursor, Lifetime lifetime, std::uint64_t total, Deadline deadline,
                               const Send& send) {
    std::optional<Error> failure;  // the device's first error, more useful than a later "no space"
    int ended = 0;
    for (int failed = 0; failed < kZonesTried;) {
      auto writer = zones_.AcquireData(cursor.claim, lifetime, deadline, purpose_, total);
      if (!writer) return Fail(failure ? std::move(*failure) : std::move(writer).error());
      const std::uint64_t length = std::min(total, writer->room());
      auto placed = send(*writer, length);
      if (placed) return Placed{placed->place, length, std::move(placed->pin)};
      switch (placed.error().code()) {
        case Code::kZoneFull: {
          if (++ended < kZonesEnded) break;
          return Fail(Code::kIo,
                      fmt::format("the device made {} zones in a row full before they took a write; {}",
                                  ended, placed.error().text()));
        }
        case Code::kBusy: {
          if (deadline.Passed()) return Fail(std::move(placed).error());
          *writer = ZoneWriter();  // lets other files write the zone during the pause
          SleepUntil(std::min(deadline.when(), SteadyNow() + kBusyPause));
          break;
        }
        case Code::kInvalidArgument:
        case Code::kNotSupported: return Fail(std::move(placed).error());
        default:
          ++failed;
          // A code such as kReadOnly describes the zone; the caller would apply it to the volume.
          if (!failure) failure = placed.error().As(Code::kIo);
      }
    }
    return Fail(std::move(*failure));
  }

  ZoneManager& zones_;
  const WritePurpose purpose_;
};

}  // namespace

Result<ExtentSink::Placed> ExtentSink::Copy(SinkCursor&, Lifetime, DeviceOffset, std::uint64_t, Deadline) {
  return Fail(Code::kNotSupported, "these bytes are not copied inside the device");
}

std::unique_ptr<ExtentSink> MakeZoneExtentSink(ZoneManager& zones, WritePurpose purpose) {
  return std::make_unique<ZoneExtentSink>(zones, purpose);
}

}  // namespace zenfs
