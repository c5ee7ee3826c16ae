// The end of a mount. What open files have buffered is written and committed; then the threads end and the
// device is given back, so that it can be mounted again, in this process too. Handles that are still open
// find the gate closed; the memory they point to lives until the last of them is gone.
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
  std::vector<std::shared_ptr<OpenFile>> open;
  {
    MutexLock lock(files_mutex_);
    for (const auto& [id, weak] : open_files_) {
      if (std::shared_ptr<OpenFile> file = weak.lock()) open.push_back(std::move(file));
    }
  }
  for (const std::shared_ptr<OpenFile>& file : open) {
    const Status status = WriteBack(*file);
    if (first && !status) first = status;
  }
  // After a mount that failed, what the metadata log names may still be the last one's: it stays named.
  if (staging_to_end && staging_named_ == Named::kNo) {
    IgnoreError(staging_->Remove());
  } else if (staging_to_end && staging_named_ == Named::kYes) {
    const Status ended = EndStaging();
    if (first && !ended) first = ended;
  }
  if (mover_ != nullptr) mover_->Stop();
  if (log_ != nullptr) log_->Stop();
  if (zones_ != nullptr) {
    // So that who deletes and then asks how much is free hears of it.
    if (first) IgnoreError(zones_->Drain(Deadline::After(kLastResets)));
    zones_->Stop();
  }
  if (reclaimer_ != nullptr) reclaimer_->Join();
  if (metalog_ != nullptr) {
    if (first) first = metalog_->health();
    metalog_->Stop();
  }
  const Status kept = KeepMetrics();
  if (first && !kept) first = kept;
  device_.reset();
  metrics_.MoveHome();  // nobody counts any more, and the shared page may go
  return first;
}

}  // namespace zenfs
