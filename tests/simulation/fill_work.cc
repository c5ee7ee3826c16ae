#include "fill_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace zenfs {
namespace {

constexpr std::size_t kLogBytesMax = 20'000;

}  // namespace

FillWork::FillWork(Client& client, const std::string& root, std::size_t files_max)
    : client_(client), root_(root), files_max_(files_max), percent_(60 + client.random().Below(38)) {
  for (const auto& [path, file] : client.model().Live()) {
    if (file == nullptr) continue;
    const std::size_t digits = path.find_first_of("0123456789", root.size() + 1);
    if (digits != path.npos) {
      next_number_ =
          std::max<std::uint64_t>(next_number_, std::strtoull(path.c_str() + digits, nullptr, 10) + 1);
    }
    files_.push_back(path);
  }
}

std::string FillWork::NewName(const char* suffix) {
  return fmt::format("{}/{:06}{}", root_, next_number_++, suffix);
}

// Live bytes in percent of the space that data can have.
std::uint64_t FillWork::LivePercent() {
  const SpaceReport space = client_.Space();
  garbage_ = space.garbage;
  const std::uint64_t all = space.live + space.garbage + space.free;
  return all == 0 ? 100 : space.live * 100 / all;
}

void FillWork::Step() {
  const std::uint64_t live = LivePercent();
  if (client_.random().OneIn(3)) return Log();
  if (live >= percent_) return Delete();
  const bool large = live + 10 < percent_ || client_.random().OneIn(3);
  const std::size_t bytes =
      large ? 20'000 + client_.random().Below(80'000) : 1 + client_.random().Below(4000);
  if (files_.size() >= files_max_ || client_.random().OneIn(3)) return Replace(bytes);
  Write(bytes);
}

void FillWork::Log() {
  if (wal_.empty() || client_.SizeOf("wal") > kLogBytesMax) {
    if (!wal_.empty()) client_.Close("wal");
    const std::string old = std::exchange(wal_, NewName(".log"));
    client_.Create("wal", wal_);
    if (!old.empty()) client_.Unlink(old);
  }
  const bool syncs = client_.random().OneIn(2);
  const std::uint64_t records = 1 + client_.random().Below(20);
  for (std::uint64_t i = 0; i < records && !client_.failed(); ++i) {
    client_.Append("wal", 20 + client_.random().Below(400));
    if (syncs) client_.Sync("wal");
  }
}

void FillWork::Write(std::size_t bytes) {
  files_.push_back(NewName(".sst"));
  client_.WriteFile(files_.back(), bytes);
  if (manifest_.empty()) {
    manifest_ = NewName(".log");
    client_.Create("manifest", manifest_);
  }
  client_.Append("manifest", 60);
  client_.Sync("manifest");
}

void FillWork::Replace(std::size_t bytes) {
  if (files_.empty()) return;
  std::string& file = files_[client_.random().Below(files_.size())];
  const std::string old = std::exchange(file, NewName(".sst"));
  client_.WriteFile(file, bytes);
  if (!client_.random().OneIn(2)) return client_.Unlink(old);
  const std::string written = std::exchange(file, old);
  client_.Rename(written, file);
}

void FillWork::Delete() {
  if (files_.empty()) return;
  std::swap(files_[client_.random().Below(files_.size())], files_.back());
  client_.Unlink(files_.back());
  files_.pop_back();
}

}  // namespace zenfs
