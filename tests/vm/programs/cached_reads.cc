// Reads through the kernel's cache while zones are reset and written again as fast as the device allows. Every page says which file
// it belongs to, so a reader knows at once if it got bytes of another file.
//
//   zenfs_cached_reads URI READS
//
// One thread writes and deletes files, one reads them, and a process of its own reads them by a mount of its own, with ?ro. Ends
// when each reader has read READS ranges and the device has been written several times, or with status 1 at the first wrong page,
// with its place.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/random.h"
#include "base/thread.h"
#include "rocksdb_plugin/mount_uri.h"
#include "volume/volume.h"

namespace zenfs {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::uint64_t kPagesMax = 64;  // of a file
constexpr std::uint64_t kReadsOfAFile = 100;
constexpr std::uint64_t kLiveMax = 6ull << 20;  // bytes of all files: the device is written again and again
constexpr std::uint64_t kWrittenMin = 5 * kLiveMax;

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "cached_reads: %s\n", what.c_str());
  std::fflush(stderr);
  std::_Exit(1);
}

template <typename T>
T Must(Result<T> result, const std::string& doing) {
  if (!result) Die(doing + ": " + result.error().ToString());
  return *std::move(result);
}
void Must(const Status& status, const std::string& doing) {
  if (!status.ok()) Die(doing + ": " + status.error().ToString());
}

std::string NameOf(std::uint64_t file) { return std::to_string(file) + ".sst"; }

// Page `page` of file `file`: the same word all over.
std::uint64_t WordOf(std::uint64_t file, std::uint64_t page) { return file * kPagesMax + page + 1; }

void FillPages(std::uint64_t file, std::uint64_t first, ByteSpan into) {
  for (std::size_t at = 0; at < into.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = WordOf(file, first + at / kPage);
    std::memcpy(into.data() + at, &word, sizeof(word));
  }
}

// The files that are there, oldest first.
class Files {
 public:
  std::optional<std::uint64_t> Any(Random& random) {
    MutexLock lock(mutex_);
    if (files_.empty()) return std::nullopt;
    return files_[random.Below(files_.size())];
  }
  void Add(std::uint64_t file) {
    MutexLock lock(mutex_);
    files_.push_back(file);
  }
  std::uint64_t TakeOldest() {
    MutexLock lock(mutex_);
    const std::uint64_t file = files_.front();
    files_.pop_front();
    return file;
  }

 private:
  Mutex mutex_;
  std::deque<std::uint64_t> files_ GUARDED_BY(mutex_);
};

// Bytes that the writer has written, which both processes see.
using Written = std::atomic<std::uint64_t>;
static_assert(Written::is_always_lock_free);

Written& NewWritten() {
  void* memory = ::mmap(nullptr, sizeof(Written), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) Die("no shared memory");
  return *new (memory) Written(0);
}

// Writes and deletes until `ended`.
void Write(Volume& volume, Files& files, const std::atomic<bool>& ended, Written& written) {
  Random random(1);
  std::deque<std::uint64_t> sizes;
  std::uint64_t live = 0;
  std::vector<std::byte> bytes;
  for (std::uint64_t file = 0; !ended; ++file) {
    bytes.resize((1 + random.Below(kPagesMax)) * kPage);
    FillPages(file, 0, bytes);
    const auto handle = Must(volume.Create(NameOf(file)), "creating");
    Must(handle->Append(bytes), "appending");
    Must(handle->Sync(), "syncing");
    if (random.OneIn(2)) handle->Advise(0, bytes.size(), CacheAdvice::kWillNeed);
    Must(handle->Close(), "closing");
    files.Add(file);
    sizes.push_back(bytes.size());
    live += bytes.size();
    written += bytes.size();
    while (live > kLiveMax) {
      Must(volume.Unlink(NameOf(files.TakeOldest())), "deleting");
      live -= sizes.front();
      sizes.pop_front();
    }
  }
}

std::string Shown(std::uint64_t word) {
  if (word == 0) return "zeros";
  return "page " + std::to_string((word - 1) % kPagesMax) + " of file " +
         std::to_string((word - 1) / kPagesMax);
}

