// Random operations on a plain file and on a std::string: both have the same content.
#include <rapidcheck.h>

#include "file/plain_file_test_rig.h"

namespace zenfs {
namespace {

class ModelRun {
 public:
  // `spread`: over how many zones the file is spread.
  explicit ModelRun(std::uint32_t spread) : rig_(64, 8, 4 * kTestBlock, spread) {}

  void Step() {
    switch (*rc::gen::inRange(0, 12)) {
      case 0: return Reopen();
      case 1: return Sync(false);
      case 2: return Sync(true);
      case 3: return Truncate();
      case 4: return RewriteTail();
      case 5: RC_ASSERT(rig_.file->WriteBack().ok()); return;
      case 6: return AppendAligned();
      case 7: rig_.file->EndWriting(); return;
      case 8: return ReadMany();
      case 9: return AppendWithChecksum();
      default: return Append();
    }
  }
  void Check() {
    RC_ASSERT(rig_.file->size() == content_.size());
    RC_ASSERT(rig_.ReadAll() == content_);
    const auto offset = *rc::gen::inRange<std::uint64_t>(0, content_.size() + 2);
    const auto length = *rc::gen::inRange<std::size_t>(0, 3 * kTestBlock);
    RC_ASSERT(rig_.Read(offset, length) ==
              content_.substr(std::min<std::size_t>(offset, content_.size()), length));
    std::uint64_t live = RoundUp(rig_.committed_size, kTestBlock);
    RC_ASSERT(rig_.zone_rig.zones->Space().live == live);
    const PlainFileRig::Sums sums = rig_.CheckSums();
    RC_ASSERT(sums.right);
    RC_ASSERT(sums.known == rig_.committed_size);
  }
  void Finish() {
    Sync(false);
    Reopen();
    Check();
    rig_.file.reset();
    rig_.zone_rig.zones->RemoveLive(rig_.committed);
    RC_ASSERT(rig_.zone_rig.zones->DrainResets(ZoneTestRig::Soon()).ok());
    RC_ASSERT(rig_.zone_rig.zones->Check() == std::vector<std::string>{});
    RC_ASSERT(rig_.zone_rig.zones->Space().free == 64 * 8 * kTestBlock);
  }

 private:
  std::string Some(std::size_t limit) {
    return Pattern(*rc::gen::inRange<std::size_t>(0, limit), *rc::gen::inRange<std::uint64_t>(0, 1000));
  }
  void Append() {
    const std::string bytes = Some(*rc::gen::element<std::size_t>(10, 5000, 12 * kTestBlock));
    RC_ASSERT(rig_.file->Append(AsBytes(bytes)).ok());
    content_ += bytes;
  }
  void AppendWithChecksum() {
    const std::string bytes = Some(*rc::gen::element<std::size_t>(10, 5000, 12 * kTestBlock));
    const std::uint32_t crc = Crc32c(AsBytes(bytes));
    RC_ASSERT(!rig_.file->Append(AsBytes(bytes), crc ^ 1).ok());
    RC_ASSERT(rig_.file->size() == content_.size());
    RC_ASSERT(rig_.file->Append(AsBytes(bytes), crc).ok());
    content_ += bytes;
  }
  void AppendAligned() {
    const std::string bytes = Some(20 * kTestBlock);
    AlignedBuffer buffer(bytes.size() + 1);
    buffer.Append(AsBytes(bytes));
    RC_ASSERT(rig_.file->PositionedAppend(buffer.View(), content_.size()).ok());
    content_ += bytes;
  }
  void RewriteTail() {
    if (content_.empty() || content_.size() % kTestBlock == 0) return;
    const std::size_t from = *rc::gen::inRange(RoundDown(content_.size(), kTestBlock), content_.size());
    const std::string bytes = Some(2 * kTestBlock);
    const std::uint32_t crc = Crc32c(AsBytes(bytes));
    RC_ASSERT(!rig_.file->PositionedAppend(AsBytes(bytes), from, crc ^ 1).ok());
    RC_ASSERT(rig_.file->PositionedAppend(AsBytes(bytes), from, crc).ok());
    content_.replace(from, std::min(bytes.size(), content_.size() - from), bytes);
  }
  void Truncate() {
    const std::size_t size = *rc::gen::inRange<std::size_t>(0, content_.size() + 1);
    RC_ASSERT(rig_.file->Truncate(size).ok());
    content_.resize(size);
  }
  void Sync(bool lose) {
    const bool synced = rig_.Sync(lose).ok();
    RC_ASSERT(lose || synced);
    if (synced) committed_ = content_;
    RC_ASSERT(rig_.file->dirty() != synced);
  }
  void Reopen() {
    rig_.Reopen();
    content_ = committed_;
  }
  void ReadMany() {
    std::vector<std::string> texts;
    std::vector<ReadRequest> requests;
    std::vector<std::uint64_t> lengths;
    for (int i = 0; i < 5; ++i) texts.emplace_back(*rc::gen::inRange<std::size_t>(0, 2 * kTestBlock), '?');
    for (std::string& text : texts) {
      requests.push_back({*rc::gen::inRange<std::uint64_t>(0, content_.size() + 2),
                          std::as_writable_bytes(std::span(text)),
                          {}});
      lengths.push_back(text.size());
    }
    rig_.file->ReadMany(requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      RC_ASSERT(requests[i].status.ok());
      const std::size_t at = std::min<std::size_t>(requests[i].offset, content_.size());
      RC_ASSERT(AsText(requests[i].into) == content_.substr(at, lengths[i]));
    }
  }

  PlainFileRig rig_;
  std::string content_;
  std::string committed_;
};

void MatchTheModel(std::uint32_t spread) {
  EXPECT_TRUE(rc::check([spread] {
    ModelRun run(spread);
    for (int steps = *rc::gen::inRange(1, 40); steps > 0; --steps) {
      run.Step();
      run.Check();
    }
    run.Finish();
  }));
}

TEST(PlainFileModelTest, RandomOperationsMatchTheModel) { MatchTheModel(1); }
TEST(PlainFileModelTest, RandomOperationsOfAFileOverThreeZonesMatchTheModel) { MatchTheModel(3); }

}  // namespace
}  // namespace zenfs
