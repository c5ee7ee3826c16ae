#include "format/edit_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace zenfs {
namespace {

// These numbers are on the medium: never reuse one.
enum class Tag : std::uint64_t {
  kCreateFile = 1,
  kCreateDirectory = 2,
  kLinkFile = 3,
  kUnlinkFile = 4,
  kRenameEntry = 5,
  kRemoveDirectory = 6,
  kSetExtents = 7,
  kSealLog = 8,
  kSetLifetime = 9,
  kAllocateLogZones = 10,
  kReleaseLogZones = 11,
  kBeginEpoch = 12,
  kRaiseCounters = 13,
  kSetBufferPlace = 14,
  kSetSummedExtents = 15,     // SetExtents with a checksum of at least one extent
  kSetKeyedBufferPlace = 16,  // SetBufferPlace with a key
  kMarkSyncZone = 17,
  kSetPairKey = 18,
};

constexpr std::size_t kMinEditBytes = 2;
constexpr std::size_t kMinExtentBytes = 3;
constexpr std::size_t kMinSummedExtentBytes = 4;
constexpr std::size_t kMinWindowBytes = 4;
constexpr std::size_t kMinLogZoneBytes = 3;
constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

struct Encoder {
  std::string& out;

  void Put(std::uint64_t value) { PutVarint(out, value); }
  void Put(FileId id) { PutVarint(out, id.value); }
  void Put(const std::string& name) { PutString(out, name); }

  Tag operator()(const CreateFile& e) {
    Put(e.id);
    Put(static_cast<std::uint64_t>(e.shape));
    Put(static_cast<std::uint64_t>(e.lifetime));
    Put(e.mtime_seconds);
    return Tag::kCreateFile;
  }
  Tag operator()(const CreateDirectory& e) {
    Put(e.id);
    Put(e.parent);
    Put(e.name);
    Put(e.mtime_seconds);
    return Tag::kCreateDirectory;
  }
  Tag operator()(const LinkFile& e) {
    Put(e.parent);
    Put(e.name);
    Put(e.id);
    return Tag::kLinkFile;
  }
  Tag operator()(const UnlinkFile& e) {
    Put(e.parent);
    Put(e.name);
    return Tag::kUnlinkFile;
  }
  Tag operator()(const RenameEntry& e) {
    Put(e.from_parent);
    Put(e.from_name);
    Put(e.to_parent);
    Put(e.to_name);
    return Tag::kRenameEntry;
  }
  Tag operator()(const RemoveDirectory& e) {
    Put(e.parent);
    Put(e.name);
    return Tag::kRemoveDirectory;
  }
  Tag operator()(const SetExtents& e) {
    const bool summed =
        std::ranges::any_of(e.extents, [](const Extent& extent) { return extent.crc.has_value(); });
    Put(e.id);
    Put(e.from_offset);
    Put(e.size);
    Put(e.mtime_seconds);
    Put(e.extents.size());
    for (const Extent& extent : e.extents) {
      Put(extent.file_offset);
      Put(extent.place.value);
      Put(extent.length);
      if (summed) Put(extent.crc ? std::uint64_t{*extent.crc} + 1 : 0);
    }
    return summed ? Tag::kSetSummedExtents : Tag::kSetExtents;
  }
  Tag operator()(const SealLog& e) {
    Put(e.id);
    Put(e.next_sequence);
    Put(e.size);
    Put(e.mtime_seconds);
    Put(e.windows.size());
    for (const LogWindow& window : e.windows) {
      Put(window.epoch);
      Put(window.first_sequence);
      Put(window.last_sequence);
      Put(window.end);
    }
    return Tag::kSealLog;
  }
  Tag operator()(const SetLifetime& e) {
    Put(e.id);
    Put(static_cast<std::uint64_t>(e.lifetime));
    return Tag::kSetLifetime;
  }
  Tag operator()(const AllocateLogZones& e) {
    Put(e.zones.size());
    for (const LogZone& zone : e.zones) {
      Put(zone.zone.value);
      Put(zone.generation);
      Put(zone.salt);
    }
    return Tag::kAllocateLogZones;
  }
  Tag operator()(const ReleaseLogZones& e) {
    Put(e.zones.size());
    for (const ZoneId zone : e.zones) Put(zone.value);
    return Tag::kReleaseLogZones;
  }
  Tag operator()(const BeginEpoch& e) {
    Put(e.epoch);
    return Tag::kBeginEpoch;
  }
  Tag operator()(const RaiseCounters& e) {
    Put(e.next_id);
    Put(e.next_generation);
    return Tag::kRaiseCounters;
  }
  Tag operator()(const SetBufferPlace& e) {
    Put(e.place);
    if (e.key.empty()) return Tag::kSetBufferPlace;
    Put(e.key);
    Put(e.maker);
    return Tag::kSetKeyedBufferPlace;
  }
  Tag operator()(const MarkSyncZone& e) {
    Put(e.zone.value);
    Put(e.bytes);
    return Tag::kMarkSyncZone;
  }
  Tag operator()(const SetPairKey& e) {
    out.append(reinterpret_cast<const char*>(e.key.bytes.data()), e.key.bytes.size());
    return Tag::kSetPairKey;
  }
};

// Reads the fields of one body. `ok` becomes false also if a value is out of the range of its type.
class Body {
 public:
  explicit Body(ByteView bytes) : in_(bytes) {}

