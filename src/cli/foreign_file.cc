#include "cli/foreign_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace zenfs {

namespace {

constexpr std::size_t kPieceBytes = 1 << 20;
constexpr std::uint64_t kExtentCost =
    4096;  // at least this is taken for each run of data, so that their number is bounded too

}  // namespace

Result<ForeignFile> ForeignFile::Open(const std::string& path) {
  const UniqueFd named(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status{};
  if (!named.valid() || ::fstat(named.get(), &status) != 0) return FailErrno(errno, path);
  if (!S_ISREG(status.st_mode) || status.st_size == 0)
    return Fail(Code::kInvalidArgument, path + ": not a regular file, or empty");
  UniqueFd fd = UniqueFd::Reopened(named.get(), O_RDONLY);
  if (!fd.valid()) return FailErrno(errno, path);
  ForeignFile opened(std::move(fd), path);
  opened.size_ = static_cast<std::uint64_t>(status.st_size);
  opened.identity_ = {status.st_dev, status.st_ino};
  return opened;
}

std::size_t ForeignFile::ReadAt(std::uint64_t offset, std::span<char> into) const {
  std::size_t done = 0;
  while (done < into.size() && offset + done < size_) {
    const ssize_t bytes =
        ::pread(fd_.get(), into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) break;
    done += static_cast<std::size_t>(bytes);
  }
  return done;
}

Result<bool> ForeignFile::Search(std::string_view text, std::uint64_t begin, std::uint64_t end,
                                 std::uint64_t& bytes_left, const Visit& visit) const {
  const std::size_t overlap = text.size() + kContextBytes;
  std::string piece;
  end = std::min(end, size_);
  while (begin < end) {
    // A file system that knows no holes answers that all is data.
    const off_t data = ::lseek(fd_.get(), static_cast<off_t>(begin), SEEK_DATA);
    if (data < 0) return false;  // no data behind it, or the file was shortened
    const off_t hole = ::lseek(fd_.get(), data, SEEK_HOLE);
    std::uint64_t at = static_cast<std::uint64_t>(data);
    const std::uint64_t data_end = hole < 0 ? end : std::min(static_cast<std::uint64_t>(hole), end);
    while (at < data_end) {
      const std::size_t wanted = std::min<std::uint64_t>(kPieceBytes, data_end - at);
      const std::uint64_t cost = std::max<std::uint64_t>(wanted, kExtentCost);
      if (cost > bytes_left) return Fail(Code::kInvalidArgument, path_ + ": too much data to search");
      bytes_left -= cost;
      piece.resize(std::max<std::size_t>(piece.size(), wanted));
      const std::string_view bytes(piece.data(), ReadAt(at, {piece.data(), wanted}));
      const bool last = bytes.size() < wanted || at + wanted == data_end;
      const std::size_t own =
          last ? bytes.size() : wanted - overlap;  // what begins later is in the next piece as well
      for (std::size_t place = bytes.find(text); place < own; place = bytes.find(text, place + 1)) {
        if (visit(bytes.substr(place, overlap))) return true;
      }
      if (bytes.size() < wanted) return false;
      at += own;
    }
    begin = std::max(data_end, begin + 1);
  }
  return false;
}

}  // namespace zenfs
