// Seeds of the target older: logs with every kind of record, in both formats, with a roll, an open file, and a torn end.
#include <fmt/format.h>

#include "backends/emulator/emulator.h"
#include "base/coding.h"
#include "input.h"
#include "seeds.h"
#include "testing/older_writer.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kZone = 64 << 10;

// The steps of tests/fuzz/older_target.cc.
class Steps {
 public:
  explicit Steps(std::uint32_t version) : writer_(*device_, version) {
    PutRaw(bytes_, static_cast<std::uint8_t>(version - 1));
  }
  void Superblock(std::uint8_t zone, std::uint8_t sequence) {
    Step(0, zone);
    PutRaw(bytes_, sequence);
  }
  void Record(std::uint32_t tag, const std::string& data) {
    std::string payload;
    PutFixed(payload, tag);
    Text(1, 0, payload + data);
  }
  void Update(const OlderWriter::File& file, std::uint32_t tag = 2) {
    Record(tag, OlderWriter::Field(writer_.FileBytes(file)));
  }
  void Snapshot(const std::vector<OlderWriter::File>& files) {
    std::string all;
    for (const OlderWriter::File& file : files) all += OlderWriter::Field(writer_.FileBytes(file));
    Record(1, OlderWriter::Field(all));
  }
  void Data(std::uint8_t zone, const std::string& bytes) { Text(2, zone, bytes); }
  void RawLog(const std::string& bytes) { Text(3, 0, bytes); }
  void Condition(std::uint8_t zone, std::uint8_t which) {
    Step(4, zone);
    PutRaw(bytes_, which);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void Step(std::uint8_t step, std::uint8_t zone) {
    PutRaw(bytes_, step);
    PutRaw(bytes_, zone);
  }
  void Text(std::uint8_t step, std::uint8_t zone, const std::string& text) {
    Step(step, zone);
    PutRaw(bytes_, static_cast<std::uint16_t>(text.size()));
    bytes_ += text;
  }

  const std::unique_ptr<EmulatorDevice> device_ = CreateMemoryDevice({.zones = 12, .zone_size = kZone});
  const OlderWriter writer_;
  std::string bytes_;
};

std::string Segment(const std::string& data) {
  std::string segment;
  PutFixed(segment, std::uint64_t{data.size()});
  return segment + data;
}

}  // namespace

void WriteOlderSeeds(SeedWriter& writer) {
  for (const std::uint32_t version : {1U, 2U}) {
    Steps steps(version);
    steps.Superblock(0, 1);
    steps.Data(3, std::string(100, 'a'));
    steps.Data(4, Segment("synced"));
    steps.Data(4, Segment("flushed"));
    steps.Snapshot({{.id = 2, .names = {"db/1"}, .size = 100, .extents = {{3 * kZone, 100}}}});
    steps.Update({.id = 3,
                  .names = {"db/2.log", "link"},
                  .size = 6,
                  .extents = {{4 * kZone + 8, 6}},
                  .active_start = 4 * kZone + 4096,
                  .framed = true});
    steps.Update({.id = 2, .names = {"db/1"}, .size = 50, .extents = {{3 * kZone, 50}}}, 5);
    std::string deletion;
    PutFixed(deletion, std::uint64_t{3});
    steps.Record(3, OlderWriter::Field(deletion + OlderWriter::Field("link")));
    writer.Write("older", fmt::format("records-{}", version), steps.bytes());
    steps.RawLog(std::string(100, 'x'));
    writer.Write("older", fmt::format("torn-{}", version), steps.bytes());
    steps.Condition(4, 2);
    steps.Superblock(1, 2);
    steps.Snapshot({});
    steps.Record(4, "");
    writer.Write("older", fmt::format("rolled-{}", version), steps.bytes());
  }
}

}  // namespace zenfs
