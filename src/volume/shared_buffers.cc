#include "volume/shared_buffers.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "base/shared_memory.h"
#include "buffers/buffer_area_place.h"
#include "format/buffer_area_layout.h"
#include "metalog/probe.h"
#include "volume/live_state.h"
#include "volume/waiting_bytes.h"

namespace zenfs {
namespace {

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::uint64_t HeldBytes(const BufferAreaHeader& header, ByteView memory) {
  std::uint64_t bytes = 0;
  for (std::uint32_t slot = 0; slot < header.slots; ++slot) {
    const std::byte* const at = memory.data() + header.controls_offset + slot * sizeof(BufferAreaControl);
    const auto& control = *reinterpret_cast<const BufferAreaControl*>(at);
    const std::uint64_t length = PublishedLength(control.published.load(std::memory_order_acquire));
    bytes += length - std::min(length, control.record_bytes);
  }
  return bytes;
}

void Describe(const SharedMemory& memory, SharedBuffers& found) {
  const ByteView bytes = memory.view();
  const ByteView head = bytes.first(std::min<std::size_t>(bytes.size(), kBufferAreaHeaderBytes));
  if (std::ranges::all_of(head, [](std::byte b) { return b == std::byte{0}; })) return;
  const Result<BufferAreaHeader> header = ReadBufferAreaHeader(bytes);
  if (!header) {
    found.problem = header.error().With(found.path);
    return;
  }
  found.finished = true;
  std::memcpy(found.volume.bytes.data(), header->volume, sizeof(header->volume));
  found.identity = header->identity;
  found.epoch = header->epoch;
  found.key.assign(reinterpret_cast<const char*>(header->key), sizeof(header->key));
  if (std::ranges::all_of(found.key, [](char c) { return c == '\0'; })) found.key.clear();
  found.process = header->process;
  found.created_seconds = header->created_seconds;
  found.held_bytes = HeldBytes(*header, bytes);
}

bool IsNamedBy(const WhoseBuffers& whose, const SharedBuffers& found) {
  if (whose.place.empty()) return false;
  if (found.finished)
    return whose.volume == found.volume && whose.key == found.key &&
           (whose.key.empty() ? found.epoch == whose.epoch : found.epoch <= whose.epoch);
  const auto place = BufferAreaPlace::Parse(whose.place);
  return found.problem && place && BaseName(place->path) == BaseName(found.path);
}

}  // namespace

SharedBuffers LookAtSharedBuffers(const std::string& path) {
  SharedBuffers found{.path = path, .problem = {}};
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0) {
    found.problem = FailErrno(errno, fmt::format("{}: stat failed", path)).error();
    return found;
  }
  // Otherwise a typing error could name, and remove, any file.
  if (!IsBufferAreaName(BaseName(path))) {
    found.problem =
        Error(Code::kInvalidArgument, fmt::format("{}: the name is not one of append buffers", path));
    return found;
  }
  found.user = status.st_uid;
  found.size = static_cast<std::uint64_t>(status.st_size);
  const Result<SharedMemory> memory =
      SharedMemory::Open(path, SharedMemory::Access::kRead, {static_cast<std::uint32_t>(status.st_uid)});
  if (!memory) {
    found.problem = memory.error();
    return found;
  }
  found.in_use = memory->MakerLives();
  Describe(*memory, found);
  return found;
}

std::vector<SharedBuffers> FindSharedBuffers(const std::vector<std::string>& directories) {
  std::vector<SharedBuffers> all;
  for (const std::string& directory : directories) {
    for (const std::string& path : ListSharedMemory(directory, "zenfs-")) {
      if (IsBufferAreaName(BaseName(path))) all.push_back(LookAtSharedBuffers(path));
    }
  }
  std::ranges::sort(all, {}, &SharedBuffers::path);
  const auto twice = std::ranges::unique(all, {}, &SharedBuffers::path);
  all.erase(twice.begin(), twice.end());
  return all;
}

Result<std::optional<std::uint64_t>> BytesNeededBy(ZonedDevice& device, const SharedBuffers& found) {
  // Avoids a replay for files that any user may have put there. Without a header, only the name can be compared.
  const bool may_be_its = found.finished
                              ? found.identity == device.identity()
                              : BaseName(found.path).starts_with(BufferAreaNamePrefix(device.identity()));
  if (!may_be_its) return std::nullopt;
  ZENFS_ASSIGN_OR_RETURN(const Superblock superblock, ProbeSuperblock(device));
  LiveState live(device, superblock);
  std::optional<std::uint64_t> needed;
  ZENFS_RETURN_IF_ERROR(live.Look([&](LiveState::View& view) -> Status {
    needed.reset();  // Look may call this again
    WhoseBuffers whose = BuffersOf(view.state(), superblock.uuid, device);
    if (!IsNamedBy(whose, found)) return {};
    needed = found.held_bytes;
    if (found.problem) return {};
    whose.place = BufferAreaPlace{.boot = whose.boot, .path = found.path}.ToText();
    whose.owners.push_back(found.user);
    LiveBuffers buffers;
    buffers.Update(whose, Deadline::After(LogFollower::kPatience));
    if (!buffers.opened() || buffers.MakerLives()) return {};
    Status sized;
    const WaitingBytes waiting = CountWaitingBytes(buffers, [&](FileId id) -> std::optional<std::uint64_t> {
      const auto record = view.state().FindFile(id);
      if (record == nullptr) return std::nullopt;
      const Result<std::uint64_t> size = view.DeviceSizeOf(record);
      if (!size) sized = Fail(size.error());
      return size ? *size : 0;
    });
    if (sized.ok()) needed = waiting.bytes;
    return sized;
  }));
  return needed;
}

Status RemoveSharedBuffers(const SharedBuffers& found) {
  ZENFS_ASSIGN_OR_RETURN(SharedMemory memory,
                         SharedMemory::Open(found.path, SharedMemory::Access::kTakeOver, {found.user}));
  // The file is locked: from here on no process can begin to use it.
  SharedBuffers now{.path = found.path, .problem = {}};
  Describe(memory, now);
  if (now.finished != found.finished || now.problem.has_value() != found.problem.has_value() ||
      now.volume != found.volume || now.epoch != found.epoch || now.key != found.key ||
      now.held_bytes != found.held_bytes) {
    return Fail(Code::kBusy, fmt::format("{}: has changed meanwhile; list the buffers again", found.path));
  }
  return memory.Unlink();
}

}  // namespace zenfs
