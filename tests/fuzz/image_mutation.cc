#include "image_mutation.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/coding.h"
#include "base/crc32c.h"
#include "device/joined_device.h"
#include "format/edit_codec.h"
#include "format/metalog_payload.h"
#include "format/pair_record.h"

namespace zenfs {
namespace {

constexpr std::size_t kMutationsMax = 32;
constexpr std::size_t kSuperblockCrcAt = 8;
constexpr std::uint64_t kFirstDeepId = 100'000;  // above the ids of the volumes

struct FramePlace {
  std::size_t at = 0;
  std::size_t bytes = 0;  // in whole blocks
};

class Mutator {
 public:
  Mutator(const ImageBase& base, const ImageAge& age, FuzzInput& input, ImageDevice::Image& image)
      : base_(base), age_(age), input_(input), image_(image), block_(base.geometry.block_size) {}

  void Run() {
    for (std::size_t i = 0; i < kMutationsMax && !input_.AtEnd(); ++i) {
      const auto which =
          static_cast<Mutation>(input_.Take<std::uint8_t>() % static_cast<unsigned>(Mutation::kCount));
      id_ = ZoneId(input_.Take<std::uint8_t>() % base_.geometry.zones);
      Carry(which);
    }
  }

 private:
  ImageDevice::Image::Zone& zone() { return image_.zones[id_.value]; }
  bool IsMetadata() const {
    return std::ranges::find(base_.superblock.metadata_zones, id_) != base_.superblock.metadata_zones.end();
  }

  void Carry(Mutation which) {
    switch (which) {
      case Mutation::kBytes: return Overwrite(zone().bytes, input_.Take<std::uint32_t>());
      case Mutation::kField: return SetField();
      case Mutation::kPayload: return ChangePayload();
      case Mutation::kCommit: return AddCommit();
      case Mutation::kLogFrame: return AddLogFrame();
      case Mutation::kDuplicate: return Duplicate();
      case Mutation::kDrop: return Drop();
      case Mutation::kSwap: return Swap();
      case Mutation::kCut: return Cut(input_.Take<std::uint8_t>());
      case Mutation::kCondition: zone().state.condition = TakeCondition(); return;
      case Mutation::kBroken: zone().broken.push_back(input_.Take<std::uint16_t>() % 256); return;
      case Mutation::kSplice: return Splice();
      case Mutation::kRenumber: return Renumber();
      case Mutation::kSuperblock: return ChangeSuperblock();
      case Mutation::kExtend: return Extend(input_.Take<std::uint8_t>());
      case Mutation::kPartner: return ChangePartner();
      case Mutation::kPairRecord: return ChangePairRecord();
      case Mutation::kDeep: return AddDeepTree();
      case Mutation::kCount: return;
    }
  }

  // --- frames ---
  std::vector<FramePlace> Frames() {
    std::vector<FramePlace> frames;
    const std::vector<std::byte>& bytes = zone().bytes;
    for (std::size_t at = IsMetadata() ? RoundUp(kSuperblockBytes, block_) : 0; at < bytes.size();) {
      const FrameHeader header = HeaderAt(at);
      const std::size_t length = RoundUp(std::uint64_t{header.header_bytes} + header.payload_bytes, block_);
      const bool whole = header.magic == kFrameMagic && length <= bytes.size() - at && length != 0;
      if (whole) frames.push_back({at, length});
      at += whole ? length : block_;
    }
    return frames;
  }
  FrameHeader HeaderAt(std::size_t at) {
    FrameHeader header;
    std::memcpy(static_cast<void*>(&header), zone().bytes.data() + at, sizeof header);
    return header;
  }
  bool Pick(FramePlace& place) {
    const std::vector<FramePlace> frames = Frames();
    const auto number = input_.Take<std::uint8_t>();
    if (!frames.empty()) place = frames[number % frames.size()];
    return !frames.empty();
  }

