#include "backends/emulator/disk_clock.h"

#include <algorithm>
#include <cmath>

namespace zenfs {
namespace {

// What the arm writes before it looks for reads again.
constexpr std::uint64_t kWrittenAtOnce = 1 << 20;

std::chrono::nanoseconds Scaled(std::chrono::nanoseconds time, double by) {
  return std::chrono::nanoseconds(std::llround(static_cast<double>(time.count()) * by));
}

std::chrono::nanoseconds Seconds(double seconds) {
  return std::chrono::nanoseconds(std::llround(seconds * 1e9));
}

}  // namespace

DiskClock::DiskClock(const DiskProfile& profile, std::uint32_t zones, std::uint64_t zone_bytes)
    : profile_(profile),
      zone_bytes_(zone_bytes),
      disk_bytes_(std::max<std::uint64_t>(1, zones * zone_bytes)) {}

SteadyTime DiskClock::Completion(const TimedCommand& command, SteadyTime sent) {
  const std::uint64_t at = command.zone.value * zone_bytes_ + command.offset;
  switch (command.kind) {
    case TimedCommand::Kind::kRead: return Read(at, command.bytes, sent);
    case TimedCommand::Kind::kWrite:
    case TimedCommand::Kind::kAppend: return Write(at, command.bytes, sent);
    case TimedCommand::Kind::kFlush:
      while (!cached_.empty()) WriteNext();
      return std::max(sent + profile_.overhead, reads_on_ ? sent : arm_free_);
    case TimedCommand::Kind::kReset:
    case TimedCommand::Kind::kFinish:
    case TimedCommand::Kind::kOpen:
    case TimedCommand::Kind::kClose: return sent + profile_.overhead;
  }
  return sent;
}

SteadyTime DiskClock::Read(std::uint64_t at, std::uint64_t bytes, SteadyTime sent) {
  const SteadyTime at_once = sent + profile_.overhead + InterfaceTime(bytes);
  for (const Run& run : cached_) {
    if (run.at <= at && at + bytes <= run.at + run.bytes) return at_once;
  }
  WriteBack(sent);
  if (reads_on_ && at == arm_at_) {
    const auto ahead = TransferTime(at, profile_.read_ahead_bytes);
    Transfer(at, bytes, std::max(arm_free_, sent - ahead));
  } else {
    Transfer(at, bytes, Reach(at, std::max(arm_free_, sent), Way::kRead));
  }
  reads_on_ = true;
  return std::max(at_once, arm_free_);
}

SteadyTime DiskClock::Write(std::uint64_t at, std::uint64_t bytes, SteadyTime sent) {
  WriteBack(sent);
  const auto before = std::ranges::find(cached_, at, [](const Run& run) { return run.at + run.bytes; });
  if (before != cached_.end()) {
    before->bytes += bytes;
  } else {
    cached_.push_back({at, bytes, sent});
  }
  cached_bytes_ += bytes;
  SteadyTime due = sent + profile_.overhead + InterfaceTime(bytes);
  while (cached_bytes_ > profile_.cache_bytes) {
    WriteNext();
    due = std::max(due, arm_free_);
  }
  return due;
}

std::size_t DiskClock::NextRun() const {
  const auto behind = std::ranges::find(cached_, arm_at_, &Run::at);
  return !reads_on_ && behind != cached_.end() ? static_cast<std::size_t>(behind - cached_.begin()) : 0;
}

void DiskClock::WriteNext() {
  const std::size_t next = NextRun();
  Run& run = cached_[next];
  const std::uint64_t bytes = std::min(run.bytes, kWrittenAtOnce);
  const SteadyTime begin = std::max(arm_free_, run.arrived);
  const bool goes_on = !reads_on_ && run.at == arm_at_ && begin == arm_free_;
  Transfer(run.at, bytes, goes_on ? begin : Reach(run.at, begin, Way::kWrite));
  reads_on_ = false;
  cached_bytes_ -= bytes;
  run.at += bytes;
  run.bytes -= bytes;
  if (run.bytes == 0) cached_.erase(cached_.begin() + static_cast<std::ptrdiff_t>(next));
}

void DiskClock::WriteBack(SteadyTime until) {
  while (!cached_.empty() && std::max(arm_free_, cached_[NextRun()].arrived) < until) WriteNext();
}

void DiskClock::Transfer(std::uint64_t at, std::uint64_t bytes, SteadyTime begin) {
  arm_free_ = begin + TransferTime(at, bytes);
  arm_at_ = at + bytes;
}

SteadyTime DiskClock::Reach(std::uint64_t at, SteadyTime begin, Way way) const {
  const std::uint64_t distance = at > arm_at_ ? at - arm_at_ : arm_at_ - at;
  const double share = static_cast<double>(distance) / static_cast<double>(disk_bytes_);
  const bool read = way == Way::kRead;
  const auto seek = (read ? profile_.read_settle : profile_.write_settle) +
                    Scaled(read ? profile_.read_stroke : profile_.write_stroke, std::sqrt(share));
  const SteadyTime there = begin + (distance == 0 ? std::chrono::nanoseconds(0) : seek);
  // Where on its track the sector is, and where the head is, in revolutions.
  const double track_bytes = BytesPerSecond(at) * std::chrono::duration<double>(profile_.revolution).count();
  const double sector = std::fmod(static_cast<double>(at), track_bytes) / track_bytes;
  const auto turned = there.time_since_epoch() % profile_.revolution;
  const double head = static_cast<double>(turned.count()) / static_cast<double>(profile_.revolution.count());
  const double wait = sector >= head ? sector - head : sector - head + 1;
  return there + Scaled(profile_.revolution, wait);
}

double DiskClock::BytesPerSecond(std::uint64_t at) const {
  const double share = static_cast<double>(at) / static_cast<double>(disk_bytes_);
  const auto outer = static_cast<double>(profile_.outer_bytes);
  return outer - share * (outer - static_cast<double>(profile_.inner_bytes));
}

std::chrono::nanoseconds DiskClock::TransferTime(std::uint64_t at, std::uint64_t bytes) const {
  return Seconds(static_cast<double>(bytes) / BytesPerSecond(at));
}

std::chrono::nanoseconds DiskClock::InterfaceTime(std::uint64_t bytes) const {
  return Seconds(static_cast<double>(bytes) / static_cast<double>(profile_.interface_bytes));
}

}  // namespace zenfs