  bool Complete() const { return ok_ && in_.ok() && in_.AtEnd(); }

  std::uint64_t Number() { return in_.Varint(); }
  FileId Id() { return FileId(in_.Varint()); }
  ZoneId Zone() { return ZoneId(User()); }
  std::uint32_t User() { return static_cast<std::uint32_t>(Below(std::uint64_t{1} << 32)); }
  // The checksum of an extent; 0 means unknown.
  KnownCrc Crc() {
    const std::uint64_t value = Below((std::uint64_t{1} << 32) + 1);
    if (value == 0) return std::nullopt;
    return static_cast<std::uint32_t>(value - 1);
  }
  FileShape Shape() { return static_cast<FileShape>(Below(2)); }
  Lifetime Life() { return static_cast<Lifetime>(Below(kLifetimeCount)); }
  std::string Name() {
    const std::string_view name = in_.String();
    if (!IsValidName(name)) ok_ = false;
    return ok_ ? std::string(name) : std::string();
  }
  std::string Text(std::size_t min_bytes, std::size_t max_bytes) {
    const std::string_view text = in_.String();
    if (text.size() < min_bytes || text.size() > max_bytes) ok_ = false;
    return ok_ ? std::string(text) : std::string();
  }
  Uuid Key() {
    const std::uint64_t halves[] = {in_.Fixed<std::uint64_t>(), in_.Fixed<std::uint64_t>()};
    Uuid key;
    static_assert(sizeof halves == sizeof key.bytes);
    std::memcpy(key.bytes.data(), halves, sizeof halves);
    return key;
  }
  template <typename Read>
  auto List(std::size_t min_bytes, Read read, std::uint64_t max = kNoLimit) {
    std::vector<decltype(read())> list;
    const std::uint64_t count = in_.Count(min_bytes);
    if (count > max) {
      ok_ = false;
      return list;
    }
    list.reserve(count);
    for (std::uint64_t i = 0; i < count && in_.ok(); ++i) list.push_back(read());
    return list;
  }

 private:
  std::uint64_t Below(std::uint64_t bound) {
    const std::uint64_t value = in_.Varint();
    if (value >= bound) ok_ = false;
    return ok_ ? value : 0;
  }

  Decoder in_;
  bool ok_ = true;
};

SetExtents DecodeSetExtents(Body& in, bool summed, std::uint64_t extents_max = kNoLimit) {
  SetExtents e;
  e.id = in.Id();
  e.from_offset = in.Number();
  e.size = in.Number();
  e.mtime_seconds = in.Number();
  const auto read = [&in, summed] {
    Extent extent;
    extent.file_offset = in.Number();
    extent.place = DeviceOffset(in.Number());
    extent.length = in.Number();
    if (summed) extent.crc = in.Crc();
    return extent;
  };
  e.extents = in.List(summed ? kMinSummedExtentBytes : kMinExtentBytes, read, extents_max);
  return e;
}

SealLog DecodeSealLog(Body& in) {
  SealLog e;
  e.id = in.Id();
  e.next_sequence = in.Number();
  e.size = in.Number();
  e.mtime_seconds = in.Number();
  e.windows = in.List(kMinWindowBytes, [&in] {
    LogWindow window;
    window.epoch = in.Number();
    window.first_sequence = in.Number();
    window.last_sequence = in.Number();
    window.end = in.Number();
    return window;
  });
  return e;
}

AllocateLogZones DecodeAllocate(Body& in) {
  return AllocateLogZones{in.List(kMinLogZoneBytes, [&in] {
    LogZone zone;
    zone.zone = in.Zone();
    zone.generation = in.Number();
    zone.salt = in.Number();
    return zone;
  })};
}

// Braced initializers are evaluated in order, so the fields are decoded from left to right.
Result<Edit> DecodeBody(Tag tag, Body& in) {
  switch (tag) {
    case Tag::kCreateFile: return CreateFile{in.Id(), in.Shape(), in.Life(), in.Number()};
    case Tag::kCreateDirectory: return CreateDirectory{in.Id(), in.Id(), in.Name(), in.Number()};
    case Tag::kLinkFile: return LinkFile{in.Id(), in.Name(), in.Id()};
    case Tag::kUnlinkFile: return UnlinkFile{in.Id(), in.Name()};
    case Tag::kRenameEntry: return RenameEntry{in.Id(), in.Name(), in.Id(), in.Name()};
    case Tag::kRemoveDirectory: return RemoveDirectory{in.Id(), in.Name()};
    case Tag::kSetExtents: return DecodeSetExtents(in, false);
    case Tag::kSealLog: return DecodeSealLog(in);
    case Tag::kSetLifetime: return SetLifetime{in.Id(), in.Life()};
    case Tag::kAllocateLogZones: return DecodeAllocate(in);
    case Tag::kReleaseLogZones: return ReleaseLogZones{in.List(1, [&in] { return in.Zone(); })};
    case Tag::kBeginEpoch: return BeginEpoch{in.Number()};
    case Tag::kRaiseCounters: return RaiseCounters{in.Number(), in.Number()};
    case Tag::kSetSummedExtents: return DecodeSetExtents(in, true);
    case Tag::kSetBufferPlace: return SetBufferPlace{in.Text(0, kMaxPlaceBytes)};
    case Tag::kSetKeyedBufferPlace:
      return SetBufferPlace{in.Text(0, kMaxPlaceBytes), in.Text(kBufferKeyBytes, kBufferKeyBytes), in.User()};
    case Tag::kMarkSyncZone: return MarkSyncZone{in.Zone(), in.Number()};
    case Tag::kSetPairKey: return SetPairKey{in.Key()};
  }
  return Fail(Code::kNotSupported,
              fmt::format("edit with unknown tag {}: written by a newer ZenFS, use that one",
                          static_cast<std::uint64_t>(tag)));
}

}  // namespace

