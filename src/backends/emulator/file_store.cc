#include "backends/emulator/file_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <vector>

#include "backends/emulator/zone_word.h"

namespace zenfs {
namespace {

static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free, "a zone word must change in one store");

// The device's own error, whatever ailed the host: a zoned device has no "no space left", and the code must
// not look as if the zones had run out.
std::unexpected<Error> HostError(int os_errno, std::string text) {
  return Fail(Code::kIo, std::move(text), os_errno);
}

void DropFront(std::vector<iovec>& vectors, std::size_t& first, std::size_t done) {
  while (first < vectors.size() && done >= vectors[first].iov_len) done -= vectors[first++].iov_len;
  if (first == vectors.size()) return;
  vectors[first].iov_base = static_cast<char*>(vectors[first].iov_base) + done;
  vectors[first].iov_len -= done;
}

}  // namespace

FileStore::FileStore(std::string path, OpenedEmulatedFile file, bool hostsync)
    : path_(std::move(path)), file_(std::move(file)), hostsync_(hostsync) {}

FileStore::~FileStore() {
  if (fork_guard_.InChild()) return;  // nothing is mapped there, or something else
  if (table_ != nullptr) ::munmap(table_, file_.layout.table_bytes);
  if (durable_ != nullptr) ::munmap(durable_, file_.layout.table_bytes);
}

Result<std::unique_ptr<FileStore>> FileStore::Open(const std::string& path, OpenMode mode, bool hostsync) {
  ZENFS_ASSIGN_OR_RETURN(OpenedEmulatedFile file, OpenAndCheckEmulatedFile(path, mode));
  std::unique_ptr<FileStore> store(new FileStore(path, std::move(file), hostsync));
  ZENFS_RETURN_IF_ERROR(store->MapTables(mode));
  if (mode != OpenMode::kExclusive) return store;
  ZENFS_RETURN_IF_ERROR(store->FinishResets());
  ZENFS_RETURN_IF_ERROR(store->CheckDurable());
  ZENFS_RETURN_IF_ERROR(store->GiveBackEmptyZones());
  return store;
}

std::string FileStore::Identity() const {
  struct stat status{};
  if (::fstat(file_.fd.get(), &status) != 0) return "";
  return fmt::format("file:{:x}:{}", status.st_dev, status.st_ino);
}

Result<std::uint64_t*> FileStore::MapTable(std::uint64_t offset, int protection) const {
  void* table = ::mmap(nullptr, file_.layout.table_bytes, protection, MAP_SHARED, file_.fd.get(),
                       static_cast<off_t>(offset));
  if (table == MAP_FAILED) return FailErrno(errno, fmt::format("map the zone table of {}", path_));
  // A child's copy would hold the open file, and with it the lock.
  if (::madvise(table, file_.layout.table_bytes, MADV_DONTFORK) != 0) {
    const int error = errno;
    ::munmap(table, file_.layout.table_bytes);
    return FailErrno(error, fmt::format("keep the zone table of {} from children", path_));
  }
  return static_cast<std::uint64_t*>(table);
}

Status FileStore::MapTables(OpenMode mode) {
  const int protection = mode == OpenMode::kExclusive ? PROT_READ | PROT_WRITE : PROT_READ;
  ZENFS_ASSIGN_OR_RETURN(table_, MapTable(file_.layout.table_offset, protection));
  if (!has_volatile_cache() || mode != OpenMode::kExclusive) return {};
  ZENFS_ASSIGN_OR_RETURN(durable_, MapTable(file_.layout.durable_offset, protection));
  return {};
}

// A dead process may have stored that a zone is empty, and no more. A count that no zone can have stays, to be found.
Status FileStore::FinishResets() {
  if (durable_ == nullptr) return {};
  for (std::uint32_t i = 0; i < geometry().zones; ++i) {
    const ZoneId zone(i);
    ZENFS_ASSIGN_OR_RETURN(const MachineZone state, LoadState(zone));
    const bool possible = LoadDurable(zone) <= geometry().capacity() / geometry().block_size;
    if (state.condition == ZoneCondition::kEmpty && possible && LoadDurable(zone) != 0) SaveDurable(zone, 0);
  }
  return {};
}

Status FileStore::CheckDurable() const {
  if (durable_ == nullptr) return {};
  for (std::uint32_t i = 0; i < geometry().zones; ++i) {
    const ZoneId zone(i);
    ZENFS_ASSIGN_OR_RETURN(const MachineZone state, LoadState(zone));
    if (LoadDurable(zone) <= state.written) continue;
    return Fail(
        Code::kCorruption,
        fmt::format("{}: the entry of zone {} in the table of the cache is damaged: {} durable blocks "
                    "of {} written",
                    path_, zone.value, LoadDurable(zone), state.written));
  }
  return {};
}

