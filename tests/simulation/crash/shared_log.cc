#include "shared_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace zenfs {
namespace {

constexpr std::size_t kRecordHeadBytes = 10;  // "<00000012>", the number of the record

}  // namespace

std::size_t SharedLog::size() const {
  MutexLock lock(mutex_);
  return size_;
}

SharedLog::Record SharedLog::BeginAppend(std::string bytes) {
  MutexLock lock(mutex_);
  Entry entry{.bytes = fmt::format("<{:08}>", records_.size()) + std::move(bytes), .begin = ++clock_};
  size_ += entry.bytes.size();
  records_.push_back(std::move(entry));
  return records_.size() - 1;
}

std::string SharedLog::BytesOf(Record record) const {
  MutexLock lock(mutex_);
  return records_[record].bytes;
}

void SharedLog::Appended(Record record) {
  MutexLock lock(mutex_);
  records_[record].end = ++clock_;
}

SharedLog::Time SharedLog::Begin() {
  MutexLock lock(mutex_);
  return ++clock_;
}

void SharedLog::Flushed(Time begin) {
  MutexLock lock(mutex_);
  for (Entry& entry : records_) entry.flushed = entry.flushed || entry.end < begin;
}

void SharedLog::Synced(Time begin) {
  Flushed(begin);
  MutexLock lock(mutex_);
  for (Entry& entry : records_) entry.synced = entry.synced || entry.end < begin;
}

std::vector<SharedLog::Record> SharedLog::Parse(const std::string& content, std::string& why) const {
  std::vector<Record> found;
  if (!content.starts_with(base_)) {
    // Contents that an earlier mount showed must stay.
    why = "its beginning has changed: " + DescribeMismatch(base_, content);
    return found;
  }
  std::size_t at = base_.size();
  while (content.size() - at >= kRecordHeadBytes) {
    Record record = records_.size();
    std::from_chars(content.data() + at + 1, content.data() + at + kRecordHeadBytes - 1, record);
    if (record >= records_.size() || std::ranges::find(found, record) != found.end()) {
      why = fmt::format("at {} no record begins that is not there yet", at);
      return found;
    }
    const std::string& bytes = records_[record].bytes;
    const std::size_t length = std::min(bytes.size(), content.size() - at);
    if (content.compare(at, length, bytes, 0, length) != 0) {
      why = fmt::format("at {} record {} has other bytes", at, record);
      return found;
    }
    if (length < bytes.size()) return found;  // the last record is incomplete
    found.push_back(record);
    at += length;
  }
  return found;
}

template <typename Must>
std::string SharedLog::WhyNotContent(const std::string& content, const Must& must) const {
  std::string why;
  const std::vector<Record> found = Parse(content, why);
  if (!why.empty()) return why;
  std::vector<bool> is_there(records_.size());
  Time last_begin = 0;
  for (const Record record : found) {
    const Entry& entry = records_[record];
    if (entry.end < last_begin)
      return fmt::format("record {} stands behind one that was begun when it was done", record);
    last_begin = std::max(last_begin, entry.begin);
    is_there[record] = true;
  }
  for (Record record = 0; record < records_.size(); ++record) {
    const Entry& entry = records_[record];
    if (is_there[record]) continue;
    if (must(entry)) return fmt::format("record {} of {} bytes is missing", record, entry.bytes.size());
    if (entry.end < last_begin)
      return fmt::format("record {} is missing, and one is there that was begun when it was done", record);
  }
  return {};
}

std::string SharedLog::WhyNotRead(const std::string& content, Time begin) const {
  MutexLock lock(mutex_);
  return WhyNotContent(content, [&](const Entry& entry) { return entry.end < begin; });
}

std::string SharedLog::WhyNot(const FoundTree& found, CrashKind kind) const {
  MutexLock lock(mutex_);
  const auto log = found.find(path_);
  if (log == found.end()) return path_ + " is missing";
  if (found.size() != 2) return root_ + " has more in it than it should";
  const std::string why = WhyNotContent(log->second.content, [&](const Entry& entry) {
    return kind == CrashKind::kPowerLost ? entry.synced : entry.flushed;
  });
  return why.empty() ? why : path_ + ": " + why;
}

void SharedLog::Settle(const std::string& content) {
  MutexLock lock(mutex_);
  base_ = content;
  size_ = content.size();
  records_.clear();
}

}  // namespace zenfs
