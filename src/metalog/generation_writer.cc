#include "metalog/generation_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "device/flush_mark.h"
#include "format/edit_codec.h"
#include "format/metalog_payload.h"
#include "metalog/replay.h"

namespace zenfs {
namespace {

// Longer writes go to one zone after the other: they are bound by the bandwidth of the device, and may need several
// commands.
constexpr std::uint64_t kMostTogether = 64 << 10;

void PutFrame(const FrameHeader& header, std::string_view payload, FrameSeed seed, ByteSpan into) {
  std::ranges::copy(AsBytes(payload), into.data() + kFrameHeaderBytes);
  const std::size_t used = kFrameHeaderBytes + payload.size();
  std::memset(into.data() + used, 0, into.size() - used);
  SealFrame(into, header, seed);
}

}  // namespace

void PutHead(const Superblock& superblock, const LogHeader& header, ZoneId zone, std::uint64_t ordinal,
             const MetazoneLayout& layout, AlignedBuffer& buffer) {
  std::memset(buffer.data(), 0, layout.frames_at);
  const std::string copy = EncodeSuperblock(superblock);
  std::memcpy(buffer.data(), copy.data(), copy.size());
  const std::string payload = EncodeLogHeader(header);
  const FrameHeader frame{.kind = FrameKind::kLogHeader,
                          .payload_bytes = static_cast<std::uint32_t>(payload.size()),
                          .sequence = header.base_sequence,
                          .file_offset = header.generation,
                          .epoch = ordinal,
                          .stable_sequence = header.base_sequence};
  // Salt 0, because a reader learns the salt from this frame.
  PutFrame(frame, payload, FrameSeed::Of(superblock.seed, zone, header.generation, 0),
           {buffer.data() + layout.header_at, layout.frames_at - layout.header_at});
}

GenerationWriter::GenerationWriter(ZonedDevice& device, const Superblock& superblock, Metazones& zones,
                                   Start start)
    : device_(device),
      superblock_(superblock),
      zones_(zones),
      layout_(device.geometry().block_size),
      generation_(start.generation),
      salt_(start.salt),
      base_sequence_(start.base_sequence),
      keep_(std::move(start.keep)),
      after_(start.after),
      wanted_copies_(start.copies),
      added_(zones.named()),
      sequence_(start.base_sequence) {}

GenerationWriter::GenerationWriter(ZonedDevice& device, const Superblock& superblock, Metazones& zones,
                                   const Replayed& found)
    : device_(device),
      superblock_(superblock),
      zones_(zones),
      layout_(device.geometry().block_size),
      generation_(found.generation),
      salt_(found.salt),
      base_sequence_(0),
      after_(found.chain.back()),
      wanted_copies_(1),
      added_(found.added_zones),
      chain_(found.chain),
      places_(found.places),
      capacity_(found.capacity),
      position_(found.position),
      ordinal_(found.frames),
      sequence_(found.sequence) {
  const auto add = [&](ZoneId zone) {
    copies_.push_back({.zone = zone,
                       .seed = FrameSeed::Of(superblock.seed, zone, generation_, salt_),
                       .buffer = {},
                       .written = {}});
  };
  for (const ZoneId zone : found.tail) add(zone);
  // If nothing may be written behind the last frame, the last zone stands for the place until the log switch.
  if (!found.tail_is_clean()) add(found.chain.back());
  primary_ = copies_.front().zone;
}

std::vector<ZoneId> GenerationWriter::tail() const {
  std::vector<ZoneId> zones;
  for (const Copy& copy : copies_) zones.push_back(copy.zone);
  return zones;
}

// Checked in all builds: a mount would not find a commit with a wrong sequence or outside its zone.
Status GenerationWriter::CheckNextCommit(std::uint64_t first_sequence, std::uint64_t last_sequence) const {
  ZENFS_CHECK(first_sequence == sequence_ + 1 && last_sequence >= first_sequence,
              fmt::format("the metadata log was about to write commits {} to {} after commit {}",
                          first_sequence, last_sequence, sequence_));
  ZENFS_CHECK(
      position_ <= capacity_ && IsMultiple(position_, layout_.block_size),
      fmt::format("the metadata log was about to write at byte {} of metadata zone {}, which has {} bytes",
                  position_, zone().value, capacity_));
  return {};
}

std::uint64_t GenerationWriter::PayloadRoom(std::uint64_t reserve) const {
  if (position_ > capacity_) return 0;
  const std::uint64_t room = capacity_ - position_;
  if (room < reserve + layout_.block_size) return 0;
  return std::min<std::uint64_t>(RoundDown(room - reserve, layout_.block_size) - kFrameHeaderBytes,
                                 kMaxFramePayload);
}

// A zone with room left would stay active beside the next one.
Status GenerationWriter::CloseZone() {
  for (const Copy& copy : copies_) {
    ZENFS_ASSIGN_OR_RETURN(const ZoneInfo info, device_.ReportZone(copy.zone));
    if (IsActive(info.condition)) ZENFS_RETURN_IF_ERROR(device_.Finish(copy.zone));
  }
  position_ = capacity_;
  return {};
}

Status GenerationWriter::BeginZone() {
  const ZoneId previous = primary_;
  ZoneId after = copies_.empty() ? after_ : zone();
  if (!copies_.empty()) ZENFS_RETURN_IF_ERROR(CloseZone());
  std::vector<Metazones::Target> targets;
  std::vector<ZoneId> own = chain_;
  for (std::uint32_t i = 0; i < wanted_copies_; ++i) {
    ZENFS_ASSIGN_OR_RETURN(
        targets.emplace_back(),
        zones_.Take(
            {.keep = keep_, .own = own, .after = after, .added = added_, .first_place = places_ == 0}));
    after = targets.back().zone;
    own.push_back(after);
  }
  chain_ = std::move(own);
  ++places_;
  primary_ = targets.front().zone;
  copies_.clear();
  capacity_ = std::ranges::min(targets, {}, &Metazones::Target::capacity).capacity;
  for (const Metazones::Target& target : targets)
    copies_.push_back({.zone = target.zone,
                       .seed = FrameSeed::Of(superblock_.seed, target.zone, generation_, salt_),
                       .buffer = {},
                       .written = {}});
  position_ = 0;
  return WriteHead(previous);
}

Status GenerationWriter::WriteHead(ZoneId previous) {
  Reserve(layout_.frames_at);
  LogHeader header{.generation = generation_,
                   .salt = salt_,
                   .chain_index = chain_index(),
                   .previous = previous,
                   .base_sequence = base_sequence_,
                   .added = added_};
  for (std::uint32_t i = 0; i < copies(); ++i) {
    Copy& copy = copies_[i];
    header.copy = i;
    if (copies() == 2) header.partner = copies_[1 - i].zone;
    PutHead(superblock_, header, copy.zone, ordinal_, layout_, copy.buffer);
  }
  const FlushMark mark = FlushMark::Now(device_);
  ZENFS_RETURN_IF_ERROR(Send(layout_.frames_at));
  ++ordinal_;
  return FlushWrittenSince(device_, mark);
}

void GenerationWriter::Reserve(std::uint64_t bytes) {
  for (Copy& copy : copies_) {
    if (copy.buffer.capacity() < bytes) copy.buffer = AlignedBuffer(bytes);
  }
}

void GenerationWriter::WriteBoth(std::uint64_t bytes) {
  if (queue_ == nullptr) queue_ = device_.CreateQueue(copies_.size());
  std::vector<IoRequest> requests(copies_.size());
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    requests[i].kind = IoRequest::Kind::kWrite;
    requests[i].offset = PlaceIn(copies_[i]);
    requests[i].write_from = copies_[i].buffer.View(0, bytes);
    queue_->Submit(&requests[i]);
  }
  std::vector<IoRequest*> done;
  while (done.size() < requests.size()) queue_->Reap(requests.size() - done.size(), done);
  for (std::size_t i = 0; i < copies_.size(); ++i) copies_[i].written = std::move(requests[i].status);
}

