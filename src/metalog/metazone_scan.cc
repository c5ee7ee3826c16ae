#include "metalog/metazone_scan.h"

#include <algorithm>
#include <utility>

#include "base/zeros.h"
#include "metalog/metazones.h"
#include "metalog/zone_reader.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kPieceBytes = 1 << 20;

// Returns false for frames that no writer makes. Commits are numbered from 1.
bool IsPossible(const MetadataFrame& frame) {
  if (std::max({frame.ordinal, frame.last_sequence, frame.of.generation}) >= kNumbersEnd) return false;
  if (frame.kind != FrameKind::kCommit) return true;
  return frame.first_sequence != 0 && frame.first_sequence <= frame.last_sequence &&
         frame.last_sequence - frame.first_sequence < frame.bytes / kMinCommitBytes;
}

class ScanOfZone {
 public:
  ScanOfZone(ZonedDevice& device, const Superblock& superblock, const ZoneInfo& info,
             std::set<GenerationKey> keys)
      : device_(device),
        superblock_(superblock),
        layout_(device.geometry().block_size),
        start_(info.start),
        reader_(device, info.id, info.WrittenBytes()),
        keys_(std::move(keys)) {
    out_.zone = info.id;
    out_.written = info.WrittenBytes();
  }

  MetazoneScan Run() {
    LookAtSuperblock();
    if (out_.written < layout_.frames_at) return std::move(out_);
    out_.header = FindLogHeader(reader_.View(layout_.header_at, layout_.frames_at - layout_.header_at),
                                superblock_.seed, out_.zone, layout_.block_size);
    if (out_.header && out_.header->is_spare()) return std::move(out_);
    if (out_.header) keys_ = {{out_.header->generation, out_.header->salt}};
    WalkFrames();
    return std::move(out_);
  }

 private:
  void LookAtSuperblock() {
    AlignedBuffer buffer(RoundUp(kSuperblockBytes, layout_.block_size));
    buffer.Resize(std::min<std::uint64_t>(buffer.capacity(), out_.written));
    if (const Status read = device_.Read(start_, buffer.Span()); !read.ok()) {
      out_.superblock = read.error();
      return;
    }
    const Result<Superblock> copy = DecodeSuperblock(buffer.View());
    if (!copy) {
      out_.superblock = copy.error();
    } else {
      out_.superblock_differs = *copy != superblock_;
    }
  }

  // The frame at `at`, if it is valid for one of the keys.
  std::optional<MetadataFrame> FrameAt(std::uint64_t at) {
    for (const GenerationKey& key : keys_) {
      const FrameSeed seed = FrameSeed::Of(superblock_.seed, out_.zone, key.generation, key.salt);
      const ParsedFrame frame = reader_.FrameAt(at, seed);
      if (frame.verdict == FrameVerdict::kNotAFrame) return std::nullopt;
      const FrameHeader& header = frame.header;
      if (!frame.valid() || header.file_offset != key.generation) continue;
      const MetadataFrame scanned{
          .zone = out_.zone,
          .at = at,
          .bytes = header.BytesOnDevice(layout_.block_size),
          .payload_at = at + header.header_bytes,
          .kind = header.kind,
          .ordinal = header.epoch,
          .first_sequence = header.sequence,
          .last_sequence = header.kind == FrameKind::kCommit ? header.stable_sequence : header.sequence,
          .of = key};
      if (IsPossible(scanned)) return scanned;
    }
    return std::nullopt;
  }

  void WalkFrames() {
    MetazoneScan::Gap gap;              // 0 bytes: no gap
    std::optional<std::uint64_t> next;  // ordinal of the next frame; unknown before the zone's first frame
    for (std::uint64_t at = layout_.frames_at; at < reader_.end();) {
      const std::optional<MetadataFrame> frame = FrameAt(at);
      if (!frame) {
        if (gap.bytes == 0) gap = MetazoneScan::Gap{.at = at};
        at = Extend(gap, at);
        continue;
      }
      if (gap.bytes != 0) {
        gap.inside = true;
        gap.last_frame = std::max(frame->ordinal, std::uint64_t{1}) - 1;
        gap.first_frame = next.value_or(gap.last_frame);
        Add(gap);
        gap = {};
      }
      out_.frames.push_back(*frame);
      next = frame->ordinal + 1;
      at += frame->bytes;
    }
    if (gap.bytes != 0) Add(gap);
  }

  // Adds the block at `at`, and known zeros behind it. Returns where the gap ends now.
  std::uint64_t Extend(MetazoneScan::Gap& gap, std::uint64_t at) {
    const ByteView block = reader_.View(at, layout_.block_size).first(layout_.block_size);
    gap.empty = gap.empty && IsZeros(block);
    const std::uint64_t end = reader_.SkipZeros(at + layout_.block_size);
    gap.bytes += end - at;
    return end;
  }

  void Add(MetazoneScan::Gap gap) {
    if (gap.empty) gap.unreadable = !CanRead(gap);  // ZoneReader returns zeros for unreadable blocks
    out_.gaps.push_back(gap);
  }

  bool CanRead(const MetazoneScan::Gap& gap) {
    AlignedBuffer piece(std::min(kPieceBytes, gap.bytes));
    for (std::uint64_t done = 0; done < gap.bytes;) {
      const DeviceOffset at = start_ + gap.at + done;
      const std::uint64_t zeros = device_.KnownZeros(at, gap.bytes - done);
      if (zeros == 0) {
        piece.Resize(std::min(kPieceBytes, gap.bytes - done));
        if (!device_.Read(at, piece.Span()).ok()) return false;
      }
      done += zeros != 0 ? zeros : piece.size();
    }
    return true;
  }

  ZonedDevice& device_;
  const Superblock& superblock_;
  const MetazoneLayout layout_;
  const DeviceOffset start_;
  ZoneReader reader_;
  std::set<GenerationKey> keys_;
  MetazoneScan out_;
};

}  // namespace

bool MetazoneScan::IsComplete() const {
  return std::ranges::find(frames, FrameKind::kSwitchComplete, &MetadataFrame::kind) != frames.end();
}

MetazoneScan ScanMetazone(ZonedDevice& device, const Superblock& superblock, const ZoneInfo& info,
                          const std::set<GenerationKey>& keys) {
  return ScanOfZone(device, superblock, info, keys).Run();
}

}  // namespace zenfs
