#include "backends/emulator/page_cache_model.h"

#include <unistd.h>

#include <algorithm>

namespace zenfs {
namespace {

std::uint32_t PageOf(std::uint64_t byte) { return static_cast<std::uint32_t>(byte / kCachePageBytes); }

}  // namespace

std::uint64_t DefaultPageCacheBytes() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 4;
}

PageCacheModel::PageCacheModel(std::uint32_t zones, std::uint64_t capacity_bytes)
    : capacity_(capacity_bytes / kCachePageBytes), short_while_(capacity_ / 8), resets_(zones) {}

PageCacheModel::Page* PageCacheModel::Find(Key key) {
  ++uses_;
  const auto found = pages_.find(key);
  if (found == pages_.end()) return nullptr;
  Page& page = found->second;
  if (page.resets != resets_[key.zone]) {
    Erase(key);
    return nullptr;
  }
  if (uses_ - page.moved > short_while_) {
    order_.splice(order_.begin(), order_, page.place);
    page.moved = uses_;
  }
  return &page;
}

void PageCacheModel::Erase(Key key) {
  const auto found = pages_.find(key);
  if (found == pages_.end()) return;
  order_.erase(found->second.place);
  pages_.erase(found);
}

PageCacheModel::Found PageCacheModel::Use(ZoneId zone, std::uint64_t begin, std::uint64_t end) {
  Found found;
  for (std::uint64_t at = begin - begin % kCachePageBytes; at < end; at += kCachePageBytes) {
    if (const Page* const page = Find({zone.value, PageOf(at)})) {
      found.ready = std::max(found.ready, page->ready);
    } else if (!found.missing.empty() && found.missing.back().end == at) {
      found.missing.back().end += kCachePageBytes;
    } else {
      found.missing.push_back({at, at + kCachePageBytes});
    }
  }
  return found;
}

void PageCacheModel::Fill(ZoneId zone, Run run, SteadyTime ready) {
  if (capacity_ == 0) return;
  for (std::uint64_t at = run.begin; at < run.end; at += kCachePageBytes) {
    const Key key{zone.value, PageOf(at)};
    if (Page* const page = Find(key)) {
      page->ready = std::min(page->ready, ready);
      continue;
    }
    if (pages_.size() == capacity_) Erase(order_.back());
    order_.push_front(key);
    pages_.emplace(key, Page{resets_[zone.value], ready, uses_, order_.begin()});
  }
}

void PageCacheModel::Drop(ZoneId zone, std::uint64_t begin, std::uint64_t end) {
  for (std::uint64_t at = begin - begin % kCachePageBytes; at < end; at += kCachePageBytes)
    Erase({zone.value, PageOf(at)});
}

}  // namespace zenfs
