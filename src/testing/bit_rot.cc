#include "testing/bit_rot.h"

#include "testing/immediate_queue.h"

namespace zenfs {

void BitRot::Flip(DeviceOffset place, std::uint8_t bits) {
  const MutexLock lock(mutex_);
  bits_[place.value] = bits;
}

void BitRot::Heal() {
  const MutexLock lock(mutex_);
  bits_.clear();
}

Status BitRot::Read(DeviceOffset offset, ByteSpan into) {
  ZENFS_RETURN_IF_ERROR(inner().Read(offset, into));
  const MutexLock lock(mutex_);
  const auto end = bits_.lower_bound(offset.value + into.size());
  for (auto it = bits_.lower_bound(offset.value); it != end; ++it) {
    into[it->first - offset.value] ^= std::byte{it->second};
  }
  return {};
}

std::unique_ptr<IoQueue> BitRot::CreateQueue(std::size_t) { return std::make_unique<ImmediateQueue>(*this); }

}  // namespace zenfs
