#include "file/extent_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/aligned_buffer.h"
#include "file/extent_list.h"

namespace zenfs {
namespace {

// One device read. If it is not in place, `bounce` receives whole blocks, and their bytes from `skip` on are copied to
// `copy_to`.
struct Command {
  IoRequest io;
  AlignedBuffer bounce;
  ByteSpan copy_to;
  std::size_t skip = 0;
  ReadRequest* owner = nullptr;
  std::uint64_t file_offset = 0;
};

class Planner {
 public:
  explicit Planner(const Geometry& geometry)
      : block_(geometry.block_size),
        alignment_(std::min<std::size_t>(geometry.block_size, AlignedBuffer::kAlignment)) {}

  // Splits `request` into device commands. Errors: kCorruption if the extents do not cover it.
  Status Plan(std::span<const Extent> extents, ReadRequest& request, std::vector<Command>& commands) const {
    std::uint64_t offset = request.offset;
    ByteSpan into = request.into;
    auto it = FindExtent(extents, offset);
    for (; !into.empty(); ++it) {
      if (it == extents.end() || it->file_offset > offset) {
        return Fail(Code::kCorruption, fmt::format("no extent contains file offset {}", offset));
      }
      const std::size_t n = std::min<std::uint64_t>(into.size(), it->end() - offset);
      PlanPiece(it->place + (offset - it->file_offset), into.first(n), offset, request, commands);
      into = into.subspan(n);
      offset += n;
    }
    return {};
  }

 private:
  void PlanPiece(DeviceOffset place, ByteSpan into, std::uint64_t file_offset, ReadRequest& request,
                 std::vector<Command>& commands) const {
    const bool in_place = IsMultiple(place.value, block_) &&
                          IsMultiple(reinterpret_cast<std::uintptr_t>(into.data()), alignment_);
    const std::size_t direct = in_place ? RoundDown(into.size(), block_) : 0;
    if (direct != 0) {
      Command& command = commands.emplace_back();
      command.io.offset = place;
      command.io.read_into = into.first(direct);
      command.owner = &request;
      command.file_offset = file_offset;
    }
    if (direct == into.size()) return;
    Command& command = commands.emplace_back();
    const DeviceOffset from = place + direct;
    command.copy_to = into.subspan(direct);
    command.skip = from.value % block_;
    // The last block of an extent is padded on the device, so whole blocks can be read.
    const std::size_t length = RoundUp(command.skip + command.copy_to.size(), block_);
    command.bounce = AlignedBuffer(length);
    command.io.offset = DeviceOffset(from.value - command.skip);
    command.io.read_into = command.bounce.Whole().first(length);
    command.owner = &request;
    command.file_offset = file_offset + direct;
  }

