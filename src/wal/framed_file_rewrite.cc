// Changes of the committed part of a framed file: truncation, cleaning, and the seal at the unmount.
#include <fmt/format.h>

#include <utility>

#include "wal/framed_file.h"

namespace zenfs {

FramedFile::Rewrite::Rewrite(Rewrite&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)), plan_(std::move(other.plan_)) {}

FramedFile::Rewrite::~Rewrite() {
  if (file_ != nullptr) End(Fail(Code::kShutdown, "not committed"));
}

void FramedFile::Rewrite::End(const Status& committed) {
  std::exchange(file_, nullptr)->EndRewrite(plan_, committed);
}

Result<FramedFile::Rewrite> FramedFile::BeginTruncate(std::uint64_t size,
                                                      const std::optional<Extent>& front) {
  ZENFS_RETURN_IF_ERROR(WriteBack());
  MutexLock lock(parts_.mutex);
  FramedFileState& state = parts_.state;
  while (!state.free() || state.cleaning()) parts_.turn.Wait(parts_.mutex);
  if (!state.sound()) return Fail(state.sent().error());
  const std::uint64_t old_size = parts_.Size();
  if (size > old_size) {
    return Fail(Code::kNotSupported,
                fmt::format("file {}: cannot be truncated to {} bytes, because it has only {}", id_.value,
                            size, old_size));
  }
  if (state.appending() || old_size != parts_.map.end()) {
    return Fail(Code::kBusy,
                fmt::format("file {}: another thread appended to it during its truncation", id_.value));
  }
  Rewrite rewrite(*this, parts_.map.PlanTruncation(size, front, WallSeconds(), FlushMark::Now(device_)));
  state.BeginTruncation();
  return rewrite;
}

CleaningRange FramedFile::RangeToClean(std::span<const ZoneId> zones, std::uint64_t bytes) const {
  MutexLock lock(parts_.mutex);
  return parts_.map.RangeToClean(device_.geometry(), zones, bytes, FlushMark::Now(device_));
}

// Does not wait for a frame in flight, which comes behind the moved bytes: that frame may itself wait for
// the log zone that the cleaning releases.
Result<FramedFile::Rewrite> FramedFile::BeginCleaning(const CleaningRange& range,
                                                      std::vector<Extent> extents) {
  MutexLock lock(parts_.mutex);
  FramedFileState& state = parts_.state;
  while (state.truncating() || state.cleaning()) parts_.turn.Wait(parts_.mutex);
  if (range.unstable_since.FlushFailedSince(device_)) {
    return Fail(Code::kBusy,
                fmt::format("file {}: bytes {} to {}: {}", id_.value, range.from, range.to, kLostToAFlush));
  }
  ZENFS_ASSIGN_OR_RETURN(RewritePlan plan, parts_.map.PlanCleaning(range, std::move(extents)));
  state.BeginCleaning();
  return Rewrite(*this, std::move(plan));
}

void FramedFile::EndRewrite(const RewritePlan& plan, const Status& committed) {
  const bool truncation = plan.kind == RewritePlan::Kind::kTruncation;
  MutexLock lock(parts_.mutex);
  if (committed.ok()) {
    parts_.map.Apply(plan);
    if (truncation) parts_.mtime_seconds = plan.mtime_seconds;
    parts_.RecountZones();
  } else if (truncation && committed.error().code() == Code::kUnknownOutcome) {
    parts_.state.CloseAppends(Fail(committed.error().With(fmt::format("truncation of file {}", id_.value))));
  }
  if (truncation) {
    parts_.sync_end = 0;  // the sync block may have bytes behind the new end
    parts_.state.EndTruncation();
  } else {
    parts_.state.EndCleaning();
  }
  parts_.turn.NotifyAll();
}

bool FramedFile::HasExtentsIn(ZoneId zone) const {
  MutexLock lock(parts_.mutex);
  return parts_.zones.HasExtentsIn(zone);
}

void FramedFile::TakeMoved(const std::vector<Extent>& extents) {
  MutexLock lock(parts_.mutex);
  parts_.map.TakeMoved(extents);
  parts_.RecountZones();
}

std::optional<SealLog> FramedFile::SealOfOpenWindow() const {
  MutexLock lock(parts_.mutex);
  const FlushMark unstable_since = parts_.map.UnstableSince(FlushMark::Now(device_));
  if (!parts_.KeptForNextMount() || !parts_.state.free() || unstable_since.FlushFailedSince(device_))
    return std::nullopt;
  return parts_.map.SealOfOpenWindow(parts_.mtime_seconds);
}

}  // namespace zenfs
