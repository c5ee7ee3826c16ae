#include "volume_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "testing/empty_zone.h"
#include "verify.h"

namespace zenfs {

VolumeClient::VolumeClient(std::shared_ptr<Volume> volume, std::uint64_t seed, const std::string& root)
    : volume_(std::move(volume)), model_(root), random_(seed) {}

std::string VolumeClient::Bytes(std::size_t count) {
  std::string bytes = fmt::format("<{}>", random_.Next() % 100000);
  const std::size_t head = std::min(bytes.size(), count);
  bytes.resize(count);
  random_.Fill(std::as_writable_bytes(std::span(bytes)).subspan(head));
  return bytes;
}

void VolumeClient::Finish(const Status& status, const std::string& what) {
  if (Ok(status, what)) model_.Done();
}

void VolumeClient::BeginUnmount() {
  if (failed()) return;
  std::vector<ModelFileRef> open;
  for (const auto& [name, handle] : handles_) open.push_back(handle.file);
  model_.BeginUnmount(open);
}

void VolumeClient::Unmounted(const Status& status) {
  if (!failed()) Finish(status, "unmount");
  DropHandles();
}

void VolumeClient::Unmount() {
  if (failed()) return;
  BeginUnmount();
  Unmounted(volume_->Unmount());
}

void VolumeClient::Remounted(std::shared_ptr<Volume> volume) {
  volume_ = std::move(volume);
  if (failed()) return;
  const Result<FoundTree> found = Find(*volume_, model_.root());
  if (!found) return static_cast<void>(Right(found.error().ToString(), "after remount"));
  Right(model_.WhyNot(*found, CrashKind::kProcessDied), "after remount");
  model_.Settle(*found);
}

void VolumeClient::AdoptFound(const FoundTree* durable) {
  const Result<FoundTree> found = Find(*volume_, model_.root());
  if (Ok(StatusOf(found), "read everything")) model_.Settle(*found, durable);
}

// Skips a zone whose data can't be moved at the moment, or has no room elsewhere.
void VolumeClient::EmptyZones() {
  for (const ZoneStatus& zone : volume_->Zones()) {
    if (failed()) return;
    if (zone.phase != ZonePhase::kFull || zone.live == 0) continue;
    const Status emptied = EmptyZone(*volume_, zone.id);
    const bool may_fail =
        !emptied.ok() && (emptied.error().code() == Code::kBusy || emptied.error().code() == Code::kNoSpace ||
                          emptied.error().code() == Code::kInvalidArgument);
    Ok(may_fail ? Status() : emptied, fmt::format("empty zone {}", zone.id.value));
  }
}

// A reader gives up if the writer changes the volume during each of its tries.
void VolumeClient::ReadBeside(ZonedDevice& device, CrashKind kind) {
  if (failed()) return;
  const auto read = [&]() -> Result<FoundTree> {
    ZENFS_ASSIGN_OR_RETURN(const std::shared_ptr<Volume> reader, MountReader(device));
    return Find(*reader, model_.root(), true);
  };
  const Result<FoundTree> found = read();
  if (!found && (found.error().code() == Code::kTimedOut || found.error().code() == Code::kBusy)) return;
  if (OkToRead(StatusOf(found), "read beside the writer"))
    Right(model_.WhyNot(*found, kind), "read beside the writer");
}

void VolumeClient::DropHandles() { handles_.clear(); }

void VolumeClient::Compare() {
  if (failed()) return;
  const Result<FoundTree> found = Find(*volume_, model_.root());
  if (!Ok(StatusOf(found), "read everything")) return;
  const Tree live = model_.Live();
  for (const auto& [path, file] : live) {
    const auto it = found->find(path);
    if (it == found->end()) {
      Right("not shown", path);
    } else if (file != nullptr && it->second.content != file->live) {
      Right("shown " + DescribeMismatch(file->live, it->second.content), path);
    }
  }
  Right(live.size() != found->size() ? "more is shown than there should be" : "", "all files");
}

}  // namespace zenfs