Status GenerationWriter::Send(std::uint64_t bytes) {
  ZENFS_ASSERT(IsMultiple(position_, layout_.block_size) && IsMultiple(bytes, layout_.block_size));
  ZENFS_ASSERT(position_ <= capacity_ && bytes <= capacity_ - position_);
  if (copies_.size() > 1 && bytes <= kMostTogether) {
    WriteBoth(bytes);
  } else {
    for (Copy& copy : copies_) copy.written = device_.Write(PlaceIn(copy), copy.buffer.View(0, bytes));
  }
  std::size_t good = 0;
  std::optional<Error> worst;
  for (const Copy& copy : copies_) {
    if (copy.written.ok()) {
      ++good;
      continue;
    }
    zones_.WriteFailed(copy.zone, copy.written.error());
    if (!worst || worst->code() == Code::kBusy)
      worst =
          copy.written.error().With(fmt::format("metadata zone {} at byte {}", copy.zone.value, position_));
  }
  bytes_written_.fetch_add(good * bytes, std::memory_order_relaxed);
  // The other zone of the pair has the frame, whatever the error. So it is not the device as a whole that fails, and the
  // frame may be written again to other zones.
  if (worst && good != 0) return Fail(worst->As(Code::kZoneFull));
  if (worst) return Fail(*worst);
  position_ += bytes;
  return {};
}

Status GenerationWriter::Write(FrameKind kind, std::string_view payload, std::uint64_t first_sequence,
                               std::uint64_t last_sequence) {
  if (payload.size() > PayloadRoom(0)) {
    return Fail(Code::kNoSpace, fmt::format("{} bytes do not fit the {} that metadata zone {} has left",
                                            payload.size(), room(), zone().value));
  }
  const FrameHeader header{.kind = kind,
                           .payload_bytes = static_cast<std::uint32_t>(payload.size()),
                           .sequence = first_sequence,
                           .file_offset = generation_,
                           .epoch = ordinal_,
                           .stable_sequence = last_sequence};
  const std::uint64_t bytes = header.BytesOnDevice(layout_.block_size);
  Reserve(bytes);
  for (Copy& copy : copies_) PutFrame(header, payload, copy.seed, {copy.buffer.data(), bytes});
  ZENFS_RETURN_IF_ERROR(Send(bytes));
  ++ordinal_;
  sequence_ = last_sequence;
  return {};
}

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

Status GenerationWriter::WriteSnapshot(const State& state) {
  ZENFS_ASSERT(sequence_ == base_sequence_ && places_ != 0);
  SnapshotWriter snapshot(*this, base_sequence_);
  state.Describe([&snapshot](const std::vector<Edit>& chunk) { snapshot.Add(chunk); });
  return snapshot.Finish();
}

Status GenerationWriter::WriteSwitchComplete() {
  ZENFS_ASSERT(places_ != 0);
  const SwitchComplete complete{
      .salt = salt_, .frames = ordinal_, .sequence = sequence_, .chain_index = chain_index()};
  return Write(FrameKind::kSwitchComplete, EncodeSwitchComplete(complete), sequence_, sequence_);
}

}  // namespace zenfs