namespace {

void EncodeBodies(std::span<const Edit> edits, std::string& out) {
  std::string body;
  for (const Edit& edit : edits) {
    body.clear();
    const Tag tag = std::visit(Encoder{body}, edit);
    PutVarint(out, static_cast<std::uint64_t>(tag));
    PutString(out, body);
  }
}

}  // namespace

void EncodeEdits(std::span<const Edit> edits, std::string& out) {
  PutVarint(out, edits.size());
  EncodeBodies(edits, out);
}

void EditListBuilder::Add(std::span<const Edit> edits) {
  EncodeBodies(edits, body_);
  count_ += edits.size();
}

std::string EditListBuilder::Take() {
  std::string list;
  list.reserve(size());
  PutVarint(list, count_);
  list += body_;
  body_.clear();
  count_ = 0;
  return list;
}

EditListReader::EditListReader(Decoder& decoder) : decoder_(decoder), count_(decoder.Count(kMinEditBytes)) {}

Result<Edit*> EditListReader::Next() {
  if (status_.ok()) status_ = ReadOne();
  if (!status_.ok()) return Fail(status_.error());
  return edit_ ? &*edit_ : nullptr;
}

Status EditListReader::ReadOne() {
  edit_.reset();
  if (decoder_.ok() && read_ == count_) return {};
  const auto tag = static_cast<Tag>(decoder_.Varint());
  const std::string_view bytes = decoder_.String();
  if (!decoder_.ok()) return Fail(Code::kCorruption, "a list of edits ends too early");
  ++read_;
  Body body(AsBytes(bytes));
  ZENFS_ASSIGN_OR_RETURN(edit_, DecodeBody(tag, body));
  if (!body.Complete()) {
    return Fail(Code::kCorruption, fmt::format("edit {} of {} with tag {} has an invalid body of {} bytes",
                                               read_, count_, static_cast<std::uint64_t>(tag), bytes.size()));
  }
  return {};
}

Status DecodeList(ByteView bytes, const std::function<Status(EditListReader&)>& take) {
  Decoder decoder(bytes);
  EditListReader list(decoder);
  ZENFS_RETURN_IF_ERROR(take(list));
  if (!decoder.AtEnd()) return Fail(Code::kCorruption, "extra bytes after a list of edits");
  return {};
}

Result<std::vector<Edit>> DecodeEdits(ByteView bytes) {
  std::vector<Edit> edits;
  ZENFS_RETURN_IF_ERROR(DecodeList(bytes, [&](EditListReader& list) -> Status {
    for (;;) {
      ZENFS_ASSIGN_OR_RETURN(Edit * edit, list.Next());
      if (edit == nullptr) return {};
      edits.push_back(std::move(*edit));
    }
  }));
  return edits;
}

Result<std::optional<SetExtents>> DecodeOneSetExtents(ByteView bytes, std::uint64_t extents_max) {
  Decoder decoder(bytes);
  const std::uint64_t count = decoder.Count(kMinEditBytes);
  if (decoder.ok() && count == 0 && decoder.AtEnd()) return std::nullopt;
  const auto tag = static_cast<Tag>(decoder.Varint());
  Body body(AsBytes(decoder.String()));
  if (!decoder.ok() || count != 1 || !decoder.AtEnd()) {
    return Fail(Code::kCorruption, "a list of edits other than one SetExtents");
  }
  if (tag != Tag::kSetExtents && tag != Tag::kSetSummedExtents) {
    Body none({});  // only for the error about an unknown tag
    ZENFS_ASSIGN_OR_RETURN([[maybe_unused]] const Edit other, DecodeBody(tag, none));
    return Fail(Code::kCorruption, "a list of edits other than one SetExtents");
  }
  SetExtents edit = DecodeSetExtents(body, tag == Tag::kSetSummedExtents, extents_max);
  if (!body.Complete()) {
    return Fail(Code::kCorruption,
                fmt::format("a SetExtents that is invalid, or has more than {} extents", extents_max));
  }
  return edit;
}

}  // namespace zenfs
