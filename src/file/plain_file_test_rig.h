// Test rig: a plain file on a small device. Sync plays the volume: it commits and counts live bytes.
#pragma once

#include <string>

#include "file/plain_file.h"
#include "zone/zone_test_rig.h"

namespace zenfs {

class PlainFileRig {
 public:
  explicit PlainFileRig(std::uint32_t zones = 32, std::uint64_t blocks_a_zone = 16,
                        std::uint64_t buffer_bytes = 8 * kTestBlock, std::uint32_t spread = 1)
      : zone_rig(TestGeometry(zones, blocks_a_zone)), buffer_bytes_(buffer_bytes) {
    zone_rig.Mount(0, 0, spread);
    Reopen();
  }

  // Closes and opens the file, which then has the committed content.
  void Reopen() {
    file.reset();
    file = std::make_unique<PlainFile>(PlainDeps(), committed, committed_size, Lifetime::kMedium);
  }
  PlainFile::Deps PlainDeps() {
    return {.device = &zone_rig.device,
            .reads = &reads,
            .zones = zone_rig.zones.get(),
            .sink = zone_rig.sink.get(),
            .buffer_bytes = buffer_bytes_};
  }

  // A sync, as OpenPlainFile does it. If `lose`, the commit fails.
  Status Sync(bool lose = false) {
    MutexLock lock(sync_mutex_);
    ZENFS_ASSIGN_OR_RETURN(PlainFile::Drained drained, file->Drain());
    if (!drained.changed) return {};
    EXPECT_EQ(drained.from_offset % kTestBlock, 0U);
    EXPECT_LE(drained.from_offset, committed_size);
    EXPECT_EQ(drained.extents.empty(), drained.from_offset == drained.size);
    if (lose) return Fail(Code::kIo, "the commit failed on purpose");
    std::vector<Extent> kept = ClipExtents(committed, 0, drained.from_offset);
    std::vector<Extent> lost = ClipExtents(committed, drained.from_offset, committed_size);
    for (const Extent& extent : drained.extents) {
      EXPECT_EQ(extent.file_offset, ExtentsEnd(kept)) << "a gap or an overlap";
      EXPECT_EQ(extent.file_offset % kTestBlock, 0U);
      EXPECT_EQ(extent.place.value % kTestBlock, 0U);
      kept.push_back(extent);
    }
    EXPECT_EQ(ExtentsEnd(kept), drained.size);
    zone_rig.zones->AddLive(drained.extents);
    zone_rig.zones->RemoveLive(lost);
    committed = std::move(kept);
    committed_size = drained.size;
    file->MarkCommitted(drained);
    return {};
  }

  // Moves the committed bytes like reclaim, into two extents that are divided at file offset `divided`. Does not call
  // TryReplaceCommitted.
  std::vector<Extent> Move(std::uint64_t divided) {
    std::vector<Extent> moved;
    std::vector<ZonePin> pins;  // until AddLive
    for (const auto& [from, to] : {std::pair{std::uint64_t{0}, divided}, {divided, committed_size}}) {
      AlignedBuffer bytes(RoundUp(to - from, kTestBlock));
      bytes.Resize(to - from);
      EXPECT_TRUE(ReadExtents(zone_rig.device, committed, from, bytes.Span()).ok());
      const std::uint32_t crc = Crc32c(bytes.View());
      bytes.PadTo(kTestBlock);
      const ByteView piece = bytes.View();
      SinkCursor cursor;
      auto placed = zone_rig.sink->Write(cursor, Lifetime::kLong, std::span(&piece, 1), ZoneTestRig::Soon());
      EXPECT_TRUE(placed && placed->length == piece.size()) << "zones are too small for this test";
      if (!placed) return committed;
      moved.push_back({from, placed->place, to - from, crc});
      pins.push_back(std::move(placed->pin));
    }
    zone_rig.zones->AddLive(moved);
    zone_rig.zones->RemoveLive(committed);
    return committed = moved;
  }

  std::string Read(std::uint64_t offset, std::size_t length) const {
    std::string text(length, '?');
    auto got = file->Read(offset, std::as_writable_bytes(std::span(text)));
    EXPECT_TRUE(got) << got.error().text();
    text.resize(got.value_or(0));
    return text;
  }
  std::string ReadAll() const { return Read(0, file->size() + 10); }

  // The number of committed bytes with a checksum, and whether all checksums are correct.
  struct Sums {
    std::uint64_t known = 0;
    bool right = true;
  };
  Sums CheckSums() {
    Sums sums;
    for (const Extent& extent : committed) {
      if (!extent.crc) continue;
      sums.known += extent.length;
      std::string text(extent.length, '?');
      EXPECT_TRUE(ReadExtents(zone_rig.device, std::span(&extent, 1), extent.file_offset,
                              std::as_writable_bytes(std::span(text)))
                      .ok());
      sums.right = sums.right && Crc32c(AsBytes(text)) == *extent.crc;
    }
    return sums;
  }

  ZoneTestRig zone_rig;
  ReadPool reads{zone_rig.device};
  std::vector<Extent> committed;
  std::uint64_t committed_size = 0;
  std::unique_ptr<PlainFile> file;

 private:
  Mutex sync_mutex_;  // stands for the catalog's locks
  const std::uint64_t buffer_bytes_;
};

// Returns `length` letters that depend on the position and on `seed`.
inline std::string Pattern(std::size_t length, std::uint64_t seed) {
  std::string text(length, '\0');
  for (std::size_t i = 0; i < length; ++i)
    text[i] = static_cast<char>('a' + (i * 7 + i / 251 + seed * 13) % 26);
  return text;
}

}  // namespace zenfs
