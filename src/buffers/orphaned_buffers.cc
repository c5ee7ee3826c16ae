#include "buffers/orphaned_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/crc32c.h"
#include "buffers/buffer_area_place.h"
#include "format/buffer_area_layout.h"
#include "format/tail_record.h"

namespace zenfs {
namespace {

constexpr std::string_view kAdvice =
    "mount with discard_unsynced to discard bytes that were flushed and not synced";

Error Damaged(const std::string& path, const std::string& what) {
  return Error(Code::kCorruption, fmt::format("{}: {}; {}", path, what, kAdvice));
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

// The owner of a file that exists but could not be opened, if that user cannot have made it.
// Otherwise nothing.
std::optional<std::uint32_t> ForeignOwner(const std::string& path, const WhoseBuffers& whose) {
  const std::optional<std::uint32_t> owner = OwnerOfName(path);
  return owner && !IsTrustedOwner(*owner, whose.owners) ? owner : std::nullopt;
}

std::string ForeignNotice(const std::string& path, std::uint32_t owner) {
  return fmt::format(
      "{}: belongs to user {}, who does not own the device and did not make the append buffers of the last "
      "mount: ignored. The append buffers are gone: bytes that were flushed and not synced may be missing",
      path, owner);
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
  return std::ranges::all_of(memory.first(std::min(memory.size(), kBufferAreaHeaderBytes)),
                             [](std::byte b) { return b == std::byte{0}; });
}

struct Found {
  OrphanedBytes piece;
  std::optional<std::uint64_t> order;  // plain files only
};

Result<Found> ReadSlot(const BufferAreaHeader& header, const WhoseBuffers& whose, ByteView memory,
                       std::uint32_t slot, const BufferAreaControl& control, std::uint64_t word) {
  const std::uint64_t length = PublishedLength(word);
  if (length == 0 || length > header.buffer_bytes - kBufferAreaPayloadAt || control.record_bytes > length) {
    return Fail(Code::kCorruption, fmt::format("slot {} claims {} bytes", slot, length));
  }
  const ByteView all =
      memory.subspan(header.buffers_offset + slot * header.buffer_bytes + kBufferAreaPayloadAt, length);
  const std::uint32_t seed =
      BufferAreaSeed(whose.volume, header.epoch, control.owner, control.file_offset, control.record_bytes);
  if (Crc32c(all, seed) != PublishedCrc(word)) {
    return Fail(Code::kCorruption, fmt::format("the {} bytes of file {} in slot {} do not fit their checksum",
                                               length, control.owner, slot));
  }
  Found found{.piece = {.owner = FileId(control.owner),
                        .file_offset = control.file_offset,
                        .bytes = all.subspan(control.record_bytes),
                        .appended_seconds = control.appended_seconds},
              .order = {}};
  if (control.record_bytes == 0) return found;
  ZENFS_ASSIGN_OR_RETURN(TailRecord record, DecodeTailRecord(all.first(control.record_bytes)));
  if (record.uncommitted &&
      (record.uncommitted->id != found.piece.owner || record.uncommitted->size != found.piece.file_offset)) {
    return Fail(Code::kCorruption,
                fmt::format("the record in slot {} is not of file {}", slot, control.owner));
  }
  found.order = record.order;
  found.piece.uncommitted = std::move(record.uncommitted);
  return found;
}

Status CollectPieces(const BufferAreaHeader& header, const WhoseBuffers& whose, OrphanedBuffers& left) {
  const ByteView memory = left.memory.view();
  std::map<FileId, Found> tails;
  for (std::uint32_t slot = 0; slot < header.slots; ++slot) {
    const std::byte* const at = memory.data() + header.controls_offset + slot * sizeof(BufferAreaControl);
    const auto& control = *reinterpret_cast<const BufferAreaControl*>(at);
    const std::uint64_t word = control.published.load(std::memory_order_acquire);
    if (word == 0) continue;
    Result<Found> found = ReadSlot(header, whose, memory, slot, control, word);
    if (!found) return Fail(Damaged(left.memory.path(), found.error().ToString()));
    if (!found->order) {
      left.pieces.push_back(std::move(found->piece));
      continue;
    }
    // Two tails of one file remain if the process was killed while it wrote a new one; the later
    // one counts.
    const auto [it, is_first] = tails.try_emplace(found->piece.owner, *found);
    if (!is_first && it->second.order < found->order) it->second = *std::move(found);
  }
  for (auto& [owner, found] : tails) left.pieces.push_back(std::move(found.piece));
  std::ranges::sort(left.pieces, {},
                    [](const OrphanedBytes& p) { return std::tuple(p.owner.value, p.file_offset); });
  return {};
}

}  // namespace

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
    const auto foreign = ForeignOwner(place->path, whose);
    if (!foreign || whose.key.empty()) return Fail(CannotOpen(opened.error(), place->path, whose));
    left.notice = ForeignNotice(place->path, *foreign);
    return left;
  }
  left.memory = *std::move(opened);
  const Result<BufferAreaHeader> header = ReadBufferAreaHeader(left.memory.view());
  if (!header) return Fail(Damaged(place->path, header.error().ToString()));
  if (header->identity != whose.identity) {
    left.notice = fmt::format(
        "this device is a copy of one whose last mount did not end cleanly; bytes that were flushed and not "
        "synced stay with the original, in {}",
        place->path);
    left.memory = SharedMemory();
    return left;
  }
  ZENFS_RETURN_IF_ERROR(CheckIsOfMount(*header, whose, place->path));
  ZENFS_RETURN_IF_ERROR(CollectPieces(*header, whose, left));
  return left;
}

OrphanedBuffers LookAtOrphanedBuffers(const WhoseBuffers& whose) {
  OrphanedBuffers left;
  const auto place = BufferAreaPlace::Parse(whose.place);
  if (!place || place->boot != whose.boot) return left;
  Result<SharedMemory> opened =
      SharedMemory::Open(place->path, SharedMemory::Access::kReadDead, whose.owners);
  if (!opened && !whose.key.empty()) {
    if (const auto foreign = ForeignOwner(place->path, whose))
      left.notice = ForeignNotice(place->path, *foreign);
  }
  if (!opened) return left;
  left.memory = *std::move(opened);
  const Result<BufferAreaHeader> header = ReadBufferAreaHeader(left.memory.view());
  if (header && header->identity != whose.identity) return left;  // belongs to the original device
  Status whole = header ? CheckIsOfMount(*header, whose, place->path)
                        : Status(Fail(Damaged(place->path, header.error().ToString())));
  if (whole.ok()) whole = CollectPieces(*header, whose, left);
  if (!whole.ok()) {
    left.notice = whole.error().ToString();
    left.pieces.clear();  // incomplete and unsorted
  }
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