// The space that the resets of a dead process left.
Status FileStore::GiveBackEmptyZones() {
  for (std::uint32_t i = 0; i < geometry().zones; ++i) {
    ZENFS_ASSIGN_OR_RETURN(const MachineZone state, LoadState(ZoneId(i)));
    if (state.condition != ZoneCondition::kEmpty) continue;
    const auto start = static_cast<off_t>(FileOffset(ZoneId(i)));
    const off_t data = ::lseek(file_.fd.get(), start, SEEK_DATA);
    if (data < 0) return {};  // ENXIO: no data from here on. A host without SEEK_DATA: nothing to know
    if (data < start + static_cast<off_t>(geometry().zone_size)) ZENFS_RETURN_IF_ERROR(Discard(ZoneId(i)));
  }
  return {};
}

Status FileStore::Read(ZoneId zone, std::uint64_t offset, ByteSpan into) {
  std::uint64_t at = FileOffset(zone) + offset;
  while (!into.empty()) {
    const ssize_t n = ::pread(file_.fd.get(), into.data(), into.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return HostError(errno, fmt::format("read of zone {} at {} from {}", zone.value, offset, path_));
    if (n == 0) {
      return Fail(Code::kIo, fmt::format("{} ends at {}: it was cut off while in use", path_, at));
    }
    into = into.subspan(static_cast<std::size_t>(n));
    at += static_cast<std::uint64_t>(n);
  }
  return {};
}

Status FileStore::Write(ZoneId zone, std::uint64_t offset, std::span<const ByteView> pieces) {
  std::vector<iovec> vectors;
  vectors.reserve(pieces.size());
  for (const ByteView piece : pieces) {
    vectors.push_back({const_cast<std::byte*>(piece.data()), piece.size()});
  }
  std::uint64_t at = FileOffset(zone) + offset;
  std::size_t first = 0;
  DropFront(vectors, first, 0);
  while (first < vectors.size()) {
    const int count = static_cast<int>(std::min<std::size_t>(vectors.size() - first, IOV_MAX));
    const ssize_t n = ::pwritev(file_.fd.get(), &vectors[first], count, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return HostError(errno, fmt::format("write of zone {} at {} to {}", zone.value, offset, path_));
    at += static_cast<std::uint64_t>(n);
    DropFront(vectors, first, static_cast<std::size_t>(n));
  }
  return {};
}

Status FileStore::Discard(ZoneId zone) {
  if (hostsync_) {
    // The host must not lose the reset and keep the hole: the zone would come back with zeros in it.
    auto* const word = reinterpret_cast<std::byte*>(&table_[zone.value]);
    if (::msync(word - reinterpret_cast<std::uintptr_t>(word) % 4096, 4096, MS_SYNC) != 0) {
      return HostError(errno, fmt::format("reset of zone {} in {}", zone.value, path_));
    }
  }
  if (Punch(FileOffset(zone), geometry().zone_size)) return {};
  if (errno == EOPNOTSUPP) return {};  // a host that can't: the space stays taken, no more
  return HostError(errno, fmt::format("giving back zone {} of {}", zone.value, path_));
}

bool FileStore::Punch(std::uint64_t at, std::uint64_t bytes) const {
  return ::fallocate(file_.fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at),
                     static_cast<off_t>(bytes)) == 0;
}

Status FileStore::Zero(ZoneId zone, std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0 || Punch(FileOffset(zone) + offset, bytes)) return {};
  if (errno != EOPNOTSUPP) {
    return HostError(errno, fmt::format("making {} bytes of zone {} of {} zeros", bytes, zone.value, path_));
  }
  const std::vector<std::byte> zeros(geometry().block_size);
  for (const std::uint64_t end = offset + bytes; offset < end; offset += zeros.size()) {
    const ByteView piece(zeros);
    ZENFS_RETURN_IF_ERROR(Write(zone, offset, std::span(&piece, 1)));
  }
  return {};
}

void FileStore::SaveState(ZoneId zone, MachineZone state) {
  std::atomic_ref(table_[zone.value]).store(PackZone(state), std::memory_order_release);
}

Result<MachineZone> FileStore::LoadState(ZoneId zone) const {
  const std::uint64_t word = std::atomic_ref(table_[zone.value]).load(std::memory_order_acquire);
  const auto state = UnpackZone(word);
  if (state) return *state;
  return Fail(Code::kCorruption, fmt::format("{}: the entry of zone {} in the zone table is damaged: {:#x}",
                                             path_, zone.value, word));
}

void FileStore::SaveDurable(ZoneId zone, std::uint64_t blocks) {
  std::atomic_ref(durable_[zone.value]).store(blocks, std::memory_order_release);
}

std::uint64_t FileStore::LoadDurable(ZoneId zone) const {
  return std::atomic_ref(durable_[zone.value]).load(std::memory_order_acquire);
}

Status FileStore::Sync() {
  if (!hostsync_ || ::fdatasync(file_.fd.get()) == 0) return {};
  return HostError(errno, fmt::format("flush of {}", path_));
}

}  // namespace zenfs
