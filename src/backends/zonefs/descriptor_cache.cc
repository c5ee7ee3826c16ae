#include "backends/zonefs/descriptor_cache.h"

#include <algorithm>

namespace zenfs {

DescriptorCache::DescriptorCache(std::size_t bound, Opener open)
    : bound_(std::max<std::size_t>(bound, 1)), open_(std::move(open)) {}

Result<DescriptorCache::Descriptor> DescriptorCache::Get(ZoneId zone) {
  if (Descriptor found = Find(zone); found != nullptr) return found;
  Result<UniqueFd> fd = open_(zone);
  if (!fd && IsOutOfDescriptors(fd.error())) {
    Clear();
    fd = open_(zone);
  }
  if (!fd) return Fail(fd.error());
  return Insert(zone, std::make_shared<const UniqueFd>(std::move(*fd)));
}

std::size_t DescriptorCache::size() const {
  MutexLock lock(mutex_);
  return entries_.size();
}

DescriptorCache::Descriptor DescriptorCache::Find(ZoneId zone) {
  MutexLock lock(mutex_);
  const auto place = places_.find(zone);
  if (place == places_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, place->second);
  return place->second->descriptor;
}

DescriptorCache::Descriptor DescriptorCache::Insert(ZoneId zone, Descriptor opened) {
  Entries evicted;  // closed after the lock is released
  MutexLock lock(mutex_);
  if (const auto place = places_.find(zone); place != places_.end()) return place->second->descriptor;
  entries_.push_front({zone, opened});
  places_[zone] = entries_.begin();
  if (entries_.size() > bound_) {
    places_.erase(entries_.back().zone);
    evicted.splice(evicted.begin(), entries_, std::prev(entries_.end()));
  }
  return opened;
}

void DescriptorCache::Clear() {
  Entries evicted;
  MutexLock lock(mutex_);
  places_.clear();
  evicted.swap(entries_);
}

}  // namespace zenfs
