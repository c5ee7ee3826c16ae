#include "backends/emulator/host_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/free_bytes.h"
#include "base/short_bytes.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kPiece = 1 << 20;

}  // namespace

Status CheckHostSpace(const UniqueFd& fd, std::uint64_t needed, const std::string& what,
                      const std::string& path) {
  const auto free = FreeBytes(fd.get());
  if (!free || needed <= *free) return {};  // if it is unknown, a lack of space will show when writing
  return Fail(Code::kNoSpace, fmt::format("{} needs {}, and {} are free where {} would be", what,
                                          ShortBytes(needed), ShortBytes(*free), path));
}

Status ReserveHostSpace(const UniqueFd& fd, const EmulatorGeometry& geometry, const EmulatedLayout& layout,
                        const std::string& path, const EmulatedFileOptions& options) {
  const std::uint64_t of = geometry.capacity_of_all();
  ZENFS_RETURN_IF_ERROR(CheckHostSpace(fd, of, "the reserved device", path));
  const std::vector<std::byte> zeros(kPiece);
  std::uint64_t done = 0;
  for (std::uint32_t zone = 0; zone < geometry.zones; ++zone) {
    const std::uint64_t bytes = geometry.capacity_of(ZoneId(zone));
    for (std::uint64_t at = 0; at < bytes; at += kPiece) {
      if (options.stop != nullptr && *options.stop) return Fail(Code::kShutdown, "interrupted");
      const ByteView piece = ByteView(zeros).first(std::min(kPiece, bytes - at));
      ZENFS_RETURN_IF_ERROR(WriteAll(fd, layout.data_offset + zone * geometry.zone_size + at, piece, path));
      done += piece.size();
      if (options.progress) options.progress(done, of);
    }
  }
  return {};
}

}  // namespace zenfs
