#include "zone/extent_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "zone/spread.h"

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

std::uint64_t SizeOf(std::span<const ByteView> pieces) {
  std::uint64_t size = 0;
  for (const ByteView piece : pieces) size += piece.size();
  return size;
}

constexpr std::uint64_t kNoLimit = ZonePool::kNoLimit;

}  // namespace

ExtentSink::ExtentSink(ZoneManager& zones, WritePurpose purpose, std::uint32_t spread,
                       std::atomic<std::uint64_t>* written)
    : zones_(zones),
      purpose_(purpose),
      spread_(spread),
      written_(written),
      unit_(spread == 1 ? kNoLimit : SpreadUnit(zones.device().geometry())) {
  ZENFS_ASSERT(spread >= 1);
}

Result<ExtentSink::Placed> ExtentSink::Write(SinkCursor& cursor, Lifetime lifetime,
                                             std::span<const ByteView> pieces, Deadline deadline) {
  return WriteOne(cursor, lifetime, pieces, kNoLimit, deadline);
}

Result<std::vector<ExtentSink::Placed>> ExtentSink::WriteSpread(SinkCursor& cursor, Lifetime lifetime,
                                                                std::span<const ByteView> pieces,
                                                                Deadline deadline) {
  ZENFS_ASSIGN_OR_RETURN(std::vector<Placed> placed, WriteAtOnce(cursor, lifetime, pieces, deadline));
  if (!placed.empty()) return placed;
  // One zone, or the first part failed: its bytes go to another zone.
  ZENFS_ASSIGN_OR_RETURN(Placed one, WriteOne(cursor, lifetime, pieces, LeftInUnit(cursor), deadline));
  placed.push_back(std::move(one));
  return placed;
}

Result<ExtentSink::Placed> ExtentSink::Copy(SinkCursor& cursor, Lifetime lifetime, DeviceOffset from,
                                            std::uint64_t length, Deadline deadline) {
  return Place(cursor, lifetime, length, kNoLimit, deadline,
               [&](ZoneWriter& writer, std::uint64_t front) { return writer.Copy(from, front); });
}

ZoneClaim& ExtentSink::Claim(SinkCursor& cursor) const {
  if (cursor.claims.empty()) cursor.claims.resize(spread_);
  return cursor.claims[cursor.current];
}

void ExtentSink::Advance(SinkCursor& cursor, std::uint64_t written) const {
  if (written_ != nullptr) written_->fetch_add(written, std::memory_order_relaxed);
  cursor.in_unit += written;
  if (cursor.in_unit < unit_) return;
  cursor.in_unit = 0;
  ZoneClaim& last = Claim(cursor);
  cursor.current = (cursor.current + 1) % spread_;
  Claim(cursor).MovePromiseFrom(last);
}

Result<ExtentSink::Placed> ExtentSink::WriteOne(SinkCursor& cursor, Lifetime lifetime,
                                                std::span<const ByteView> pieces, std::uint64_t longest,
                                                Deadline deadline) {
  return Place(
      cursor, lifetime, SizeOf(pieces), longest, deadline,
      [&](ZoneWriter& writer, std::uint64_t length) { return writer.Write(FirstBytes(pieces, length)); });
}

Result<std::vector<ExtentSink::Placed>> ExtentSink::WriteAtOnce(SinkCursor& cursor, Lifetime lifetime,
                                                                std::span<const ByteView> pieces,
                                                                Deadline deadline) {
  std::vector<Placed> placed;
  const auto piece = std::ranges::find_if(pieces, [](ByteView view) { return !view.empty(); });
  if (cursor.failed || piece == pieces.end() || piece->size() <= LeftInUnit(cursor)) return placed;
  std::size_t promised = cursor.current;  // the claim that has the promise
  Result<std::vector<Part>> begun = BeginParts(cursor, lifetime, *piece, SizeOf(pieces), deadline, promised);
  if (!begun) {
    Claim(cursor).ReleasePromise();
    return Fail(std::move(begun).error());
  }
  std::vector<Part> parts = *std::move(begun);
  if (parts.size() > 1) {
    const std::unique_ptr<IoQueue> queue = zones_.device().CreateQueue(parts.size());
    for (Part& part : parts) queue->Submit(&part.request);
    std::vector<IoRequest*> done;
    queue->Reap(parts.size(), done);
    EndParts(cursor, parts, placed);
  }
  Claim(cursor).MovePromiseFrom(cursor.claims[promised]);
  return placed;
}

