#include "metalog/state_snapshot.h"

#include <algorithm>

#include "format/edit_codec.h"

namespace zenfs {
namespace {

// Large enough for the full bandwidth of the device, small enough to waste little at the end of a zone.
constexpr std::uint64_t kFrameTarget = 256 << 10;
constexpr std::uint64_t kFramesPerZone = 4;

class SnapshotWriter {
 public:
  SnapshotWriter(GenerationWriter& writer, std::uint64_t sequence) : writer_(writer), sequence_(sequence) {}

  void Add(const std::vector<Edit>& chunk) {
    if (!status_.ok()) return;
    EditListBuilder alone;
    alone.Add(chunk);
    if (!list_.empty() && list_.size() + alone.size() > Limit()) status_ = Flush();
    if (status_.ok() && alone.size() > writer_.PayloadRoom(0)) status_ = writer_.BeginZone();
    if (status_.ok()) list_.Add(chunk);
  }
  Status Finish() {
    if (status_.ok() && !list_.empty()) status_ = Flush();
    return status_;
  }

 private:
  std::uint64_t Limit() const {
    const std::uint64_t target = std::min(kFrameTarget, writer_.zone_capacity() / kFramesPerZone);
    return std::min(target, writer_.PayloadRoom(0));
  }
  Status Flush() { return writer_.Write(FrameKind::kSnapshot, list_.Take(), sequence_, sequence_); }

  GenerationWriter& writer_;
  const std::uint64_t sequence_;
  EditListBuilder list_;
  Status status_;
};

}  // namespace

Status WriteSnapshot(GenerationWriter& writer, const State& state, std::uint64_t sequence) {
  SnapshotWriter snapshot(writer, sequence);
  state.Describe([&snapshot](const std::vector<Edit>& chunk) { snapshot.Add(chunk); });
  return snapshot.Finish();
}

}  // namespace zenfs
