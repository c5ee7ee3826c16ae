#include "logs_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace zenfs {
namespace {

constexpr int kCallsAStep = 6;
constexpr std::uint64_t kRecordMax = 512 << 10;

}  // namespace

LogsWork::LogsWork(Client& client, const std::string& root, const Sizes& sizes)
    : client_(client), root_(root), sizes_(sizes) {
  client_.GoesOnWhenFull();
  for (const auto& [path, file] : client.model().Live()) {
    if (file == nullptr) continue;
    const std::uint64_t number = std::strtoull(path.c_str() + root.size() + 1, nullptr, 10);
    next_number_ = std::max(next_number_, number + 1);
    if (path.ends_with(".log")) {
      logs_.push_back({fmt::format("l{}", number), path});
    } else {
      tables_.push_back(path);
    }
  }
}

std::string LogsWork::NewName(const char* suffix) {
  return fmt::format("{}/{:06}{}", root_, next_number_++, suffix);
}

bool LogsWork::IsFull(const std::string& handle, const std::string& path) {
  const bool full = client_.GaveUp(handle, path);
  full_ = full_ || full;
  return full;
}

void LogsWork::Step() {
  for (int i = 0; i < kCallsAStep && !client_.failed(); ++i) {
    if (full_ && client_.random().OneIn(40)) return DeleteTable();
    if (logs_.size() < sizes_.logs && (logs_.empty() || client_.random().OneIn(2))) {
      OpenLog();
    } else if (client_.random().OneIn(60)) {
      CloseLog();
    } else if (!full_ && tables_.size() < sizes_.files_max && client_.random().OneIn(2)) {
      Table();
    } else {
      Append();
    }
  }
}

void LogsWork::OpenLog() {
  const Log log{fmt::format("l{}", next_number_), NewName(".log")};
  client_.Create(log.handle, log.path);
  if (client_.WasFull() || client_.failed()) return;
  logs_.push_back(log);
}

void LogsWork::Append() {
  const std::size_t n = client_.random().Below(logs_.size());
  const Log log = logs_[n];
  if (!client_.IsOpen(log.handle)) {  // of an earlier mount
    client_.Reopen(log.handle, log.path);
    if (client_.failed()) return;
  }
  const std::uint64_t most =
      client_.random().OneIn(3) ? std::min(sizes_.buffer - sizes_.buffer / 8, kRecordMax) : 2000;
  client_.Append(log.handle, 1 + client_.random().Below(most));
  bool full = IsFull(log.handle, log.path);
  if (!full) client_.Flush(log.handle);
  full = full || IsFull(log.handle, log.path);
  if (!full && client_.random().OneIn(12)) client_.Sync(log.handle);
  if (full || IsFull(log.handle, log.path)) logs_.erase(logs_.begin() + static_cast<std::ptrdiff_t>(n));
}

void LogsWork::CloseLog() {
  const std::size_t n = client_.random().Below(logs_.size());
  const Log log = logs_[n];
  logs_.erase(logs_.begin() + static_cast<std::ptrdiff_t>(n));
  if (client_.IsOpen(log.handle)) client_.Close(log.handle);
  if (IsFull(log.handle, log.path)) return;
  client_.UnlinkWithoutSpace(log.path);
}

void LogsWork::Table() {
  const std::string path = NewName(".sst");
  client_.Create("table", path);
  if (client_.WasFull() || client_.failed()) return;
  const std::uint64_t most = std::min(sizes_.capacity, sizes_.device / 8);
  if (client_.FillFile("table", path, most / 8 + client_.random().Below(most))) {
    tables_.push_back(path);
  } else {
    full_ = true;
  }
}

void LogsWork::DeleteTable() {
  full_ = false;
  if (tables_.empty()) return;
  std::swap(tables_[client_.random().Below(tables_.size())], tables_.back());
  client_.UnlinkWithoutSpace(tables_.back());
  tables_.pop_back();
}

}  // namespace zenfs
