// Seeds of the target buffer_area.
#include <fmt/format.h>

#include "buffer_area_input.h"
#include "format/buffer_area_layout.h"
#include "input.h"
#include "metrics/metrics.h"
#include "seeds.h"

namespace zenfs {
namespace {

std::string Slot(std::uint8_t flags, std::uint64_t owner, std::uint64_t offset, std::string_view bytes,
                 std::uint8_t record_bytes = 0) {
  std::string out;
  PutRaw(out, flags);
  PutRaw(out, owner);
  PutRaw(out, offset);
  if ((flags & kHasRecord) != 0) PutRaw(out, record_bytes);
  PutRaw(out, static_cast<std::uint32_t>(bytes.size()));
  PutRaw(out, std::uint32_t{0});
  PutRaw(out, static_cast<std::uint16_t>(bytes.size()));
  out += bytes;
  return out;
}

// The tail of a plain file: 4096 bytes in an extent, and some after it.
std::string Tail(std::uint64_t order) {
  const Extent extent{.file_offset = 0, .place = DeviceOffset(1 << 20), .length = 4096, .crc = 7};
  const std::string record = EncodeTailRecord(
      {.order = order,
       .uncommitted = SetExtents{.id = FileId(2), .from_offset = 0, .extents = {extent}, .size = 4096}});
  return Slot(kHasRecord, 2, 4096, record + "flushed", static_cast<std::uint8_t>(record.size()));
}

std::string Area(std::uint8_t flags, std::uint32_t slots, bool metrics, std::uint64_t epoch = 0) {
  BufferAreaHeader header{};
  header.slots = slots;
  header.epoch = epoch;
  header.metrics_bytes = metrics ? 1 : 0;
  std::string out;
  PutRaw(out, flags);
  PutRaw(out, std::uint16_t{1024});
  PutRaw(out, header);
  return out;
}

// A page as the library makes it.
std::string MetricsPageText() {
  Metrics metrics;
  metrics.Set(Value::kEpoch, 7);
  {
    Meter meter(metrics, Operation::kLogSwitch);
  }
  return std::string(AsText(metrics.page())).substr(0, 3000);
}

}  // namespace

void WriteBufferAreaSeeds(SeedWriter& writer) {
  writer.Write("buffer_area", "empty", Area(0, 2, false));
  writer.Write(
      "buffer_area", "two-files",
      Area(0, 3, false) + Slot(0, 2, 100, "flushed") + Slot(0, 1, 0, "bytes") + Slot(0, 2, 107, "more"));
  writer.Write("buffer_area", "tails", Area(0, 3, false) + Tail(1) + Tail(2) + Slot(0, 1, 0, "bytes"));
  writer.Write("buffer_area", "wrong-crc", Area(0, 1, false) + Slot(kCrcAsItIs, 2, 100, "flushed"));
  writer.Write("buffer_area", "too-long",
               Area(0, 1, false) + Slot(kLengthAsItIs | kCrcAsItIs, 2, 1, "flushed"));
  writer.Write("buffer_area", "other-mount", Area(kOtherEpoch, 1, false) + Slot(0, 2, 100, "flushed"));
  // An old finding: the other mount had the same number as ours.
  writer.Write("buffer_area", "other-mount-of-our-number",
               Area(kOtherEpoch, 1, false, kBufferAreaEpoch) + Slot(0, 2, 100, "flushed"));
  writer.Write("buffer_area", "copied-device", Area(kOtherDevice, 1, false) + Slot(0, 2, 100, "flushed"));
  writer.Write("buffer_area", "forged", Area(kOtherKey, 1, false) + Slot(0, 2, 100, "flushed"));
  writer.Write("buffer_area", "other-user", Area(kOtherUser, 1, false) + Slot(0, 2, 100, "flushed"));
  writer.Write("buffer_area", "metrics", Area(0, 0, true) + MetricsPageText());
  writer.Write("buffer_area", "as-it-is", Area(kHeaderAsItIs, 1, false));
  writer.Write("buffer_area", "layout", Area(kLayoutAsItIs, 1, false));
  writer.Write("buffer_area", "torn", Area(kWrongSize, 1, false));
}

}  // namespace zenfs
