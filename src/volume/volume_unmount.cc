// The end of a mount. What open files have buffered is written and committed; then the threads end and the
// device is given back, so that it can be mounted again, in this process too. Handles that are still open
// find the gate closed; the memory they point to lives until the last of them is gone.
//
// The last commit seals what logs have open, and says that there are no append buffers any more. So behind a clean end
// every frame is vouched for: one that is missing later is damage, and is named, be it the very last.
#include "volume/volume_core.h"

namespace zenfs {
namespace {

// What a device needs for the resets of some hundred zones; those left over are made by the next mount.
constexpr std::chrono::seconds kLastResets{1};

}  // namespace

VolumeCore::~VolumeCore() { IgnoreError(Unmount()); }

Status VolumeCore::Unmount() {
  if (fork_guard_.InChild() || gate_.closed()) return {};
  gate_.Close();
  Status first;
  if (drain_ != nullptr) drain_->Stop();
  const bool staging_to_end = staging_ != nullptr && staging_->Retire();
  for (const std::shared_ptr<OpenFile>& file : AllOpen()) {
    first.Update(WriteBack(*file));
    Release(*file);
  }
  // After a mount that failed, what the metadata log names may still be the last one's: it stays named.
  const bool mounted = staging_named_ == Named::kYes;
  if (staging_to_end && staging_named_ == Named::kNo) IgnoreError(staging_->Remove());
  const Status written = mounted && staging_to_end ? WriteOutFlushed() : Status();
  first.Update(written);
  if (mover_ != nullptr) mover_->Stop();
  if (log_ != nullptr) log_->Stop();
  if (zones_ != nullptr) {
    // So that who deletes and then asks how much is free hears of it.
    if (first.ok()) IgnoreError(zones_->Drain(Deadline::After(kLastResets)));
    zones_->Stop();
  }
  if (reclaimer_ != nullptr) reclaimer_->Join();
  if (mounted && written.ok()) {  // nobody else commits any more
    first.Update(SealAtTheEnd(staging_to_end));
  }
  if (metalog_ != nullptr) {
    if (first.ok()) first = metalog_->health();
    metalog_->Stop();
  }
  first.Update(KeepMetrics());
  device_.reset();
  metrics_.MoveHome();  // nobody counts any more, and the shared page may go
  return first;
}

Status VolumeCore::SealAtTheEnd(bool forget_buffers) {
  const FlushMark mark = FlushMark::Now(*device_);
  std::vector<Edit> edits;
  for (const std::shared_ptr<FramedFile>& file : logs_.All()) {
    std::optional<SealLog> seal = file->SealOfOpenWindow();
    if (!seal || catalog_->FindFile(file->id()) == nullptr) continue;
    edits.push_back(*std::move(seal));
  }
  const bool seals = !edits.empty();
  if (forget_buffers) edits.push_back(SetBufferPlace{""});
  if (edits.empty()) return {};
  // A seal must not outlive the frames it vouches for.
  ZENFS_RETURN_IF_ERROR(Commit(std::move(edits), {.data_since = seals ? std::optional(mark) : std::nullopt}));
  return forget_buffers ? staging_->Remove() : Status();
}

}  // namespace zenfs
