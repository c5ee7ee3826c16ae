#include "volume/reader/reader_announcements.h"

#include "volume/waiting_bytes.h"

namespace zenfs {
namespace {

constexpr std::chrono::seconds kLookAgain{1};

}  // namespace

std::shared_ptr<const AnnouncedZones::Hold> ReaderAnnouncements::Announce(std::vector<ZoneId> zones) {
  const std::shared_ptr<AnnouncedZones> writer = Writer();
  return writer == nullptr ? nullptr : writer->Announce(std::move(zones));
}

std::shared_ptr<AnnouncedZones> ReaderAnnouncements::Writer() {
  {
    MutexLock lock(mutex_);
    if (writer_ != nullptr && writer_->WriterRuns()) return writer_;
    if (SteadyNow() < look_at_) return nullptr;
    look_at_ = SteadyNow() + kLookAgain;
  }
  WhoseBuffers whose;
  const Status looked = live_.Look([&](LiveState::View& view) -> Status {
    whose = BuffersOf(view.state(), superblock_.uuid, device_);
    return {};
  });
  std::shared_ptr<AnnouncedZones> writer = looked.ok() ? AnnouncedZones::Open(whose) : nullptr;
  MutexLock lock(mutex_);
  writer_ = writer;
  return writer;
}

}  // namespace zenfs
