// Seeds of the target framed: two files with frames in shared log zones, with sealed windows and
// open tails.
#include <fmt/format.h>

#include "framed_log.h"
#include "seeds.h"

namespace zenfs {
namespace {

class Script {
 public:
  void Commit(const std::vector<Edit>& edits) {
    std::string list;
    EncodeEdits(edits, list);
    PutEntry(text_, ScriptEntry::kForTarget, AsBytes(list));
  }
  void Frame(FrameHeader header, std::string_view payload) {
    header.kind = FrameKind::kLogData;
    std::string frame;
    PutRaw(frame, header);
    frame += payload;
    PutEntry(text_, ScriptEntry::kFrame, AsBytes(frame));
  }
  void Put(ScriptEntry what, std::string_view bytes = {}) { PutEntry(text_, what, AsBytes(bytes)); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::vector<Edit> Volume() {
  const auto file = [](std::uint64_t id, const char* name) {
    return std::vector<Edit>{CreateFile{.id = FileId(id), .shape = FileShape::kFramed},
                             LinkFile{.parent = kRootDirectory, .name = name, .id = FileId(id)}};
  };
  std::vector<Edit> edits = file(2, "2.log");
  const std::vector<Edit> second = file(3, "MANIFEST-1");
  edits.insert(edits.end(), second.begin(), second.end());
  edits.push_back(AllocateLogZones{{{ZoneId(0), 1, 11}, {ZoneId(1), 2, 22}, {ZoneId(2), 3, 33}}});
  edits.push_back(BeginEpoch{1});
  edits.push_back(RaiseCounters{10, 4});
  return edits;
}

FrameHeader At(std::uint64_t owner, std::uint64_t sequence, std::uint64_t offset, std::uint64_t epoch,
               std::uint64_t stable) {
  return {
      .owner = owner, .sequence = sequence, .file_offset = offset, .epoch = epoch, .stable_sequence = stable};
}

Script Tails(bool sealed) {
  Script script;
  script.Commit(Volume());
  if (sealed) {
    script.Commit({SealLog{.id = FileId(2), .windows = {{1, 1, 2, 300}}, .next_sequence = 3, .size = 300},
                   BeginEpoch{2}});
  }
  const std::string text(700, 'f');
  script.Frame(At(2, 1, 0, 1, 0), text.substr(0, 100));
  script.Frame(At(3, 1, 0, 1, 0), text.substr(0, 40));
  script.Frame(At(2, 2, 100, 1, 1), text.substr(0, 200));
  script.Put(ScriptEntry::kNextZone);
  script.Frame(At(2, 3, 300, sealed ? 2 : 1, 2), text);
  script.Put(ScriptEntry::kBroken);
  script.Frame(At(2, 4, 1000, sealed ? 2 : 1, 3), text.substr(0, 7));
  script.Put(ScriptEntry::kCondition, "\x05");
  script.Put(ScriptEntry::kNextZone);
  script.Frame(At(2, 6, 1100, sealed ? 2 : 1, 5), text.substr(0, 50));
  return script;
}

Script OverExtents() {
  Script script;
  script.Commit(Volume());
  script.Commit(
      {SetExtents{.id = FileId(2),
                  .from_offset = 0,
                  .extents = {{0, DeviceOffset(3 * 32768), 512}, {512, DeviceOffset(3 * 32768 + 512), 88}},
                  .size = 600}});
  script.Frame(At(2, 1, 600, 1, 0), "behind the extents");
  script.Frame(At(2, 2, 618, 1, 0), "and more");
  script.Frame(At(2, 2, 618, 1, 0), "and");
  script.Frame(At(2, 3, 621, 1, 0), " more, split in another way");
  return script;
}

}  // namespace

void WriteFramedSeeds(SeedWriter& writer) {
  writer.Write("framed", "open-tails", Tails(false).text());
  writer.Write("framed", "sealed", Tails(true).text());
  writer.Write("framed", "over-extents", OverExtents().text());
}

}  // namespace zenfs
