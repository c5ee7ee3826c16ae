#include "metalog/log_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/aligned_buffer.h"
#include "format/metalog_payload.h"
#include "metalog/log_picture.h"
#include "metalog/metazones.h"
#include "metalog/zone_reader.h"

namespace zenfs {
namespace {

using Key = std::pair<std::uint64_t, std::uint64_t>;  // generation, salt

class Survey {
 public:
  Survey(ZonedDevice& device, const Superblock& superblock)
      : device_(device), superblock_(superblock), layout_(device.geometry().block_size) {}

  Result<LogSurvey> Run() {
    ZENFS_ASSIGN_OR_RETURN(const LogPicture picture, TakeLogPicture(device_, superblock_));
    out_.zones = picture.zones;
    std::set<Key> keys;
    for (std::size_t i = 0; i < picture.zones.size(); ++i) {
      if (picture.heads[i]) {
        keys.insert({picture.heads[i]->generation, picture.heads[i]->salt});
      } else {
        AddKeysOfHeadless(picture.zones[i], keys);
      }
    }
    for (std::size_t i = 0; i < picture.zones.size(); ++i) {
      const std::optional<LogHeader>& head = picture.heads[i];
      ScanZone(picture.zones[i], head ? std::set<Key>{{head->generation, head->salt}} : keys,
               head.has_value());
    }
    for (auto& [key, generation] : generations_) {
      std::ranges::sort(generation.frames, {}, &SurveyedFrame::ordinal);
      out_.generations.push_back(std::move(generation));
    }
    AddLastTail();
    std::ranges::sort(out_.flaws, {}, [](const MetadataFlaw& flaw) { return std::pair(flaw.zone, flaw.at); });
    return std::move(out_);
  }

 private:
  // A RollComplete tells the salt of its generation.
  void AddKeysOfHeadless(const ZoneInfo& info, std::set<Key>& keys) {
    ZoneReader reader(device_, info.id, info.WrittenBytes());
    for (std::uint64_t at = layout_.frames_at; at < reader.end(); at += layout_.block_size) {
      const auto found = FindRollComplete(reader.View(at, layout_.block_size), superblock_.seed, info.id,
                                          layout_.block_size);
      if (found) keys.insert({found->generation, found->complete.salt});
    }
  }

  // The frame at `at` by one of the keys, and which; none if there is none.
  std::optional<Key> FrameAt(ZoneReader& reader, ZoneId zone, std::uint64_t at, const std::set<Key>& keys,
                             ParsedFrame& frame) const {
    const std::uint64_t limit = reader.end() - at;
    for (const Key& key : keys) {
      const FrameSeed seed = FrameSeed::Of(superblock_.seed, zone, key.first, key.second);
      frame = ParseFrame(reader.View(at, layout_.block_size), seed, layout_.block_size, limit);
      if (frame.verdict == FrameVerdict::kNotAFrame) return std::nullopt;
      if (frame.verdict == FrameVerdict::kTooShort) {
        frame = ParseFrame(reader.View(at, frame.needed), seed, layout_.block_size, limit);
      }
      if (frame.valid() && frame.header.file_offset == key.first) return key;
    }
    return std::nullopt;
  }

  void ScanZone(const ZoneInfo& info, const std::set<Key>& keys, bool has_header) {
    if (info.condition == ZoneCondition::kOffline) {
      out_.flaws.push_back({info.id, 0, info.capacity, 0, MetadataFlaw::Kind::kOffline});
      return;
    }
    if (info.WrittenBytes() == 0) return;
    ZoneReader reader(device_, info.id, info.WrittenBytes());
    std::vector<MetadataFlaw> flaws;
    if (!DecodeSuperblock(reader.View(0, kSuperblockBytes)
                              .first(std::min<std::uint64_t>(kSuperblockBytes, reader.end())))) {
      flaws.push_back({info.id, 0, layout_.header_at, 0, MetadataFlaw::Kind::kSuperblock});
    }
    if (!has_header) {
      flaws.push_back({info.id, layout_.header_at, layout_.frames_at - layout_.header_at, 0,
                       MetadataFlaw::Kind::kLogHeader});
    }
    std::uint64_t generation = has_header ? keys.begin()->first : 0;
    std::uint64_t gap = layout_.frames_at;  // where what can't be read begins, if before `at`
    for (std::uint64_t at = layout_.frames_at; at < reader.end();) {
      ParsedFrame frame;
      const auto key = FrameAt(reader, info.id, at, keys, frame);
      if (!key) {
        at += layout_.block_size;
        continue;
      }
      generation = key->first;
      if (gap != at) flaws.push_back({info.id, gap, at - gap, generation, MetadataFlaw::Kind::kFrames});
      at = gap = Keep(*key, info.id, at, frame);
    }
    if (gap < reader.end()) {
      flaws.push_back({info.id, gap, reader.end() - gap, generation, MetadataFlaw::Kind::kTail});
    }
    for (MetadataFlaw& flaw : flaws) flaw.generation = generation;
    out_.flaws.insert(out_.flaws.end(), flaws.begin(), flaws.end());
  }

