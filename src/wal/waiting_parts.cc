#include "wal/waiting_parts.h"

#include <utility>

namespace zenfs {

WaitingParts::Scope::Scope(WaitingParts& parts, std::span<QueuedFrame* const> jobs) : parts_(parts) {
  Bytes bytes;
  for (const QueuedFrame* job : jobs) {
    if (job->settled()) continue;
    for (const PlacedFrame& part : *job->placed) bytes[part.pin.zone()] += part.device_bytes;
  }
  parts_.Set(std::move(bytes));
}

void WaitingParts::Set(Bytes bytes) {
  MutexLock lock(mutex_);
  bytes_ = std::move(bytes);
}

}  // namespace zenfs