Result<std::vector<ExtentSink::Part>> ExtentSink::BeginParts(SinkCursor& cursor, Lifetime lifetime,
                                                             ByteView bytes, std::uint64_t total,
                                                             Deadline deadline, std::size_t& promised) {
  std::vector<Part> parts;
  std::uint64_t length = LeftInUnit(cursor);
  ZENFS_ASSIGN_OR_RETURN(ZoneWriter writer,
                         zones_.AllocateData(Claim(cursor), lifetime, deadline, purpose_, total, length));
  while (writer.room() >= length) {
    Part& part = parts.emplace_back(std::move(writer));
    // Cannot fail: whole blocks, for which there is room.
    const Status begun = part.writer.Begin(bytes.first(length), part.request);
    ZENFS_ASSERT(begun.ok());
    bytes = bytes.subspan(length);
    if (bytes.empty() || parts.size() == spread_) break;
    ZoneClaim& last = cursor.claims[promised];
    promised = (promised + 1) % spread_;
    cursor.claims[promised].MovePromiseFrom(last);
    length = std::min<std::uint64_t>(unit_, bytes.size());
    writer = zones_.TryAllocateData(cursor.claims[promised], lifetime, purpose_, length);
  }
  return parts;
}

void ExtentSink::EndParts(SinkCursor& cursor, std::vector<Part>& parts, std::vector<Placed>& placed) const {
  bool all = true;
  for (Part& part : parts) {
    const std::uint64_t length = part.request.write_from.size();
    auto written = part.writer.End(part.request);
    if (!written) {
      const Code code = written.error().code();
      cursor.failed |= code != Code::kBusy && code != Code::kZoneFull;
      all = false;
    } else if (all) {
      Advance(cursor, length);
      placed.push_back({written->place, length, std::move(written->pin)});
    }
  }
}

Result<ExtentSink::Placed> ExtentSink::Place(SinkCursor& cursor, Lifetime lifetime, std::uint64_t total,
                                             std::uint64_t longest, Deadline deadline, const Send& send) {
  Result<Placed> placed = PlacePromised(cursor, lifetime, total, longest, deadline, send);
  if (!placed) Claim(cursor).ReleasePromise();
  if (placed) Advance(cursor, placed->length);
  return placed;
}

Result<ExtentSink::Placed> ExtentSink::PlacePromised(SinkCursor& cursor, Lifetime lifetime,
                                                     std::uint64_t total, std::uint64_t longest,
                                                     Deadline deadline, const Send& send) {
  std::optional<Error> failure;  // the device's first error, more useful than a later "no space"
  int ended = 0;
  for (int failed = 0; failed < kZonesTried;) {
    auto writer = zones_.AllocateData(Claim(cursor), lifetime, deadline, purpose_, total, longest);
    if (!writer) return Fail(failure ? std::move(*failure) : std::move(writer).error());
    const std::uint64_t length = std::min(total, writer->room());
    auto placed = send(*writer, length);
    if (placed) return Placed{placed->place, length, std::move(placed->pin)};
    switch (placed.error().code()) {
      case Code::kZoneFull: {
        if (++ended < kZonesEnded) break;
        return Fail(Code::kIo,
                    fmt::format("the device made {} zones in a row full before they took a write; {}", ended,
                                placed.error().text()));
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

}  // namespace zenfs