// The kernel's cache mixes no pages, so the ends of each are enough.
void Check(std::uint64_t file, std::uint64_t first, ByteView found, const char* who) {
  constexpr std::size_t kLastWord = kPage - sizeof(std::uint64_t);
  for (std::size_t at = 0; at < found.size(); at += at % kPage == 0 ? kLastWord : kPage - kLastWord) {
    std::uint64_t word = 0;
    std::memcpy(&word, found.data() + at, sizeof(word));
    const std::uint64_t page = first + at / kPage;
    if (word == WordOf(file, page)) continue;
    Die(std::string(who) + ": instead of " + Shown(WordOf(file, page)) + " got " + Shown(word));
  }
}

// Reads a few ranges of one file. Returns how many; fewer if the file is gone.
std::uint64_t ReadSome(Volume& volume, std::uint64_t file, Random& random, const char* who) {
  const auto handle = volume.OpenForRead(NameOf(file));
  if (!handle) {
    if (handle.error().code() != Code::kNotFound) Die(handle.error().ToString());
    return 0;
  }
  const std::uint64_t pages = (*handle)->size() / kPage;
  std::array<std::byte, 2 * kPage> found;
  std::uint64_t reads = 0;
  for (; pages != 0 && reads < kReadsOfAFile; ++reads) {
    if (random.OneIn(kReadsOfAFile)) (*handle)->Advise(0, pages * kPage, CacheAdvice::kWillNeed);
    const std::uint64_t first = random.Below(pages);
    const ByteSpan into = std::span(found).first((1 + random.Below(2)) * kPage);
    const auto n = (*handle)->Read(first * kPage, into, ReadSource::kCache);
    if (!n && n.error().code() == Code::kNotFound) return reads;  // a reader sees that the file is gone
    if (!n) Die(std::string(who) + ": reading: " + n.error().ToString());
    Check(file, first, into.first(*n), who);
  }
  return reads;
}

int ReadByOwnMount(const std::string& uri, std::uint64_t wanted, const Written& written) {
  const auto volume = Must(MountUri(uri + (uri.contains('?') ? ",ro" : "?ro")), "mounting read-only");
  Random random(3);
  for (std::uint64_t reads = 0; reads < wanted || written < kWrittenMin;) {
    const auto list = Must(volume->List(""), "listing");
    for (int i = 0; i < 8 && !list.empty(); ++i) {
      const std::string& name = list[random.Below(list.size())].name;
      std::uint64_t file = 0;
      std::from_chars(name.data(), name.data() + name.size(), file);
      reads += ReadSome(*volume, file, random, "the other process");
    }
  }
  return 0;
}

int Run(const std::string& uri, std::uint64_t wanted) {
  Written& written = NewWritten();
  int ready[2];
  if (::pipe(ready) != 0) Die("no pipe");
  const pid_t child = ::fork();  // before there are threads
  if (child == 0) {
    ::close(ready[1]);
    char mounted = 0;
    if (::read(ready[0], &mounted, 1) != 1) std::_Exit(1);
    std::_Exit(ReadByOwnMount(uri, wanted, written));
  }
  const auto volume = Must(MountUri(uri), "mounting");
  Files files;
  std::atomic<bool> ended = false;
  Thread writer("writer", [&] { Write(*volume, files, ended, written); });
  if (::write(ready[1], "m", 1) != 1) Die("the reader is gone");
  Random random(2);
  for (std::uint64_t reads = 0; reads < wanted || written < kWrittenMin;) {
    if (const auto file = files.Any(random))
      reads += ReadSome(*volume, *file, random, "the writer's process");
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ended = true;
  writer.Join();
  if (status != 0) return 1;
  std::printf("at least %llu reads each, %llu MiB written meanwhile\n",
              static_cast<unsigned long long>(wanted), static_cast<unsigned long long>(written.load() >> 20));
  return 0;
}

}  // namespace
}  // namespace zenfs

int main(int argc, char** argv) {
  if (argc != 3) zenfs::Die("usage: zenfs_cached_reads URI READS");
  return zenfs::Run(argv[1], std::strtoull(argv[2], nullptr, 10));
}
