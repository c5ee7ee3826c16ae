#include "staging/left_behind.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/crc32c.h"
#include "format/staging_layout.h"
#include "staging/staging_place.h"

namespace zenfs {
namespace {

constexpr std::string_view kAdvice = "mount with discard_unsynced to give up what was flushed and not synced";

Error Damaged(const std::string& path, const std::string& what) {
  return Error(Code::kCorruption, fmt::format("{}: {}; {}", path, what, kAdvice));
}

bool IsOfMount(const StagingHeader& header, const WhoseBuffers& whose) {
  return header.epoch == whose.epoch &&
         std::memcmp(header.volume, whose.volume.bytes.data(), sizeof(header.volume)) == 0;
}

// Its maker died before it wrote the header, so before anybody was told of it.
bool IsUnfinished(ByteView memory) {
  return std::ranges::all_of(memory.first(std::min(memory.size(), kStagingHeaderBytes)),
                             [](std::byte b) { return b == std::byte{0}; });
}

Status CollectPieces(const StagingHeader& header, const WhoseBuffers& whose, LeftBehind& left) {
  const ByteView memory = left.memory.view();
  for (std::uint32_t slot = 0; slot < header.slots; ++slot) {
    const std::byte* const at = memory.data() + header.controls_offset + slot * sizeof(StagingControl);
    const auto& control = *reinterpret_cast<const StagingControl*>(at);
    const std::uint64_t word = control.published.load(std::memory_order_acquire);
    if (word == 0) continue;
    const std::uint64_t length = PublishedLength(word);
    if (length == 0 || length > header.buffer_bytes - kStagingPayloadAt) {
      return Fail(Damaged(left.memory.path(), fmt::format("slot {} claims {} bytes", slot, length)));
    }
    const ByteView bytes =
        memory.subspan(header.buffers_offset + slot * header.buffer_bytes + kStagingPayloadAt, length);
    const std::uint32_t seed = StagingSeed(whose.volume, header.epoch, control.owner, control.file_offset);
    if (Crc32c(bytes, seed) != PublishedCrc(word)) {
      return Fail(
          Damaged(left.memory.path(), fmt::format("the {} bytes of file {} in slot {} do not fit their "
                                                  "checksum",
                                                  length, control.owner, slot)));
    }
    left.pieces.push_back({FileId(control.owner), control.file_offset, bytes});
  }
  std::ranges::sort(left.pieces, {},
                    [](const LeftBytes& p) { return std::tuple(p.owner.value, p.file_offset); });
  return {};
}

}  // namespace

Result<LeftBehind> OpenLeftBehind(const WhoseBuffers& whose) {
  LeftBehind left;
  if (whose.place.empty()) return left;
  const auto place = StagingPlace::Parse(whose.place);
  if (!place) {
    return Fail(Code::kCorruption,
                fmt::format("\"{}\" is no place of append buffers; {}", whose.place, kAdvice));
  }
  if (place->boot != whose.boot) return left;  // gone with the power
  Result<SharedMemory> opened = SharedMemory::Open(place->path, SharedMemory::Access::kTakeOver);
  if (!opened && opened.error().code() == Code::kNotFound) {
    left.notice = fmt::format(
        "the last mount did not end cleanly and its append buffers {} are gone: what was flushed and not "
        "synced then "
        "may be missing",
        place->path);
    return left;
  }
  if (!opened) {
    return Fail(Error(opened.error().code(), fmt::format("append buffers of the last mount: {}; {}",
                                                         opened.error().ToString(), kAdvice)));
  }
  left.memory = *std::move(opened);
  const Result<StagingHeader> header = ReadStagingHeader(left.memory.view());
  if (!header) return Fail(Damaged(place->path, header.error().ToString()));
  if (header->identity != whose.identity) {
    left.notice = fmt::format(
        "this device is a copy of one whose last mount did not end cleanly; what was flushed and not synced "
        "stays with "
        "the original, in {}",
        place->path);
    left.memory = SharedMemory();
    return left;
  }
  if (!IsOfMount(*header, whose)) return Fail(Damaged(place->path, "belongs to another mount"));
  ZENFS_RETURN_IF_ERROR(CollectPieces(*header, whose, left));
  return left;
}

LeftBehind LookAtLeftBehind(const WhoseBuffers& whose) {
  LeftBehind left;
  const auto place = StagingPlace::Parse(whose.place);
  if (!place || place->boot != whose.boot) return left;
  Result<SharedMemory> opened = SharedMemory::Open(place->path, SharedMemory::Access::kRead);
  if (!opened || opened->MakerLives()) return left;
  left.memory = *std::move(opened);
  const Result<StagingHeader> header = ReadStagingHeader(left.memory.view());
  if (header && header->identity != whose.identity) return left;  // the original's
  Status whole;
  if (!header) {
    whole = Fail(Damaged(place->path, header.error().ToString()));
  } else if (!IsOfMount(*header, whose)) {
    whole = Fail(Damaged(place->path, "belongs to another mount"));
  } else {
    whole = CollectPieces(*header, whose, left);
  }
  if (!whole) {
    left.notice = whole.error().ToString();
    left.pieces.clear();  // some, in no order
  }
  return left;
}

void SweepLeftBehind(const std::string& directory, const std::string& identity, const std::string& keep) {
  for (const std::string& path : ListSharedMemory(directory, StagingNamePrefix(identity))) {
    if (path == keep) continue;
    Result<SharedMemory> opened = SharedMemory::Open(path, SharedMemory::Access::kTakeOver);
    if (!opened) continue;  // not ours to remove
    const Result<StagingHeader> header = ReadStagingHeader(opened->view());
    // Identities share a prefix only by accident, but then it is another device's.
    if (header ? header->identity == identity : IsUnfinished(opened->view())) IgnoreError(opened->Unlink());
  }
}

}  // namespace zenfs