  FrameSeed SeedOf(const FrameHeader& header) {
    if (!IsMetadata()) {
      const auto allocated = age_.log_zones.find(id_);
      if (allocated == age_.log_zones.end()) return {};
      return FrameSeed::Of(base_.superblock.seed, id_, allocated->second.generation, allocated->second.salt);
    }
    const std::uint64_t salt = header.kind == FrameKind::kLogHeader ? 0 : Salt();
    return FrameSeed::Of(base_.superblock.seed, id_, header.file_offset, salt);
  }
  std::uint64_t Salt() {
    const std::size_t at = RoundUp(kSuperblockBytes, block_);
    if (zone().bytes.size() < at + block_) return 0;
    const auto log = DecodeLogHeader(ByteView(zone().bytes).subspan(at + kFrameHeaderBytes, 32));
    return log ? log->salt : 0;
  }
  // A header may claim more than exists: the frame is then left torn.
  void Seal(std::size_t at, const FrameHeader& header) {
    const ByteSpan bytes = ByteSpan(zone().bytes).subspan(at);
    const std::uint64_t length = std::uint64_t{header.header_bytes} + header.payload_bytes;
    if (header.header_bytes < kFrameHeaderBytes || length > bytes.size()) {
      std::memcpy(bytes.data(), &header, sizeof header);
      return;
    }
    SealFrame(bytes, header, SeedOf(header));
  }

  void SetField() {
    FramePlace place;
    const bool found = Pick(place);
    const auto field = input_.Take<std::uint8_t>();
    const auto value = input_.Take<std::uint64_t>();
    if (!found) return;
    FrameHeader header = HeaderAt(place.at);
    switch (field % 9) {
      case 0: header.kind = static_cast<FrameKind>(value % 9); break;
      case 1: header.time = static_cast<std::uint16_t>(value); break;
      case 2:
        header.header_bytes = value % 2 == 0 ? kFrameHeaderBytes : static_cast<std::uint32_t>(block_);
        break;
      case 3: header.payload_bytes = static_cast<std::uint32_t>(value); break;
      case 4: header.owner = value; break;
      case 5: header.sequence = value; break;
      case 6: header.file_offset = value; break;
      case 7: header.epoch = value; break;
      default: header.stable_sequence = value; break;
    }
    Seal(place.at, header);
  }

  void ChangePayload() {
    FramePlace place;
    const bool found = Pick(place);
    const auto at = input_.Take<std::uint16_t>();
    const ByteView bytes = input_.Bytes(input_.Take<std::uint8_t>());
    if (!found) return;
    const FrameHeader header = HeaderAt(place.at);
    if (header.payload_bytes == 0 || bytes.empty()) return;
    const std::size_t offset = at % header.payload_bytes;
    const std::size_t n = std::min<std::size_t>(bytes.size(), header.payload_bytes - offset);
    std::memcpy(zone().bytes.data() + place.at + header.header_bytes + offset, bytes.data(), n);
    Seal(place.at, header);
  }

  // Appends the frame to the written part of the zone, and makes room for it.
  void PutFrame(FrameHeader header, ByteView payload) {
    header.payload_bytes = static_cast<std::uint32_t>(payload.size());
    const std::size_t at = zone().bytes.size();
    const std::size_t length = RoundUp(kFrameHeaderBytes + payload.size(), block_);
    if (at + length > base_.geometry.capacity()) return;
    zone().bytes.resize(at + length);
    if (!payload.empty()) {
      std::memcpy(zone().bytes.data() + at + kFrameHeaderBytes, payload.data(), payload.size());
    }
    Seal(at, header);
    Written();
  }
  void Written() {
    zone().state.written = zone().bytes.size() / block_;
    if (zone().state.condition == ZoneCondition::kEmpty) zone().state.condition = ZoneCondition::kClosed;
  }

  void AddCommit() { PutCommit(input_.Bytes(input_.Take<std::uint16_t>() % 2048)); }

