#include "volume/mount/writer_mount.h"

#include <fmt/format.h>

namespace zenfs {

Result<Gate::Entry> WriterMount::EnterToWrite() const {
  ZENFS_ASSIGN_OR_RETURN(Gate::Entry entry, Enter());
  ZENFS_RETURN_IF_ERROR(parts_->effects.health());
  return entry;
}

VolumeInfo WriterMount::info() const {
  return {.superblock = device_->superblock,
          .geometry = device_->geometry,
          .device_name = device_->name,
          .read_only = false};
}

VolumeCounters WriterMount::counters() const {
  return {.epoch = parts_->epoch,
          .metalog = parts_->metalog->stats(),
          .written = parts_->accounting.Counters(),
          .metrics_page = device_->metrics.page()};
}

std::vector<std::string> WriterMount::notices() const {
  std::vector<std::string> all = device_->notices;
  const std::vector<std::string> damage = parts_->mover.damage();
  all.insert(all.end(), damage.begin(), damage.end());
  if (parts_->trace) {
    if (auto problem = parts_->trace->problem()) all.push_back(*std::move(problem));
  }
  return all;
}

bool WriterMount::StartsReads() const {
  const Result<Gate::Entry> entry = Enter();
  return entry && device_->reads->Lend()->Overlaps();
}

Status WriterMount::health() const {
  ZENFS_RETURN_IF_ERROR(parts_->effects.health());
  return parts_->commits.health();
}

Status WriterMount::KeepMetrics() const {
  parts_->accounting.Publish();
  return device_->KeepMetrics();
}

namespace {

std::string KeptText(const std::string& path) {
  return fmt::format(
      "the device has no room for all bytes that were flushed and not synced; they wait in {} until a mount "
      "on this host finds "
      "room, and are lost if the host restarts before. Delete files to make room",
      path);
}

}  // namespace

Status WriterMount::PrepareForExit() {
  const Result<Gate::Entry> entry = Enter();
  if (!entry) return {};
  Status first;
  if (parts_->buffers->Retire()) first = parts_->shutdown.EndBuffers();
  first.Update(KeepMetrics());
  return first;
}

// Writes and commits the buffers of open files, ends the threads, and releases the device, so that it can be mounted again,
// in this process too. The calls of handles that are still open find the gate closed.
Status WriterMount::Unmount() {
  if (!gate_.Close()) return {};
  VolumeParts& parts = *parts_;
  parts.drain.Stop();
  const bool end_buffers = parts.buffers->Retire();
  using Written = VolumeShutdown::Written;
  Status first = parts.shutdown.WriteBackOpenFiles();
  const Result<Written> written = end_buffers ? parts.shutdown.WriteBackFlushed() : Written::kAll;
  if (!written) first.Update(Fail(written.error()));
  const bool kept = written && *written == Written::kKept;
  if (kept) device_->notices.push_back(KeptText(parts.buffers->path()));
  parts.StopMoving(first.ok());
  if (written) first.Update(parts.shutdown.SealLogs(end_buffers && !kept));
  if (first.ok() && !kept) parts.log.sync_area().Release();
  if (first.ok()) first = parts.metalog->health();
  parts.metalog->Stop();
  if (parts.trace) parts.trace->End();
  first.Update(KeepMetrics());
  device_->reads.reset();
  device_->device.reset();
  device_->metrics.MoveHome();  // no thread counts any more, so the shared page may be unmapped
  parts.buffers->HandOver();
  return first;
}

}  // namespace zenfs
