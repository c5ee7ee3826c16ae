#include "metalog/zone_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "backends/emulator/emulator.h"
#include "base/random.h"
#include "testing/device_data.h"
#include "testing/read_counter.h"

namespace zenfs::zone_reader_test {
namespace {

constexpr std::uint64_t kBlock = 4096;
constexpr std::uint64_t kZoneBytes = 24 << 20;
constexpr FrameSeed kSeed{77};
constexpr ZoneId kZone{1};

class ZoneReaderTest : public testing::Test {
 protected:
  ZoneReaderTest()
      : memory_(CreateMemoryDevice({.zones = 2,
                                    .zone_size = kZoneBytes,
                                    .zone_capacity = kZoneBytes,
                                    .max_open = 2,
                                    .max_active = 2})),
        device_(*memory_),
        bytes_(Pattern(kZoneBytes, 5)) {}

  // A frame at `at`, valid for kSeed if its CRC is right. Frames further on must be there already if they are in its payload.
  void Put(std::uint64_t at, std::uint64_t payload, bool valid) {
    const FrameHeader header{.payload_bytes = static_cast<std::uint32_t>(payload)};
    if (valid) {
      SealFrame(bytes_.Span().subspan(at, kFrameHeaderBytes + payload), header, kSeed);
    } else {
      std::memcpy(bytes_.Span().data() + at, &header, sizeof header);
    }
  }
  static bool IsValidAt(std::uint64_t at) { return at / kBlock % 101 == 7; }
  void WriteZone() { ASSERT_TRUE(memory_->Write(memory_->geometry().ZoneStart(kZone), bytes_.View()).ok()); }
  ParsedFrame Expected(std::uint64_t at) const {
    return ParseFrame(bytes_.View(at, kZoneBytes - at), kSeed, kBlock, kZoneBytes - at);
  }

  std::unique_ptr<EmulatorDevice> memory_;
  ReadCounter device_;
  AlignedBuffer bytes_;
};

TEST_F(ZoneReaderTest, FramesInsideOfFramesAreWhatTheirBytesSay) {
  Random random(1);
  for (std::uint64_t at = kZoneBytes; at > 0;) {
    at -= kBlock;
    if (random.Below(3) == 0) continue;
    const std::uint64_t most = std::min({kZoneBytes - at - kFrameHeaderBytes, std::uint64_t{kMaxFramePayload},
                                         std::uint64_t{1} << (8 + random.Below(17))});
    Put(at, random.Below(most + 1), random.Below(2) == 0);
  }
  WriteZone();
  ZoneReader reader(device_, kZone, kZoneBytes);
  for (std::uint64_t at = 0; at < kZoneBytes; at += kBlock * (1 + random.Below(3))) {
    const ParsedFrame expected = Expected(at);
    const ParsedFrame frame = reader.FrameAt(at, kSeed);
    ASSERT_EQ(frame.verdict, expected.verdict) << at;
    if (expected.verdict != FrameVerdict::kNotAFrame) {
      EXPECT_EQ(frame.header, expected.header) << at;
    }
  }
}

// Each block claims the 16 MiB behind it, and is believed or not. 6,144 blocks would read 70 GiB.
TEST_F(ZoneReaderTest, BytesThatEachBlockClaimsAreNotReadForEach) {
  for (std::uint64_t at = kZoneBytes; at > 0;) {
    at -= kBlock;
    Put(at, std::min<std::uint64_t>(kMaxFramePayload, kZoneBytes - at - kFrameHeaderBytes), IsValidAt(at));
  }
  WriteZone();
  ZoneReader reader(device_, kZone, kZoneBytes);
  for (std::uint64_t at = 0; at < kZoneBytes; at += kBlock) {
    EXPECT_EQ(reader.FrameAt(at, kSeed).valid(), IsValidAt(at)) << at;
  }
  EXPECT_LE(device_.bytes_read, 3 * kZoneBytes)
      << "by the reader, for the CRCs, and a block for the end of each claim";
}

}  // namespace
}  // namespace zenfs::zone_reader_test