  const std::uint64_t block_;
  const std::size_t alignment_;
};

void Complete(const Geometry& geometry, Command& command) {
  if (!command.io.status.ok()) {
    if (!command.owner->status.ok()) return;  // a request reports its first error
    command.owner->status = Fail(command.io.status.error().With(fmt::format(
        "reading {} bytes at file offset {} from zone {} at device offset {}", command.io.read_into.size(),
        command.file_offset, geometry.ZoneOf(command.io.offset).value, command.io.offset.value)));
    return;
  }
  if (!command.copy_to.empty()) {
    std::memcpy(command.copy_to.data(), command.bounce.data() + command.skip, command.copy_to.size());
  }
}

// Calls `visit(place, offset, length)` for each piece of [offset, offset + length) that lies in one extent. Returns the end of
// the last one before a gap.
template <typename Visit>
std::uint64_t ForEachPiece(std::span<const Extent> extents, std::uint64_t offset, std::uint64_t length,
                           const Visit& visit) {
  const std::uint64_t end = offset + length;
  for (auto it = FindExtent(extents, offset); offset < end; ++it) {
    if (it == extents.end() || it->file_offset > offset) break;
    const std::uint64_t n = std::min(end, it->end()) - offset;
    visit(it->place + (offset - it->file_offset), offset, n);
    offset += n;
  }
  return offset;
}

// Reads the requests through the cache. Requests that it can't read are left to the caller, with a status that is not OK.
void ReadThrough(HostCache& cache, std::span<const Extent> extents, std::span<ReadRequest> requests) {
  std::vector<CachedRead> reads;
  std::vector<ReadRequest*> owners;
  reads.reserve(requests.size());
  owners.reserve(requests.size());
  for (ReadRequest& request : requests) {
    const std::uint64_t end =
        ForEachPiece(extents, request.offset, request.into.size(),
                     [&](DeviceOffset place, std::uint64_t at, std::uint64_t n) {
                       reads.push_back({place, request.into.subspan(at - request.offset, n), {}});
                       owners.push_back(&request);
                     });
    const bool covered = end == request.offset + request.into.size();
    request.status = covered ? Status() : Fail(Code::kCorruption, "a gap");
  }
  if (!reads.empty()) cache.Read(reads);
  for (std::size_t i = 0; i < reads.size(); ++i) {
    if (!reads[i].status.ok()) owners[i]->status = std::move(reads[i].status);
  }
}

void ReadFromDevice(ZonedDevice& device, std::span<const Extent> extents, std::span<ReadRequest> requests) {
  const Planner planner(device.geometry());
  std::vector<Command> commands;
  commands.reserve(requests.size());
  for (ReadRequest& request : requests) {
    const std::size_t before = commands.size();
    request.status = planner.Plan(extents, request, commands);
    if (!request.status.ok()) commands.resize(before);
  }
  if (commands.size() == 1) {
    commands[0].io.status = device.Read(commands[0].io.offset, commands[0].io.read_into);
  } else if (!commands.empty()) {
    const auto queue = device.CreateQueue(commands.size());
    for (Command& command : commands) queue->Submit(&command.io);
    std::vector<IoRequest*> done;
    done.reserve(commands.size());
    queue->Reap(commands.size(), done);
  }
  for (Command& command : commands) Complete(device.geometry(), command);
}

}  // namespace

Status ReadExtents(ZonedDevice& device, std::span<const Extent> extents, std::uint64_t offset, ByteSpan into,
                   ReadSource source) {
  if (HostCache* const cache = source == ReadSource::kCache ? device.host_cache() : nullptr) {
    // Nearly all reads lie in one extent.
    const auto it = FindExtent(extents, offset);
    const bool inside = !into.empty() && it != extents.end() && it->file_offset <= offset &&
                        into.size() <= it->end() - offset;
    if (inside) {
      CachedRead read{it->place + (offset - it->file_offset), into, {}};
      cache->Read(std::span(&read, 1));
      if (read.status.ok()) return {};
      source = ReadSource::kDevice;
    }
  }
  ReadRequest request{offset, into, {}};
  ReadExtentsMany(device, extents, std::span<ReadRequest>(&request, 1), source);
  return std::move(request.status);
}

void ReadExtentsMany(ZonedDevice& device, std::span<const Extent> extents, std::span<ReadRequest> requests,
                     ReadSource source) {
  HostCache* const cache = source == ReadSource::kCache ? device.host_cache() : nullptr;
  if (cache == nullptr) return ReadFromDevice(device, extents, requests);
  ReadThrough(*cache, extents, requests);
  std::vector<ReadRequest> left;
  std::vector<ReadRequest*> owners;
  for (ReadRequest& request : requests) {
    if (request.status.ok()) continue;
    left.push_back({request.offset, request.into, {}});
    owners.push_back(&request);
  }
  ReadFromDevice(device, extents, left);
  for (std::size_t i = 0; i < left.size(); ++i) owners[i]->status = std::move(left[i].status);
}

void AdviseExtents(ZonedDevice& device, std::span<const Extent> extents, std::uint64_t offset,
                   std::uint64_t length, CacheAdvice advice) {
  HostCache* const cache = device.host_cache();
  if (cache == nullptr) return;
  ForEachPiece(extents, offset, length,
               [&](DeviceOffset place, std::uint64_t, std::uint64_t n) { cache->Advise(place, n, advice); });
}

}  // namespace zenfs
