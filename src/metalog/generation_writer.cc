#include "metalog/generation_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "format/metalog_payload.h"
#include "metalog/flush.h"

namespace zenfs {

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
      sequence_(start.base_sequence) {}

GenerationWriter::GenerationWriter(ZonedDevice& device, const Superblock& superblock, Metazones& zones,
                                   Resume resume)
    : device_(device),
      superblock_(superblock),
      zones_(zones),
      layout_(device.geometry().block_size),
      generation_(resume.generation),
      salt_(resume.salt),
      base_sequence_(0),
      after_(resume.chain.back()),
      chain_(std::move(resume.chain)),
      seed_(FrameSeed::Of(superblock.seed, chain_.back(), generation_, salt_)),
      capacity_(resume.capacity),
      position_(resume.position),
      ordinal_(resume.ordinal),
      sequence_(resume.sequence) {}

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
  if (room() == 0) return {};
  ZENFS_RETURN_IF_ERROR(device_.Finish(zone()));
  EndZone();
  return {};
}

Status GenerationWriter::BeginZone() {
  const ZoneId previous = chain_.empty() ? kNoZone : zone();
  if (!chain_.empty()) ZENFS_RETURN_IF_ERROR(CloseZone());
  ZENFS_ASSIGN_OR_RETURN(const Metazones::Target target,
                         zones_.Take(keep_, chain_, chain_.empty() ? after_ : zone()));
  chain_.push_back(target.zone);
  seed_ = FrameSeed::Of(superblock_.seed, target.zone, generation_, salt_);
  capacity_ = target.capacity;
  position_ = 0;
  return WriteHead(target.zone, previous);
}

Status GenerationWriter::WriteHead(ZoneId zone, ZoneId previous) {
  if (buffer_.capacity() < layout_.frames_at) buffer_ = AlignedBuffer(layout_.frames_at);
  std::memset(buffer_.data(), 0, layout_.frames_at);
  const std::string superblock = EncodeSuperblock(superblock_);
  std::memcpy(buffer_.data(), superblock.data(), superblock.size());
  const LogHeader header{.generation = generation_,
                         .salt = salt_,
                         .chain_index = chain_index(),
                         .previous = previous,
                         .base_sequence = base_sequence_};
  // Salt 0, because a reader learns the salt from this frame.
  const FrameSeed seed = FrameSeed::Of(superblock_.seed, zone, generation_, 0);
  Build(layout_.header_at, FrameKind::kLogHeader, EncodeLogHeader(header), seed, base_sequence_,
        base_sequence_);
  const FlushMark mark = FlushMark::Now(device_);
  ZENFS_RETURN_IF_ERROR(Send(layout_.frames_at));
  ++ordinal_;
  return FlushWrittenSince(device_, mark);
}

std::uint64_t GenerationWriter::Build(std::size_t at, FrameKind kind, std::string_view payload,
                                      FrameSeed seed, std::uint64_t first_sequence,
                                      std::uint64_t last_sequence) {
  const FrameHeader header{.kind = kind,
                           .payload_bytes = static_cast<std::uint32_t>(payload.size()),
                           .sequence = first_sequence,
                           .file_offset = generation_,
                           .epoch = ordinal_,
                           .stable_sequence = last_sequence};
  const std::uint64_t length = header.BytesOnDevice(layout_.block_size);
  const std::size_t used = kFrameHeaderBytes + payload.size();
  std::ranges::copy(AsBytes(payload), buffer_.data() + at + kFrameHeaderBytes);
  std::memset(buffer_.data() + at + used, 0, length - used);
  SealFrame({buffer_.data() + at, length}, header, seed);
  return length;
}

Status GenerationWriter::Send(std::uint64_t bytes) {
  ZENFS_ASSERT(IsMultiple(position_, layout_.block_size) && IsMultiple(bytes, layout_.block_size));
  ZENFS_ASSERT(position_ <= capacity_ && bytes <= capacity_ - position_);
  const DeviceOffset to = device_.geometry().ZoneStart(zone()) + position_;
  if (Status written = device_.Write(to, buffer_.View(0, bytes)); !written.ok()) {
    const Code code = written.error().code();
    const bool full = code == Code::kZoneFull;
    // kBusy means that no slot is free; the zone itself is good.
    if (code != Code::kBusy)
      zones_.Distrust(zone(), full ? Metazones::Trust::kEndedEarly : Metazones::Trust::kBad);
    return Fail(written.error().With(fmt::format("metadata zone {} at byte {}", zone().value, position_)));
  }
  position_ += bytes;
  bytes_written_.fetch_add(bytes, std::memory_order_relaxed);
  return {};
}

Status GenerationWriter::Write(FrameKind kind, std::string_view payload, std::uint64_t first_sequence,
                               std::uint64_t last_sequence) {
  if (payload.size() > PayloadRoom(0)) {
    return Fail(Code::kNoSpace, fmt::format("{} bytes do not fit the {} that metadata zone {} has left",
                                            payload.size(), room(), zone().value));
  }
  const std::uint64_t need = RoundUp(kFrameHeaderBytes + payload.size(), layout_.block_size);
  if (buffer_.capacity() < need) buffer_ = AlignedBuffer(need);
  ZENFS_RETURN_IF_ERROR(Send(Build(0, kind, payload, seed_, first_sequence, last_sequence)));
  ++ordinal_;
  sequence_ = last_sequence;
  return {};
}

}  // namespace zenfs
