#include "volume/reader/reader_mount.h"

#include <fmt/format.h>

#include <algorithm>

#include "metalog/probe.h"
#include "volume/pair_proof.h"

namespace zenfs {
namespace {

// The probe reads the copies of the superblock one after the other. If a writer switches the metadata log meanwhile, each
// copy may be unreadable just when it is read. Then the write pointers have moved, and the probe is repeated.
Result<Superblock> ProbeLive(ZonedDevice& device) {
  const Deadline deadline = Deadline::After(LogFollower::kPatience);
  const std::uint32_t count = std::min<std::uint32_t>(device.geometry().zone_count, kMaxMetadataZones);
  for (;;) {
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> before, device.Report(ZoneId(0), count));
    Result<Superblock> superblock = ProbeSuperblock(device);
    if (superblock) return superblock;
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> after, device.Report(ZoneId(0), count));
    const bool moved =
        !std::ranges::equal(before, after, {}, &ZoneInfo::WrittenBytes, &ZoneInfo::WrittenBytes);
    if (!moved || deadline.Passed()) return superblock;
  }
}

}  // namespace

Result<std::shared_ptr<ReaderMount>> ReaderMount::Open(std::unique_ptr<ZonedDevice> device) {
  ZENFS_ASSIGN_OR_RETURN(Superblock superblock, ProbeLive(*device));
  auto mount = std::make_shared<ReaderMount>(std::move(device), std::move(superblock));
  ZENFS_RETURN_IF_ERROR(mount->CheckPair());
  ZENFS_RETURN_IF_ERROR(mount->FindShortfall());  // both logs can be read
  return mount;
}

ReaderMount::ReaderMount(std::unique_ptr<ZonedDevice> device, Superblock superblock)
    : info_{.superblock = std::move(superblock),
            .geometry = device->geometry(),
            .device_name = device->name(),
            .read_only = true},
      gate_(info_.device_name),
      device_(std::move(device)),
      live_(std::make_unique<LiveState>(*device_, info_.superblock)),
      announcements_(std::make_unique<ReaderAnnouncements>(*live_, info_.superblock, *device_)) {}

Status ReaderMount::CheckPair() const {
  const auto claim = [this]() -> Result<PairClaim> {
    PairClaim now;
    ZENFS_RETURN_IF_ERROR(live_->Look([&](LiveState::View& view) -> Status {
      now = PairClaim::Of(view.state());
      return {};
    }));
    return now;
  };
  return CheckPairLive(*device_, claim);
}

Result<Shortfall> ReaderMount::FindShortfall() const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry gate, Enter());
  Shortfall shortfall;
  ZENFS_RETURN_IF_ERROR(live_->Look([&](LiveState::View& view) -> Status {
    ZENFS_ASSIGN_OR_RETURN(shortfall, view.FindShortfall());
    return {};
  }));
  return shortfall;
}

std::vector<std::string> ReaderMount::notices() const {
  const Result<Gate::Entry> gate = Enter();
  if (!gate) return {};
  std::vector<std::string> notices = device_->notices();
  Result<Shortfall> shortfall = FindShortfall();
  if (!shortfall) {
    notices.push_back(shortfall.error().ToString());
    return notices;
  }
  for (const Finding& lost : shortfall->lost) notices.push_back(lost.text);
  if (std::string rest = shortfall->lost.OmittedText(); !rest.empty()) notices.push_back(std::move(rest));
  if (!shortfall->unsynced.empty()) notices.push_back(std::move(shortfall->unsynced));
  return notices;
}

Status ReaderMount::Refuse() const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, Enter());
  return Fail(Code::kReadOnly, fmt::format("{}: mounted read-only", info_.device_name));
}

Result<LiveZones> ReaderMount::AccountZones() const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry gate, Enter());
  LiveZones zones;
  ZENFS_RETURN_IF_ERROR(live_->Look([&](LiveState::View& view) -> Status {
    ZENFS_ASSIGN_OR_RETURN(const auto frame_bytes, view.FrameBytes());
    ZENFS_ASSIGN_OR_RETURN(zones, AccountLiveZones(*device_, info_.superblock, view.state(),
                                                   view.metadata_zones(), frame_bytes));
    return {};
  }));
  return zones;
}

void ReaderMount::Unmount() {
  if (!gate_.Close()) return;
  announcements_.reset();
  live_.reset();
  device_.reset();
}

}  // namespace zenfs
