#include "volume/shared_buffers.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "base/shared_memory.h"
#include "base/zeros.h"
#include "buffers/buffer_area_place.h"
#include "buffers/live_buffers.h"
#include "format/buffer_area_layout.h"
#include "metalog/probe.h"
#include "volume/flushed_bytes.h"
#include "volume/reader/live_state.h"

namespace zenfs {
namespace {

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::uint64_t HeldBytes(const std::vector<SlotControl>& controls) {
  std::uint64_t bytes = 0;
  for (const SlotControl& control : controls) {
    const std::uint64_t length = PublishedLength(control.published);
    bytes += length - std::min(length, control.record_bytes);
  }
  return bytes;
}

// `memory`: of the header only.
void Describe(const SharedMemory& memory, SharedBuffers& found) {
  const ByteView head = memory.view();
  if (IsZeros(head)) return;
  if (memory.file_bytes() > SharedMemory::kWholeBytesMax) {
    found.problem = Error(Code::kCorruption, fmt::format("{}: has {} bytes, more than {}", found.path,
                                                         memory.file_bytes(), SharedMemory::kWholeBytesMax));
    return;
  }
  const Result<BufferAreaHeader> header = ReadBufferAreaHeader(head, memory.file_bytes());
  if (!header) {
    found.problem = header.error().With(found.path);
    return;
  }
  const auto controls = ReadControls(memory, *header);
  if (!controls) {
    found.problem = controls.error();
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
  found.held_bytes = HeldBytes(*controls);
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
  const Result<SharedMemory> memory = SharedMemory::Open(
      path, SharedMemory::Access::kRead, {static_cast<std::uint32_t>(status.st_uid)}, kBufferAreaHeaderBytes);
  if (!memory) {
    found.problem = memory.error();
    return found;
  }
  found.in_use = memory->MakerLives();
  Describe(*memory, found);
  return found;
}

FoundBuffers FindSharedBuffers(const std::vector<std::string>& directories, std::size_t at_most) {
  std::set<std::string> own;  // of this user and of root
  std::set<std::string> foreign;
  for (const std::string& directory : directories) {
    for (std::string& path : ListSharedMemory(directory, "zenfs-")) {
      if (!IsBufferAreaName(BaseName(path))) continue;
      const auto owner = OwnerOfName(path);
      (owner && IsTrustedOwner(*owner, {}) ? own : foreign).insert(std::move(path));
    }
  }
  FoundBuffers all;
  for (const std::set<std::string>* paths : {&own, &foreign}) {
    for (const std::string& path : *paths) {
      if (all.files.size() == at_most) {
        ++all.omitted;
      } else {
        all.files.push_back(LookAtSharedBuffers(path));
      }
    }
  }
  std::ranges::sort(all.files, {}, &SharedBuffers::path);
  return all;
}

struct NeededBuffers::Metadata {
  explicit Metadata(ZonedDevice& device, Superblock superblock_read)
      : superblock(std::move(superblock_read)), live(device, superblock) {}

  const Superblock superblock;
  LiveState live;
  WhoseBuffers named;  // at the first look
};

NeededBuffers::NeededBuffers(ZonedDevice& device) : device_(device) {}

NeededBuffers::~NeededBuffers() = default;

Result<std::unique_ptr<NeededBuffers::Metadata>> NeededBuffers::ReadMetadata(ZonedDevice& device) {
  ZENFS_ASSIGN_OR_RETURN(Superblock superblock, ProbeSuperblock(device));
  auto metadata = std::make_unique<Metadata>(device, std::move(superblock));
  ZENFS_RETURN_IF_ERROR(metadata->live.Look([&](LiveState::View& view) -> Status {
    metadata->named = BuffersOf(view.state(), metadata->superblock.uuid, device);
    return {};
  }));
  return metadata;
}

Result<std::optional<std::uint64_t>> NeededBuffers::BytesOf(const SharedBuffers& found) {
  // Avoids a replay for files that any user may have put there. Without a header, only the name can be compared.
  const bool may_be_its = found.finished
                              ? found.identity == device_.identity()
                              : BaseName(found.path).starts_with(BufferAreaNamePrefix(device_.identity()));
  if (!may_be_its) return std::nullopt;
  if (!metadata_) metadata_ = ReadMetadata(device_);
  if (!*metadata_) return Fail(metadata_->error());
  Metadata& metadata = ***metadata_;
  if (!IsNamedBy(metadata.named, found)) return std::nullopt;
  if (found.problem) return found.held_bytes;
  if (contents_read_ == kContentsRead) {
    return Fail(Code::kBusy,
                fmt::format("{}: was not read, because {} other files claim to be the same append "
                            "buffers of {}; name this one alone",
                            found.path, kContentsRead, device_.name()));
  }
  ++contents_read_;
  std::optional<std::uint64_t> needed;
  ZENFS_RETURN_IF_ERROR(metadata.live.Look([&](LiveState::View& view) -> Status {
    needed = found.held_bytes;  // Look may call this again
    WhoseBuffers whose = metadata.named;
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
  ZENFS_ASSIGN_OR_RETURN(SharedMemory memory, SharedMemory::Open(found.path, SharedMemory::Access::kTakeOver,
                                                                 {found.user}, kBufferAreaHeaderBytes));
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
