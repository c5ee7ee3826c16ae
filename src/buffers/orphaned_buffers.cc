#include "buffers/orphaned_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>
#include <utility>

#include "base/crc32c.h"
#include "base/zeros.h"
#include "buffers/buffer_area_place.h"
#include "format/buffer_area_layout.h"

namespace zenfs {
namespace {

constexpr std::string_view kAdvice =
    "mount with discard_unsynced to discard bytes that were flushed and not synced";

Error Damaged(const std::string& path, const std::string& what) {
  return Error(Code::kCorruption, fmt::format("{}: {}; {}", path, what, kAdvice));
}

// The owner of a file that exists but could not be opened, if that user cannot have made it.
// Otherwise nothing.
std::optional<std::uint32_t> ForeignOwner(const std::string& path, const WhoseBuffers& whose) {
  const std::optional<std::uint32_t> owner = OwnerOfName(path);
  return owner && !IsTrustedOwner(*owner, whose.owners) ? owner : std::nullopt;
}

Error CannotOpen(const Error& error, const std::string& path, const WhoseBuffers& whose) {
  const std::string text = fmt::format("append buffers of the last mount: {}", error.ToString());
  if (!ForeignOwner(path, whose)) return Error(error.code(), fmt::format("{}; {}", text, kAdvice));
  return Error(error.code(), fmt::format("{}. If that user mounted the device: mount it once as that user, "
                                         "or give the file to root (chown); otherwise {}",
                                         text, kAdvice));
}

// For buffers whose process lives: the error if they belong to another device, so that this one is a copy. Otherwise nothing.
std::optional<Error> CopyOfMounted(const std::string& path, const WhoseBuffers& whose) {
  const Result<SharedMemory> memory = SharedMemory::Open(path, SharedMemory::Access::kRead, whose.owners);
  if (!memory) return std::nullopt;
  const Result<BufferAreaHeader> header = ReadBufferAreaHeader(memory->view());
  if (!header || header->identity == whose.identity) return std::nullopt;
  return Error(
      Code::kBusy,
      fmt::format("this device is a copy of one that process {} has mounted; bytes that were flushed and "
                  "not synced when it was copied are with the original only, in {}; mount the copy with "
                  "discard_unsynced to use it without them",
                  header->process, path));
}

// True if the process died before it wrote the header. No place of such a file was ever committed.
bool IsUnfinished(ByteView memory) {
  return IsZeros(memory.first(std::min(memory.size(), kBufferAreaHeaderBytes)));
}

SlotControl Load(const BufferAreaControl& control) {
  const std::uint64_t published = control.published.load(std::memory_order_acquire);
  return {published, control.owner, control.file_offset, control.record_bytes, control.appended_seconds};
}

Status CollectPieces(const BufferAreaHeader& header, const WhoseBuffers& whose, OrphanedBuffers& left) {
  const ByteView memory = left.memory.view();
  std::vector<SlotContent> contents;
  for (std::uint32_t slot = 0; slot < header.slots; ++slot) {
    const std::byte* const at = memory.data() + header.controls_offset + slot * sizeof(BufferAreaControl);
    const SlotControl control = Load(*reinterpret_cast<const BufferAreaControl*>(at));
    if (control.empty()) continue;
    const auto content = [&]() -> Result<SlotContent> {
      ZENFS_RETURN_IF_ERROR(CheckSlotLength(header, slot, control));
      const ByteView all =
          memory.subspan(header.buffers_offset + slot * header.buffer_bytes + kBufferAreaPayloadAt,
                         PublishedLength(control.published));
      return ReadSlot(header, slot, control, all, Crc32c(all, SlotSeed(header, whose, control)));
    }();
    if (!content) return Fail(Damaged(left.memory.path(), content.error().ToString()));
    contents.push_back(*content);
  }
  KeepLatestTails(contents);
  for (SlotContent& content : contents) left.pieces.push_back(std::move(content.piece));
  return {};
}

}  // namespace

Status CheckSlotLength(const BufferAreaHeader& header, std::uint32_t slot, const SlotControl& control) {
  const std::uint64_t length = PublishedLength(control.published);
  if (length != 0 && length <= header.buffer_bytes - kBufferAreaPayloadAt && control.record_bytes <= length)
    return {};
  return Fail(Code::kCorruption, fmt::format("slot {} claims {} bytes", slot, length));
}

std::uint32_t SlotSeed(const BufferAreaHeader& header, const WhoseBuffers& whose,
                       const SlotControl& control) {
  return BufferAreaSeed(whose.volume, header.epoch, control.owner, control.file_offset, control.record_bytes);
}

Result<SlotContent> ReadSlot(const BufferAreaHeader& header, std::uint32_t slot, const SlotControl& control,
                             ByteView all, std::uint32_t crc) {
  if (crc != PublishedCrc(control.published)) {
    return Fail(Code::kCorruption, fmt::format("the {} bytes of file {} in slot {} do not fit their checksum",
                                               all.size(), control.owner, slot));
  }
  SlotContent content{.piece = {.owner = FileId(control.owner),
                                .file_offset = control.file_offset,
                                .bytes = all.subspan(control.record_bytes),
                                .appended_seconds = control.appended_seconds,
                                .plain = control.record_bytes != 0},
                      .order = {},
                      .slot = slot};
  if (control.record_bytes == 0) return content;
  Result<TailRecord> decoded = DecodeTailRecord(all.first(control.record_bytes), RecordedExtentsMax(header));
  if (!decoded) return Fail(decoded.error().With(fmt::format("slot {}", slot)));
  TailRecord& record = *decoded;
  if (record.uncommitted && (record.uncommitted->id != content.piece.owner ||
                             record.uncommitted->size != content.piece.file_offset)) {
    return Fail(Code::kCorruption,
                fmt::format("the record in slot {} is not of file {}", slot, control.owner));
  }
  content.order = record.order;
  if (record.uncommitted)
    content.piece.uncommitted = std::make_shared<const SetExtents>(*std::move(record.uncommitted));
  return content;
}

void ExtendContent(SlotContent& content, const SlotControl& control, ByteView all) {
  content.piece.bytes = all.subspan(control.record_bytes);
  content.piece.appended_seconds = control.appended_seconds;
}

// Two tails of one file remain if the process was killed while it wrote a new one.
void KeepLatestTails(std::vector<SlotContent>& contents) {
  std::ranges::sort(contents, [](const SlotContent& a, const SlotContent& b) {
    return std::tuple(a.piece.owner.value, a.order.has_value(), b.order, a.piece.file_offset) <
           std::tuple(b.piece.owner.value, b.order.has_value(), a.order, b.piece.file_offset);
  });
  const auto superseded = std::ranges::unique(contents, [](const SlotContent& a, const SlotContent& b) {
    return a.order && b.order && a.piece.owner == b.piece.owner;
  });
  contents.erase(superseded.begin(), superseded.end());
  std::ranges::sort(contents, {}, [](const SlotContent& content) {
    return std::tuple(content.piece.owner.value, content.piece.file_offset);
  });
}

Status CheckIsOfMount(const BufferAreaHeader& header, const WhoseBuffers& whose, const std::string& path) {
  // A mount without room in its own buffers leaves those of an earlier mount named. The key proves that they are these.
  const bool may_be_older = !whose.key.empty() && header.epoch < whose.epoch;
  if ((header.epoch != whose.epoch && !may_be_older) ||
      std::memcmp(header.volume, whose.volume.bytes.data(), sizeof(header.volume)) != 0) {
    return Fail(Damaged(path, "belongs to another mount"));
  }
  std::uint8_t key[sizeof(header.key)] = {};
  std::memcpy(key, whose.key.data(), std::min(whose.key.size(), sizeof(key)));
  if (std::memcmp(header.key, key, sizeof(key)) == 0) return {};
  return Fail(Damaged(path, "does not have the key on the device, so the last mount did not make it"));
}

std::optional<std::string> ForeignNotice(const std::string& path, const WhoseBuffers& whose) {
  const auto owner = ForeignOwner(path, whose);
  if (!owner) return std::nullopt;
  return fmt::format(
      "{}: belongs to user {}, who does not own the device and did not make the append buffers of the last "
      "mount: ignored. The append buffers are gone: bytes that were flushed and not synced may be missing",
      path, *owner);
}

std::string CopyNotice(const std::string& path) {
  return fmt::format(
      "this device is a copy of one whose last mount did not end cleanly; bytes that were flushed and not "
      "synced stay with the original, in {}",
      path);
}

Result<OrphanedBuffers> OpenOrphanedBuffers(const WhoseBuffers& whose) {
  OrphanedBuffers left;
  if (whose.place.empty()) return left;
  const auto place = BufferAreaPlace::Parse(whose.place);
  if (!place) {
    return Fail(Code::kCorruption,
                fmt::format("\"{}\" is not a valid place of append buffers; {}", whose.place, kAdvice));
  }
  if (place->boot != whose.boot) return left;  // lost at the reboot
  Result<SharedMemory> opened =
      SharedMemory::Open(place->path, SharedMemory::Access::kTakeOver, whose.owners);
  if (!opened && opened.error().code() == Code::kNotFound) {
    left.notice = fmt::format(
        "the last mount did not end cleanly and its append buffers {} are gone: bytes that were flushed and "
        "not synced may be missing",
        place->path);
    return left;
  }
  if (!opened && opened.error().code() == Code::kBusy) {
    if (auto copy = CopyOfMounted(place->path, whose)) return Fail(*std::move(copy));
  }
  if (!opened) {
    auto foreign = ForeignNotice(place->path, whose);
    if (!foreign || whose.key.empty()) return Fail(CannotOpen(opened.error(), place->path, whose));
    left.notice = *std::move(foreign);
    return left;
  }
  left.memory = *std::move(opened);
  const Result<BufferAreaHeader> header = ReadBufferAreaHeader(left.memory.view());
  if (!header) return Fail(Damaged(place->path, header.error().ToString()));
  if (header->identity != whose.identity) {
    left.notice = CopyNotice(place->path);
    left.memory = SharedMemory();
    return left;
  }
  ZENFS_RETURN_IF_ERROR(CheckIsOfMount(*header, whose, place->path));
  ZENFS_RETURN_IF_ERROR(CollectPieces(*header, whose, left));
  return left;
}

void SweepOrphanedBuffers(const std::string& directory, const std::string& identity, const std::string& keep,
                          const std::vector<std::uint32_t>& owners) {
  for (const std::string& path : ListSharedMemory(directory, BufferAreaNamePrefix(identity))) {
    if (path == keep) continue;
    Result<SharedMemory> opened = SharedMemory::Open(path, SharedMemory::Access::kTakeOver, owners);
    if (!opened) continue;  // may not be removed
    const Result<BufferAreaHeader> header = ReadBufferAreaHeader(opened->view());
    // Different identities can have the same prefix by accident; the file then belongs to another
    // device.
    if (header ? header->identity == identity : IsUnfinished(opened->view())) IgnoreError(opened->Unlink());
  }
}

}  // namespace zenfs