  // Returns the byte behind the frame.
  std::uint64_t Keep(const Key& key, ZoneId zone, std::uint64_t at, const ParsedFrame& frame) {
    SurveyedGeneration& generation = generations_[key];
    generation.generation = key.first;
    generation.salt = key.second;
    const std::uint64_t bytes = frame.header.BytesOnDevice(layout_.block_size);
    const bool commit = frame.header.kind == FrameKind::kCommit;
    generation.frames.push_back({zone, at, bytes, frame.header.kind, frame.header.epoch,
                                 frame.header.sequence,
                                 commit ? frame.header.stable_sequence : frame.header.sequence});
    if (frame.header.kind == FrameKind::kRollComplete) {
      generation.complete_sequence = frame.header.sequence;
    }
    return at + bytes;
  }

  // A zone that is not the last of its chain ends where its frames do: what is behind them was finished, not written.
  void AddLastTail() {
    std::erase_if(out_.flaws, [&](const MetadataFlaw& flaw) {
      if (flaw.kind != MetadataFlaw::Kind::kTail) return false;
      const auto it = std::ranges::find(out_.generations, flaw.generation, &SurveyedGeneration::generation);
      const bool goes_on =
          it != out_.generations.end() && !it->frames.empty() && it->frames.back().zone != flaw.zone;
      return goes_on || IsZeros(flaw);
    });
  }

  // As the device leaves what a Finish did not write.
  bool IsZeros(const MetadataFlaw& flaw) {
    constexpr std::uint64_t kPiece = 1 << 20;  // a multiple of the block size
    AlignedBuffer buffer(std::min(kPiece, flaw.bytes));
    const std::uint64_t end = flaw.at + flaw.bytes;
    for (std::uint64_t at = flaw.at; at < end; at += buffer.size()) {
      buffer.Resize(std::min(kPiece, end - at));
      const DeviceOffset from = device_.geometry().ZoneStart(flaw.zone) + at;
      if (!device_.Read(from, buffer.Span())) return false;
      if (std::ranges::any_of(buffer.View(), [](std::byte b) { return b != std::byte{0}; })) return false;
    }
    return true;
  }

  ZonedDevice& device_;
  const Superblock& superblock_;
  const MetazoneLayout layout_;
  std::map<Key, SurveyedGeneration> generations_;
  LogSurvey out_;
};

}  // namespace

bool LogSurvey::EndsInRoll(std::uint64_t generation) const {
  const auto it = std::ranges::find(generations, generation, &SurveyedGeneration::generation);
  return it != generations.end() && !it->frames.empty() && it->frames.back().kind == FrameKind::kRollBegin;
}

std::uint64_t LogSurvey::HighestGeneration() const {
  return generations.empty() ? 0 : generations.back().generation;
}

std::uint64_t LogSurvey::HighestSequence() const {
  std::uint64_t highest = 0;
  for (const SurveyedGeneration& generation : generations) {
    for (const SurveyedFrame& frame : generation.frames) highest = std::max(highest, frame.last_sequence);
  }
  return highest;
}

Result<LogSurvey> SurveyLog(ZonedDevice& device, const Superblock& superblock) {
  return Survey(device, superblock).Run();
}

Status ReadSurveyed(ZonedDevice& device, const Superblock& superblock, const SurveyedGeneration& generation,
                    const SurveyedFrame& frame, const std::function<Status(ByteView payload)>& use) {
  const std::uint32_t block = device.geometry().block_size;
  ZoneReader reader(device, frame.zone, frame.at + frame.bytes);
  const FrameSeed seed = FrameSeed::Of(superblock.seed, frame.zone, generation.generation, generation.salt);
  const ParsedFrame parsed = ParseFrame(reader.View(frame.at, frame.bytes), seed, block, frame.bytes);
  if (!parsed.valid()) {
    return Fail(Code::kCorruption, fmt::format("{}: zone {}, byte {}: a frame could be read a moment ago",
                                               device.name(), frame.zone.value, frame.at));
  }
  return use(parsed.payload);
}

std::string FlawText(const MetadataFlaw& flaw) {
  const std::string of = flaw.generation == 0 ? "" : fmt::format(" of generation {}", flaw.generation);
  const std::string where = fmt::format("metadata zone {}, byte {}", flaw.zone.value, flaw.at);
  switch (flaw.kind) {
    case MetadataFlaw::Kind::kSuperblock:
      return fmt::format("{}: the copy of the superblock that stands before the log{} is damaged", where, of);
    case MetadataFlaw::Kind::kLogHeader:
      return fmt::format("{}: the header of the metadata log{} can't be read", where, of);
    case MetadataFlaw::Kind::kFrames:
      return fmt::format("{}: {} bytes of the metadata log{} can't be read, and what stands behind them can",
                         where, flaw.bytes, of);
    case MetadataFlaw::Kind::kTail:
      return fmt::format(
          "{}: the metadata log{} ends in {} bytes that can't be read: a commit that a loss of power cut "
          "off, "
          "or damage",
          where, of, flaw.bytes);
    case MetadataFlaw::Kind::kOffline:
      return fmt::format("metadata zone {} is offline; what it held is lost", flaw.zone.value);
  }
  return where;
}

}  // namespace zenfs
