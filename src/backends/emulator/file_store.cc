#include "backends/emulator/file_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "backends/emulator/emulated_file.h"
#include "base/clock.h"
#include "base/file_size_limit.h"
#include "base/zeros.h"

namespace zenfs {
namespace {

// The host lets one thread at a time change a file. Small writes must not wait long for large ones, or for holes.
constexpr std::size_t kWritePiece = 128 << 10;
constexpr std::uint64_t kPunchPiece = 512 << 10;
constexpr std::chrono::microseconds kPunchPause{20};

constexpr std::size_t kDirectBytes = 64 << 10;    // smaller writes are faster through the page cache
constexpr std::uint64_t kDirectAlignment = 4096;  // what hosts ask for; a larger one ends in EINVAL

std::unexpected<Error> HostError(int os_errno, std::string text) {
  if (os_errno == ENOSPC || os_errno == EDQUOT || os_errno == EFBIG)
    text += ": the host has no space for this emulated device";
  return Fail(Code::kIo, std::move(text), os_errno);
}

void DropFront(std::vector<iovec>& vectors, std::size_t& first, std::size_t done) {
  while (first < vectors.size() && done >= vectors[first].iov_len) done -= vectors[first++].iov_len;
  if (first == vectors.size()) return;
  vectors[first].iov_base = static_cast<char*>(vectors[first].iov_base) + done;
  vectors[first].iov_len -= done;
}

// Those that one call writes.
std::span<const iovec> FirstOf(std::span<const iovec> vectors) {
  std::size_t count = 0;
  for (std::size_t bytes = 0; count < std::min<std::size_t>(vectors.size(), IOV_MAX); ++count) {
    bytes += vectors[count].iov_len;
    if (count != 0 && bytes > kWritePiece) break;
  }
  return vectors.first(count);
}

// Returns 0 or the errno.
int Fallocate(int fd, int mode, std::uint64_t at, std::uint64_t bytes) {
  while (::fallocate(fd, mode, static_cast<off_t>(at), static_cast<off_t>(bytes)) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

bool IsAligned(ByteView piece) {
  return (reinterpret_cast<std::uintptr_t>(piece.data()) | piece.size()) % kDirectAlignment == 0;
}

constexpr std::uint64_t kZeroPiece = 1 << 20;

}  // namespace

ImageFile::ImageFile(std::string path, UniqueFd fd, std::uint64_t bytes, bool direct)
    : path_(std::move(path)),
      fd_(std::move(fd)),
      direct_(direct ? UniqueFd::Reopened(fd_.get(), O_WRONLY | O_DIRECT) : UniqueFd()),
      bytes_(bytes),
      limited_(HasFileSizeLimit()) {}

int ImageFile::FdFor(std::uint64_t at, std::span<const ByteView> pieces) const {
  if (!direct_.valid() || at % kDirectAlignment != 0) return fd_.get();
  std::size_t bytes = 0;
  for (const ByteView piece : pieces) bytes += piece.size();
  return bytes >= kDirectBytes && std::ranges::all_of(pieces, IsAligned) ? direct_.get() : fd_.get();
}

Status ImageFile::Shortened() const {
  shortened_.store(true, std::memory_order_relaxed);
  return Fail(Code::kIo, fmt::format("{} was cut off while in use: this device is gone", path_));
}

Status ImageFile::Check() const {
  if (shortened_.load(std::memory_order_relaxed)) return Shortened();
  if (table_failed_.load(std::memory_order_relaxed)) {
    return Fail(Code::kIo,
                fmt::format("{}: the zone table could not be written, so this device is gone until it "
                            "is opened again",
                            path_));
  }
  // Faster than fstat. Nothing here uses the file position.
  const off_t end = ::lseek(fd_.get(), 0, SEEK_END);
  if (end < 0) return HostError(errno, fmt::format("look for the end of {}", path_));
  return static_cast<std::uint64_t>(end) < bytes_ ? Shortened() : Status{};
}

Status ImageFile::Read(std::uint64_t at, ByteSpan into) const {
  if (shortened_.load(std::memory_order_relaxed)) return Shortened();
  while (!into.empty()) {
    const ssize_t n = ::pread(fd_.get(), into.data(), into.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return HostError(errno, fmt::format("read {} at {}", path_, at));
    if (n == 0) return Shortened();
    into = into.subspan(static_cast<std::size_t>(n));
    at += static_cast<std::uint64_t>(n);
  }
  return {};
}

Status ImageFile::Write(std::uint64_t at, std::span<const ByteView> pieces) {
  const NoFileSizeSignal no_signal(limited_);
  std::vector<iovec> vectors;
  vectors.reserve(pieces.size());
  for (ByteView piece : pieces) {
    for (; !piece.empty(); piece = piece.subspan(std::min(kWritePiece, piece.size())))
      vectors.push_back({const_cast<std::byte*>(piece.data()), std::min(kWritePiece, piece.size())});
  }
  int fd = FdFor(at, pieces);
  std::size_t first = 0;
  while (first < vectors.size()) {
    const std::span<const iovec> some = FirstOf(std::span(vectors).subspan(first));
    const ssize_t n = ::pwritev(fd, some.data(), static_cast<int>(some.size()), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EINVAL && fd != fd_.get()) {
      fd = fd_.get();  // the rest of a short write has another alignment, or the host asks for a larger one
      continue;
    }
    if (n < 0) return HostError(errno, fmt::format("write {} at {}", path_, at));
    at += static_cast<std::uint64_t>(n);
    DropFront(vectors, first, static_cast<std::size_t>(n));
  }
  return {};
}

Status ImageFile::WriteWord(std::uint64_t at, std::uint64_t word) {
  const NoFileSizeSignal no_signal(limited_);
  ssize_t n = -1;
  do n = ::pwrite(fd_.get(), &word, sizeof word, static_cast<off_t>(at));
  while (n < 0 && errno == EINTR);
  if (n == static_cast<ssize_t>(sizeof word)) return {};
  table_failed_.store(true, std::memory_order_relaxed);
  return HostError(n < 0 ? errno : EIO, fmt::format("write the zone table of {}", path_));
}

Status ImageFile::Allocate(std::uint64_t at, std::uint64_t bytes) {
  const int error = Fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, at, bytes);
  if (error == 0 || error == EOPNOTSUPP || error == ENOSYS) return {};
  return HostError(error, fmt::format("the zone table of {} can't be given its space on the host", path_));
}

// Only what is allocated: a zone may claim any length. tmpfs needs 16 ms for 128 MiB. In the pause between two pieces a thread that waits gets its turn; otherwise it would wait
// for 4 ms, because this thread would be the first one again.
int ImageFile::Punch(std::uint64_t at, std::uint64_t bytes) {
  for (const std::uint64_t end = at + bytes; at < end; at += kPunchPiece) {
    const off_t data = ::lseek(fd_.get(), static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) return 0;  // only a hole from here on
    if (data > 0) at = std::max(at, static_cast<std::uint64_t>(data));
    if (at >= end) return 0;
    const std::uint64_t piece = std::min(kPunchPiece, end - at);
    const int error = Fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, piece);
    if (error != 0) return error;
    if (piece != end - at) SleepUntil(SteadyNow() + kPunchPause);
  }
  return 0;
}

Status ImageFile::Sync() {
  if (::fdatasync(fd_.get()) == 0) return {};
  return HostError(errno, fmt::format("flush of {}", path_));
}

FileStore::FileStore(std::string path, OpenedEmulatedFile file, bool hostsync)
    : info_(std::move(file.info)),
      layout_(file.layout),
      file_(std::move(path), std::move(file.fd), file.layout.file_bytes, /*direct=*/hostsync),
      hostsync_(hostsync) {}

Result<std::unique_ptr<FileStore>> FileStore::Open(const std::string& path, OpenMode mode, bool hostsync) {
  ZENFS_ASSIGN_OR_RETURN(OpenedEmulatedFile file, OpenAndCheckEmulatedFile(path, mode));
  const bool writes = mode == OpenMode::kExclusive;
  std::unique_ptr<FileStore> store(new FileStore(path, std::move(file), hostsync && writes));
  if (!writes) return store;
  ZENFS_RETURN_IF_ERROR(store->TakeTables());
  ZENFS_RETURN_IF_ERROR(store->FinishResets());
  ZENFS_RETURN_IF_ERROR(store->CheckDurable());
  if (!store->info_.reserved) ZENFS_RETURN_IF_ERROR(store->FreeEmptyZones());
  return store;
}

std::string FileStore::Identity() const {
  struct stat status{};
  if (::fstat(file_.fd(), &status) != 0) return "";
  return fmt::format("file:{:x}:{}", status.st_dev, status.st_ino);
}

std::optional<DeviceOwner> FileStore::Owner() const {
  struct stat status{};
  if (::fstat(file_.fd(), &status) != 0) return std::nullopt;
  return DeviceOwner::Of(status);
}

// A copy of the file may have holes in its tables (cp --sparse=always), for which a full host would
// have no space later.
Status FileStore::TakeTables() {
  // Each table follows the one before.
  const std::uint64_t tables = 1 + (has_volatile_cache() ? 1 : 0) + (layout_.area_offset != 0 ? 1 : 0);
  ZENFS_RETURN_IF_ERROR(file_.Allocate(layout_.table_offset, tables * layout_.table_bytes));
  words_.resize(geometry().zones);
  ZENFS_RETURN_IF_ERROR(ReadWords(layout_.table_offset, 0, words_));
  if (!has_volatile_cache()) return {};
  durable_.resize(geometry().zones);
  ZENFS_RETURN_IF_ERROR(ReadWords(layout_.durable_offset, 0, durable_));
  if (layout_.area_offset == 0) return {};
  areas_.resize(geometry().zones);
  return ReadWords(layout_.area_offset, 0, areas_);
}

Status FileStore::ReadWords(std::uint64_t table, std::uint32_t first, std::span<std::uint64_t> into) const {
  const std::span bytes(reinterpret_cast<std::byte*>(into.data()), into.size_bytes());
  const Status read = file_.Read(table + first * sizeof(std::uint64_t), bytes);
  return read.ok() ? read : Fail(read.error().With("zone table"));
}

// A process that died during a reset may have stored only that the zone is empty. An impossible
// count is kept, so that it is reported.
Status FileStore::FinishResets() {
  if (durable_.empty()) return {};
  for (std::uint32_t i = 0; i < geometry().zones; ++i) {
    const ZoneId zone(i);
    ZENFS_ASSIGN_OR_RETURN(const MachineZone state, LoadState(zone));
    const DurableBlocks durable = LoadDurable(zone);
    const bool possible = durable.prefix <= geometry().capacity() / geometry().block_size;
    if (state.condition != ZoneCondition::kEmpty || !possible || durable == DurableBlocks{}) continue;
    ZENFS_RETURN_IF_ERROR(SaveDurable(zone, {}));
  }
  return {};
}

Status FileStore::CheckDurable() const {
  if (durable_.empty()) return {};
  for (std::uint32_t i = 0; i < geometry().zones; ++i) {
    const ZoneId zone(i);
    ZENFS_ASSIGN_OR_RETURN(const MachineZone state, LoadState(zone));
    if (LoadDurable(zone).prefix <= state.written) continue;
    return Fail(
        Code::kCorruption,
        fmt::format("{}: the entry of zone {} in the table of the cache is damaged: {} durable blocks "
                    "of {} written",
                    file_.path(), zone.value, LoadDurable(zone).prefix, state.written));
  }
  return {};
}

// Frees the space of zones that a dead process has reset. The host is asked once for each run of data, not for each zone: behind
// allocated space without data it may take long to find the next one.
Status FileStore::FreeEmptyZones() {
  off_t data = -1;  // the first data at or behind the last place that was asked for
  for (std::uint32_t i = 0; i < geometry().zones; ++i) {
    ZENFS_ASSIGN_OR_RETURN(const MachineZone state, LoadState(ZoneId(i)));
    if (state.condition != ZoneCondition::kEmpty) continue;
    const auto start = static_cast<off_t>(FileOffset(ZoneId(i)));
    if (data < start) data = ::lseek(file_.fd(), start, SEEK_DATA);
    if (data < 0) return {};  // ENXIO: no data from here on. Without SEEK_DATA the host can't tell
    if (data < start + static_cast<off_t>(geometry().zone_size)) ZENFS_RETURN_IF_ERROR(Discard(ZoneId(i)));
  }
  return {};
}

std::uint64_t FileStore::KnownZeros(ZoneId zone, std::uint64_t offset, std::uint64_t length) const {
  return KnownHole(file_.fd(), FileOffset(zone) + offset, length);
}

Status FileStore::Read(ZoneId zone, std::uint64_t offset, ByteSpan into) {
  const Status read = file_.Read(FileOffset(zone) + offset, into);
  if (read.ok()) return read;
  return Fail(read.error().With(fmt::format("read of zone {} at {}", zone.value, offset)));
}

// What is a hole reads as zeros. A restored or moved hole, which costs its maker nothing, shall not fill the host.
bool FileStore::IsHoleAlready(std::uint64_t at, std::span<const ByteView> pieces) const {
  std::uint64_t bytes = 0;
  for (const ByteView piece : pieces) {
    if (!IsZeros(piece)) return false;
    bytes += piece.size();
  }
  return KnownHole(file_.fd(), at, bytes) == bytes;
}

Status FileStore::Write(ZoneId zone, std::uint64_t offset, std::span<const ByteView> pieces) {
  if (!info_.reserved && IsHoleAlready(FileOffset(zone) + offset, pieces)) return {};
  const Status written = file_.Write(FileOffset(zone) + offset, pieces);
  if (written.ok()) return written;
  return Fail(written.error().With(fmt::format("write of zone {} at {}", zone.value, offset)));
}

Status FileStore::Discard(ZoneId zone) {
  // The host must not lose the reset and keep the hole, or the next write: the zone would then be readable again, as zeros
  // or with other data.
  if (hostsync_) ZENFS_RETURN_IF_ERROR(file_.Sync());
  if (info_.reserved) return {};
  const int error = file_.Punch(FileOffset(zone), geometry().zone_size);
  if (error == 0 || error == EOPNOTSUPP) return {};  // EOPNOTSUPP: only the space stays allocated
  return Fail(Code::kIo, fmt::format("giving back zone {} of {}", zone.value, file_.path()), error);
}

Status FileStore::Zero(ZoneId zone, std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return {};
  if (info_.reserved) return WriteZeros(zone, offset, bytes);
  const int error = file_.Punch(FileOffset(zone) + offset, bytes);
  if (error == 0) return {};
  if (error == EOPNOTSUPP) return WriteZeros(zone, offset, bytes);
  return Fail(Code::kIo,
              fmt::format("making {} bytes of zone {} of {} zeros", bytes, zone.value, file_.path()), error);
}

Status FileStore::WriteZeros(ZoneId zone, std::uint64_t offset, std::uint64_t bytes) {
  const std::vector<std::byte> zeros(std::min(bytes, kZeroPiece));
  const std::uint64_t end = offset + bytes;
  while (offset < end) {
    const std::uint64_t hole = KnownZeros(zone, offset, end - offset);
    offset += hole;
    const ByteView piece = ByteView(zeros).first(std::min(kZeroPiece, end - offset));
    if (piece.empty()) break;
    ZENFS_RETURN_IF_ERROR(Write(zone, offset, std::span(&piece, 1)));
    offset += piece.size();
  }
  return {};
}

Status FileStore::SaveState(ZoneId zone, MachineZone state) {
  words_[zone.value] = PackZone(state);
  return file_.WriteWord(layout_.table_offset + zone.value * sizeof(std::uint64_t), words_[zone.value]);
}

Status FileStore::LoadStates(ZoneId first, std::span<MachineZone> into) const {
  std::array<std::uint64_t, 256> read;
  for (std::size_t done = 0; done < into.size();) {
    const std::uint32_t at = first.value + static_cast<std::uint32_t>(done);
    const std::size_t some = std::min(read.size(), into.size() - done);
    const std::span words(read.data(), some);
    if (words_.empty()) {
      ZENFS_RETURN_IF_ERROR(ReadWords(layout_.table_offset, at, words));
    } else {
      std::copy_n(words_.begin() + at, some, words.begin());
    }
    for (std::size_t i = 0; i < some; ++i) {
      const auto state = UnpackZone(words[i]);
      if (!state) {
        return Fail(Code::kCorruption,
                    fmt::format("{}: the entry of zone {} in the zone table is damaged: {:#x}", file_.path(),
                                at + i, words[i]));
      }
      into[done++] = *state;
    }
  }
  return {};
}

Status FileStore::SaveDurable(ZoneId zone, DurableBlocks blocks) {
  const std::uint64_t at = zone.value * sizeof(std::uint64_t);
  durable_[zone.value] = blocks.prefix;
  ZENFS_RETURN_IF_ERROR(file_.WriteWord(layout_.durable_offset + at, blocks.prefix));
  if (areas_.empty() || areas_[zone.value] == blocks.area) return {};
  areas_[zone.value] = blocks.area;
  return file_.WriteWord(layout_.area_offset + at, blocks.area);
}

DurableBlocks FileStore::LoadDurable(ZoneId zone) const {
  return {durable_[zone.value], areas_.empty() ? 0 : areas_[zone.value]};
}

Status FileStore::Sync() { return hostsync_ ? file_.Sync() : Status{}; }

}  // namespace zenfs