  // With long names, paths beyond the limit need few levels; thousands of levels would make an execution slow.
  void AddDeepTree() {
    const std::uint64_t levels = input_.Take<std::uint8_t>() % 64;
    const std::size_t name_bytes = 1 + input_.Take<std::uint8_t>();
    std::vector<Edit> edits{RaiseCounters{kFirstDeepId + levels + 2, 0},
                            CreateDirectory{FileId(kFirstDeepId), kRootDirectory, std::string(kDeepTree), 1}};
    for (std::uint64_t i = 0; i < levels; ++i) {
      edits.push_back(CreateDirectory{FileId(kFirstDeepId + i + 1), FileId(kFirstDeepId + i),
                                      std::string(name_bytes, 'd'), 1});
    }
    edits.push_back(CreateFile{.id = FileId(kFirstDeepId + levels + 1)});
    edits.push_back(LinkFile{FileId(kFirstDeepId + levels), "file", FileId(kFirstDeepId + levels + 1)});
    std::string list;
    EncodeEdits(edits, list);
    PutCommit(AsBytes(list));
  }

  void PutCommit(ByteView list) {
    const std::vector<FramePlace> frames = Frames();
    if (!IsMetadata() || frames.empty()) return;
    const FrameHeader last = HeaderAt(frames.back().at);
    // Data after bytes that are no frame would not be read.
    zone().bytes.resize(frames.back().at + frames.back().bytes);
    const std::string member(AsText(list));
    const std::string* const members[] = {&member};
    FrameHeader header{.kind = FrameKind::kCommit};
    header.sequence = header.stable_sequence = last.stable_sequence + 1;
    header.file_offset = last.file_offset;
    header.epoch = last.epoch + 1;
    PutFrame(header, AsBytes(EncodeCommit(members)));
  }

  void AddLogFrame() {
    FrameHeader header{.kind = FrameKind::kLogData};
    header.owner = input_.Take<std::uint64_t>();
    header.sequence = input_.Take<std::uint64_t>();
    header.file_offset = input_.Take<std::uint64_t>();
    header.epoch = input_.Take<std::uint64_t>();
    header.stable_sequence = input_.Take<std::uint64_t>();
    const std::string payload(input_.Take<std::uint8_t>() * 8, 'x');
    if (!IsMetadata()) PutFrame(header, AsBytes(payload));
  }

  void Duplicate() {
    FramePlace place;
    if (!Pick(place)) return;
    const auto first = zone().bytes.begin() + static_cast<std::ptrdiff_t>(place.at);
    const std::vector<std::byte> copy(first, first + static_cast<std::ptrdiff_t>(place.bytes));
    if (zone().bytes.size() + copy.size() > base_.geometry.capacity()) return;
    zone().bytes.insert(first, copy.begin(), copy.end());
    Written();
  }
  void Drop() {
    FramePlace place;
    if (!Pick(place)) return;
    const auto first = zone().bytes.begin() + static_cast<std::ptrdiff_t>(place.at);
    zone().bytes.erase(first, first + static_cast<std::ptrdiff_t>(place.bytes));
    Written();
  }
  void Swap() {
    FramePlace a;
    FramePlace b;
    if (!Pick(a) || !Pick(b) || a.at >= b.at) return;
    const auto begin = zone().bytes.begin();
    const auto at = [&](std::size_t offset) { return begin + static_cast<std::ptrdiff_t>(offset); };
    // [a][between][b] -> [b][a][between] is enough disorder.
    std::rotate(at(a.at), at(b.at), at(b.at + b.bytes));
  }
  void Renumber() {
    if (!IsMetadata()) return;
    std::optional<FrameHeader> last;
    for (const FramePlace& place : Frames()) {
      FrameHeader header = HeaderAt(place.at);
      if (last) header.epoch = last->epoch + 1;
      if (last && header.kind == FrameKind::kCommit) {
        const std::uint64_t more = header.stable_sequence - header.sequence;
        header.sequence = last->stable_sequence + 1;
        header.stable_sequence = header.sequence + more;
      } else if (last) {
        header.sequence = header.stable_sequence = last->stable_sequence;
      }
      Seal(place.at, header);
      last = header;
    }
  }

