#include "rocksdb_plugin/mapped_file.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "base/zeros.h"

namespace zenfs {
namespace {

constexpr std::size_t kPiece = 256 << 10;
constexpr std::byte kNotLoaded{0};
constexpr std::byte kLoaded{1};

}  // namespace

MappedFile::MappedFile(const FileHandle& file, ByteSpan memory)
    : file_(file),
      memory_(memory),
      loaded_(MakeZeroPages(std::max<std::size_t>(1, (memory.size() + kPiece - 1) / kPiece))) {}

MappedFile::~MappedFile() {
  if (!memory_.empty()) munmap(memory_.data(), memory_.size());
}

Result<std::unique_ptr<MappedFile>> MappedFile::Of(const FileHandle& file) {
  const std::uint64_t size = file.size();
  ByteSpan memory;
  if (size != 0) {
    // Pages count against the host's memory only after they are touched.
    void* mapped =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) {
      return Fail(Code::kNoSpace, fmt::format("no addresses for {} bytes of a file", size), errno);
    }
    memory = {static_cast<std::byte*>(mapped), size};
  }
  return std::unique_ptr<MappedFile>(new MappedFile(file, memory));
}

Result<ByteView> MappedFile::Read(std::uint64_t offset, std::size_t n) {
  if (offset >= memory_.size() || n == 0) return ByteView();
  const std::size_t length = std::min<std::uint64_t>(n, memory_.size() - offset);
  const std::size_t last = (offset + length - 1) / kPiece;
  for (std::size_t piece = offset / kPiece; piece <= last; ++piece) {
    if (Loaded(piece).load(std::memory_order_acquire) == kNotLoaded) ZENFS_RETURN_IF_ERROR(Load(piece));
  }
  return memory_.subspan(offset, length);
}

Status MappedFile::Load(std::size_t piece) {
  MutexLock lock(mutex_);
  if (Loaded(piece).load(std::memory_order_relaxed) != kNotLoaded) return {};
  const std::size_t start = piece * kPiece;
  const ByteSpan into = memory_.subspan(start, std::min(kPiece, memory_.size() - start));
  ZENFS_ASSIGN_OR_RETURN(const std::size_t count, file_.Read(start, into));
  if (count != into.size()) {
    return Fail(Code::kIo,
                fmt::format("{} bytes at {} of a file that was {} bytes long", count, start, memory_.size()));
  }
  Loaded(piece).store(kLoaded, std::memory_order_release);
  return {};
}

}  // namespace zenfs
