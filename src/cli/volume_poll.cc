#include "cli/volume_poll.h"

#include <fmt/format.h>

namespace zenfs {

Result<std::unique_ptr<VolumePoll>> VolumePoll::Start(std::string device, Read read) {
  std::unique_ptr<VolumePoll> poll(new VolumePoll(std::move(device), std::move(read)));
  ZENFS_ASSIGN_OR_RETURN(poll->thread_, Thread::Start("zenfs-scrape", [p = poll.get()] { p->Run(); }));
  return poll;
}

VolumePoll::~VolumePoll() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  changed_.NotifyAll();
  thread_.Join();
}

std::uint64_t VolumePoll::Begin() {
  MutexLock lock(mutex_);
  if (begun_ == ended_) {
    ++begun_;
    changed_.NotifyAll();
  }
  return begun_;
}

VolumeReading VolumePoll::End(std::uint64_t number, Deadline deadline) {
  std::shared_ptr<const VolumeReading> reading;
  {
    MutexLock lock(mutex_);
    while (ended_ < number) {
      if (changed_.WaitUntil(mutex_, deadline) || ended_ >= number) continue;
      lock.Unlock();
      return Unread(Error(Code::kTimedOut, "the volume could not be read within the time of a scrape")
                        .Advise("see whether the device answers, or raise --timeout"));
    }
    reading = last_;
  }
  if (reading != nullptr) return *reading;
  return Unread(Error(Code::kNoSpace, "out of memory").Advise("raise the memory limit of the exporter"));
}

bool VolumePoll::busy() const {
  MutexLock lock(mutex_);
  return begun_ != ended_;
}

void VolumePoll::Run() noexcept {
  MutexLock lock(mutex_);
  for (;;) {
    while (!stop_ && begun_ == ended_) changed_.Wait(mutex_);
    if (begun_ == ended_) return;
    lock.Unlock();
    std::shared_ptr<const VolumeReading> reading;
    try {
      reading = std::make_shared<const VolumeReading>(read_());
    } catch (...) {  // only memory and libraries throw
    }
    lock.Lock();
    last_ = std::move(reading);
    ended_ = begun_;
    changed_.NotifyAll();
  }
}

VolumeReading VolumePoll::Unread(Error why) const {
  VolumeReading reading{.device = device_};
  reading.trouble = why.With(device_);
  return reading;
}

}  // namespace zenfs
