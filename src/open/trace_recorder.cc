#include "open/trace_recorder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/file_size_limit.h"
#include "base/output_file.h"

namespace zenfs {
namespace {

using What = TraceEvent::What;

// Returns true if the file has content that does not end with a whole line: the trace of a mount that crashed.
Result<bool> CheckContinuable(int fd, const std::string& path) {
  struct stat info = {};
  if (fstat(fd, &info) != 0) return FailErrno(errno, fmt::format("{}: stat failed", path));
  if (info.st_size == 0) return false;
  char magic[kTraceMagic.size()] = {};
  char last = '\0';
  if (pread(fd, magic, sizeof(magic), 0) != static_cast<ssize_t>(sizeof(magic)) ||
      std::string_view(magic, sizeof(magic)) != kTraceMagic || pread(fd, &last, 1, info.st_size - 1) != 1) {
    return Fail(Code::kExists, fmt::format("{}: exists and does not hold a trace; name a new file", path));
  }
  return last != '\n';
}

}  // namespace

Result<std::unique_ptr<TraceRecorder>> TraceRecorder::Open(const std::string& path, const TraceDevice& device,
                                                           const State& state) {
  ZENFS_ASSIGN_OR_RETURN(UniqueFd fd, OpenOutput(path, OutputUse::kAppend));
  ZENFS_ASSIGN_OR_RETURN(const bool torn, CheckContinuable(fd.get(), path));
  std::unique_ptr<TraceRecorder> recorder(new TraceRecorder(std::move(fd), path));
  recorder->Start(device, state, torn);
  if (const auto problem = recorder->problem()) return Fail(Code::kIo, *problem);
  return recorder;
}

void TraceRecorder::Start(const TraceDevice& device, const State& state, bool ends_torn) {
  std::string text = fmt::format("{}{}\n", ends_torn ? "\n" : "", TraceHeaderText(device));
  std::vector<TraceEvent> found;
  for (const auto& [directory, content] : state.directories()) {
    for (const auto& [name, id] : content.entries) {
      const auto record = state.FindFile(id);
      if (record == nullptr) continue;  // a directory
      found.push_back({.what = What::kFile,
                       .id = id,
                       .kind = TracedKindOf(name),
                       .lifetime = record->lifetime,
                       .bytes = record->size});
    }
  }
  std::ranges::sort(found, {}, &TraceEvent::id);
  MutexLock lock(mutex_);
  for (const TraceEvent& event : found) {
    if (sizes_.emplace(event.id, event.bytes).second)
      text += TraceEventText(event) + "\n";  // it may have several names
  }
  text += TraceEventText({.what = What::kBegin}) + "\n";
  WriteText(text);
}

void TraceRecorder::Created(FileId id, std::string_view name, Lifetime lifetime) {
  MutexLock lock(mutex_);
  sizes_.emplace(id, 0);
  Write({.what = What::kCreate, .id = id, .kind = TracedKindOf(name), .lifetime = lifetime});
}

void TraceRecorder::SetLifetime(FileId id, Lifetime lifetime) {
  MutexLock lock(mutex_);
  if (sizes_.contains(id)) Write({.what = What::kLifetime, .id = id, .lifetime = lifetime});
}

void TraceRecorder::Grew(FileId id, std::uint64_t size) {
  MutexLock lock(mutex_);
  const auto it = sizes_.find(id);
  if (it == sizes_.end() || size < it->second + kStep) return;
  it->second = size;
  Write({.what = What::kSize, .id = id, .bytes = size});
}

void TraceRecorder::Synced(FileId id, std::uint64_t size) {
  MutexLock lock(mutex_);
  const auto it = sizes_.find(id);
  if (it == sizes_.end() || size == it->second) return;
  it->second = size;
  Write({.what = What::kSize, .id = id, .bytes = size});
}

void TraceRecorder::Closed(FileId id, std::uint64_t size) {
  MutexLock lock(mutex_);
  const auto it = sizes_.find(id);
  if (it == sizes_.end()) return;
  it->second = size;
  Write({.what = What::kClose, .id = id, .bytes = size});
}

void TraceRecorder::Deleted(FileId id) {
  MutexLock lock(mutex_);
  if (sizes_.erase(id) != 0) Write({.what = What::kDelete, .id = id});
}

void TraceRecorder::End() {
  MutexLock lock(mutex_);
  Write({.what = What::kEnd});
  fd_ = UniqueFd();
}

std::optional<std::string> TraceRecorder::problem() const {
  MutexLock lock(mutex_);
  return problem_;
}

void TraceRecorder::Write(TraceEvent event) {
  if (!fd_.valid()) return;
  event.at_ms = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(SteadyNow() - begin_).count());
  WriteText(TraceEventText(event) + "\n");
}

void TraceRecorder::WriteText(std::string_view text) {
  const NoFileSizeSignal no_signal;
  while (!text.empty() && fd_.valid()) {
    const ssize_t written = ::write(fd_.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const Error error =
          ErrnoError(written == 0 ? EIO : errno, fmt::format("{}: the recording ended", path_));
      problem_ = error.ToString();
      fd_ = UniqueFd();
      return;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace zenfs
