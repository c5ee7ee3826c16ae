#include "backends/host/kernel_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "backends/host/plain_io.h"

namespace zenfs {
namespace {

// A read that the cache could not serve whole without the device.
struct Rest {
  CachedRead* read;
  IoPlace place;
  std::size_t done;
};

Status StatusOf(const CachedRead& read, const IoOutcome& outcome) {
  if (outcome.Moved(read.into.size())) return {};
  const std::string text =
      fmt::format("read of {} bytes at {} through the page cache", read.into.size(), read.offset.value);
  if (outcome.os_errno != 0) return FailErrno(outcome.os_errno, text);
  return Fail(Code::kIo, fmt::format("{} ended after {}", text, outcome.bytes));
}

// Bytes that the cache has at once; 0 also if the host can't tell.
std::size_t ReadAtOnce(const IoPlace& place, ByteSpan into) {
  const iovec all{.iov_base = into.data(), .iov_len = into.size()};
  const ssize_t n = ::preadv2(place.fd, &all, 1, static_cast<off_t>(place.offset), RWF_NOWAIT);
  return n < 0 ? 0 : static_cast<std::size_t>(n);
}

// The kernel begins no more of a longer one: it cuts it to the readahead window of the device (by default this) or to the largest
// command, if that is longer (force_page_cache_ra).
constexpr std::uint64_t kWillNeedMax = 128 << 10;

void Tell(const IoPlace& place, std::uint64_t offset, std::uint64_t length, int advice) {
  static_cast<void>(::posix_fadvise(place.fd, static_cast<off_t>(place.offset + offset),
                                    static_cast<off_t>(length), advice));
}

void Begin(const IoPlace& place, std::uint64_t length, CacheAdvice advice) {
  if (advice == CacheAdvice::kDontNeed) return Tell(place, 0, length, POSIX_FADV_DONTNEED);
  for (std::uint64_t at = 0; at < length; at += kWillNeedMax)
    Tell(place, at, std::min(kWillNeedMax, length - at), POSIX_FADV_WILLNEED);
}

}  // namespace

void KernelCache::ReadOne(CachedRead& read) {
  const Result<IoPlace> place = target_.PlaceCached(read.offset, read.into.size());
  read.status =
      place ? StatusOf(read, ReadPlainly(place->fd, place->offset, read.into)) : Fail(place.error());
}

void KernelCache::Read(std::span<CachedRead> reads) {
  if (reads.size() == 1) return ReadOne(reads.front());
  std::vector<Rest> rests;
  for (CachedRead& read : reads) {
    Result<IoPlace> place = target_.PlaceCached(read.offset, read.into.size());
    read.status = place ? Status() : Fail(place.error());
    if (!place) continue;
    const std::size_t done = ReadAtOnce(*place, read.into);
    if (done < read.into.size()) rests.push_back({&read, *std::move(place), done});
  }
  for (const Rest& rest : rests) Begin(rest.place, rest.read->into.size(), CacheAdvice::kWillNeed);
  for (const Rest& rest : rests) {
    IoOutcome outcome =
        ReadPlainly(rest.place.fd, rest.place.offset + rest.done, rest.read->into.subspan(rest.done));
    outcome.bytes += rest.done;
    rest.read->status = StatusOf(*rest.read, outcome);
  }
}

void KernelCache::Advise(DeviceOffset offset, std::uint64_t length, CacheAdvice advice) {
  const Result<IoPlace> place = target_.PlaceCached(offset, length);
  if (place) Begin(*place, length, advice);
}

bool PagesFit(std::uint32_t block_size) { return IsMultiple(block_size, ::sysconf(_SC_PAGESIZE)); }

Result<UniqueFd> OpenBuffered(int direct) {
  UniqueFd fd = UniqueFd::Reopened(direct, O_RDONLY);
  if (!fd.valid()) return FailErrno(errno, "opening for buffered reads");
  SkipAccessTimes(fd.get());
  static_cast<void>(::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_RANDOM));
  return fd;
}

}  // namespace zenfs
