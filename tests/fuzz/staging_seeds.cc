// Seeds of the target staging.
#include <fmt/format.h>

#include "format/staging_layout.h"
#include "input.h"
#include "metrics/metrics.h"
#include "seeds.h"
#include "staging_input.h"

namespace zenfs {
namespace {

std::string Slot(std::uint8_t flags, std::uint64_t owner, std::uint64_t offset, std::string_view bytes) {
  std::string out;
  PutRaw(out, flags);
  PutRaw(out, owner);
  PutRaw(out, offset);
  PutRaw(out, static_cast<std::uint32_t>(bytes.size()));
  PutRaw(out, std::uint32_t{0});
  PutRaw(out, static_cast<std::uint16_t>(bytes.size()));
  out += bytes;
  return out;
}

std::string Area(std::uint8_t flags, std::uint32_t slots, bool metrics, std::uint64_t epoch = 0) {
  StagingHeader header{};
  header.slots = slots;
  header.epoch = epoch;
  header.metrics_bytes = metrics ? 1 : 0;
  std::string out;
  PutRaw(out, flags);
  PutRaw(out, std::uint16_t{1024});
  PutRaw(out, header);
  return out;
}

// As the library makes one.
std::string MetricsPageText() {
  Metrics metrics;
  metrics.Set(Value::kEpoch, 7);
  {
    Meter meter(metrics, Operation::kRoll);
  }
  return std::string(AsText(metrics.page())).substr(0, 3000);
}

}  // namespace

void WriteStagingSeeds(SeedWriter& writer) {
  writer.Write("staging", "empty", Area(0, 2, false));
  writer.Write(
      "staging", "two-files",
      Area(0, 3, false) + Slot(0, 2, 100, "flushed") + Slot(0, 1, 0, "bytes") + Slot(0, 2, 107, "more"));
  writer.Write("staging", "wrong-crc", Area(0, 1, false) + Slot(kCrcAsItIs, 2, 100, "flushed"));
  writer.Write("staging", "too-long", Area(0, 1, false) + Slot(kLengthAsItIs | kCrcAsItIs, 2, 1, "flushed"));
  writer.Write("staging", "other-mount", Area(kOtherEpoch, 1, false) + Slot(0, 2, 100, "flushed"));
  // Found by chance once: the other mount had the number of ours.
  writer.Write("staging", "other-mount-of-our-number",
               Area(kOtherEpoch, 1, false, kStagingEpoch) + Slot(0, 2, 100, "flushed"));
  writer.Write("staging", "copied-device", Area(kOtherDevice, 1, false) + Slot(0, 2, 100, "flushed"));
  writer.Write("staging", "metrics", Area(0, 0, true) + MetricsPageText());
  writer.Write("staging", "as-it-is", Area(kHeaderAsItIs, 1, false));
  writer.Write("staging", "layout", Area(kLayoutAsItIs, 1, false));
  writer.Write("staging", "torn", Area(kWrongSize, 1, false));
}

}  // namespace zenfs