  // --- zones ---
  ZoneCondition TakeCondition() { return static_cast<ZoneCondition>(input_.Take<std::uint8_t>() % 8); }
  void Cut(std::size_t blocks) {
    std::vector<std::byte>& bytes = zone().bytes;
    bytes.resize(bytes.size() - std::min(blocks * block_, bytes.size()));
    zone().state.written = bytes.size() / block_;
    if (zone().state.condition == ZoneCondition::kFull) zone().state.condition = ZoneCondition::kClosed;
    if (bytes.empty()) zone().state.condition = ZoneCondition::kEmpty;
  }
  void Extend(std::size_t blocks) {
    const std::size_t bytes = zone().bytes.size() + blocks * block_;
    zone().bytes.resize(std::min<std::size_t>(bytes, base_.geometry.capacity()));
    Written();
  }
  void Splice() {
    const ImageAge& other = base_.ages[input_.Take<std::uint8_t>() % base_.ages.size()];
    zone() = other.image.zones[input_.Take<std::uint8_t>() % base_.geometry.zones];
  }
  // --- the second device ---
  void ChangePartner() {
    const ImageAge& other = base_.ages[input_.Take<std::uint8_t>() % base_.ages.size()];
    const std::uint32_t zones = base_.geometry.zones;
    for (std::uint32_t i = zones - base_.log_device.zones; i < zones; ++i)
      image_.zones[i] = other.image.zones[i];
  }
  void ChangePairRecord() {
    const auto number = input_.Take<std::uint8_t>();
    const auto field = input_.Take<std::uint8_t>();
    const auto value = input_.Take<std::uint64_t>();
    const std::size_t first = RoundUp(kSuperblockBytes, block_);
    const std::size_t step = RoundUp(kPairRecordBytes, block_);
    if (base_.log_device.zones == 0) return;
    id_ = ZoneId(base_.geometry.zones - 1 - id_.value % kPairZones);
    if (zone().bytes.size() < first + step) return;
    const std::size_t at = first + number % ((zone().bytes.size() - first) / step) * step;
    const ByteSpan bytes = ByteSpan(zone().bytes).subspan(at, kPairRecordBytes);
    std::optional<PairRecord> record = DecodePairRecord(bytes, base_.superblock.seed);
    if (!record) return;
    switch (field % 8) {
      case 0: record->epoch = value; break;
      case 1: record->sequence = value; break;
      case 2: record->offered = !record->offered; break;
      case 3: std::memcpy(record->key.bytes.data(), &value, sizeof value); break;
      case 4: std::memcpy(record->previous.bytes.data(), &value, sizeof value); break;
      case 5: std::swap(record->key, record->previous); break;
      case 6: record->main_identity.assign(value % kPairIdentityBytesMax, 'i'); break;
      default: record->logs_identity.assign(value % kPairIdentityBytesMax, 'i'); break;
    }
    const std::string sealed = EncodePairRecord(*record, base_.superblock.seed);
    std::memcpy(bytes.data(), sealed.data(), sealed.size());
  }
  void ChangeSuperblock() {
    const auto at = input_.Take<std::uint16_t>();
    if (zone().bytes.size() < kSuperblockBytes) {
      static_cast<void>(input_.Bytes(input_.Take<std::uint8_t>()));
      return;
    }
    const ByteSpan block = ByteSpan(zone().bytes).first(kSuperblockBytes);
    Overwrite(block, at);
    const std::uint32_t crc = Crc32c(block.subspan(kSuperblockCrcAt + sizeof crc));
    std::memcpy(block.data() + kSuperblockCrcAt, &crc, sizeof crc);
  }
  void Overwrite(ByteSpan where, std::size_t at) {
    const ByteView bytes = input_.Bytes(input_.Take<std::uint8_t>());
    if (where.empty() || bytes.empty()) return;
    const std::size_t offset = at % where.size();
    std::memcpy(where.data() + offset, bytes.data(), std::min(bytes.size(), where.size() - offset));
  }

  const ImageBase& base_;
  const ImageAge& age_;
  FuzzInput& input_;
  ImageDevice::Image& image_;
  const std::size_t block_;
  ZoneId id_;
};

}  // namespace

void Mutate(const ImageBase& base, const ImageAge& age, FuzzInput& input, ImageDevice::Image& image) {
  Mutator(base, age, input, image).Run();
}

}  // namespace zenfs
