#include "metalog/metalog_parts.h"

#include <algorithm>
#include <utility>

namespace zenfs {
namespace {

// Number of superseded zones that may stay active. zone/slot_plan.h relies on it.
std::size_t SpareSlots(const Geometry& geometry, std::uint32_t copies) {
  const bool limited = geometry.max_active != 0 || geometry.max_open != 0;
  return limited ? copies : kMaxMetadataZones;
}

// Null if the device is read-only.
std::unique_ptr<GenerationWriter> WriterOf(ZonedDevice& device, const Superblock& superblock,
                                           Metazones& zones, const Replayed& replayed) {
  if (device.mode() == OpenMode::kReadOnly) return nullptr;
  return std::make_unique<GenerationWriter>(device, superblock, zones, ResumeOf(replayed));
}

}  // namespace

std::uint64_t SmallestZone(ZonedDevice& device, std::span<const ZoneId> zones) {
  const MetazoneLayout layout(device.geometry().block_size);
  std::uint64_t smallest = device.geometry().zone_size;
  for (const ZoneId zone : zones) {
    const Result<ZoneInfo> report = device.ReportZone(zone);
    if (!report || report->condition == ZoneCondition::kOffline) continue;
    smallest = std::min(smallest, report->capacity);
  }
  return smallest > layout.frames_at ? smallest - layout.frames_at : 0;
}

MetalogParts::MetalogParts(ZonedDevice& the_device, const Superblock& the_superblock, Replayed replayed,
                           std::function<void()> run_switch)
    : device(the_device),
      superblock(the_superblock),
      layout(device.geometry().block_size),
      copies(CopiesOf(superblock, device.geometry())),
      spare_slots(SpareSlots(device.geometry(), copies)),
      zones(device, superblock, replayed.added_zones),
      current(WriterOf(device, superblock, zones, replayed), replayed.tail_is_clean(),
              std::max(replayed.generation, replayed.highest_generation)),
      replica(std::move(replayed.state)),
      log_switch(std::move(run_switch)),
      smallest_zone_bytes(SmallestZone(device, zones.zones())) {
  stats.generation = replayed.generation;
  stats.sequence = replayed.sequence;
  stats.wanted_copies = copies;
  stats.copies = replayed.tail.size() == 2 && replayed.lost_copies.empty() ? 2 : 1;
  if (current.has_writer())
    current.SetSwitchRoom(std::min(space().SwitchReserve(), current.writer().zone_capacity() / 4));
}

void MetalogParts::NoteWanted(std::uint64_t bytes) {
  constexpr std::uint64_t kAhead = 64 << 10;  // more than most commits
  const MetalogSpace now = space();
  const std::uint64_t limit = now.SnapshotLimit(Growth::kGrows);
  const std::uint64_t ahead = std::max({limit / 4, std::min(kAhead, limit / 2), bytes});
  // A running log switch can't name more zones.
  const bool may = MayHaveMoreZones() && current.has_writer() && !log_switch.running() && !zones_claimed &&
                   !zones.HasFresh();
  const bool needs = may && replica.used_bytes() + ahead > limit;
  wanted_zones.store(needs ? static_cast<std::uint32_t>(now.ZonesOfPlace()) : 0, std::memory_order_relaxed);
}

void MetalogParts::CountWritten() {
  if (metrics == nullptr) return;
  metrics->RaiseTo(Value::kMetadataBytes, stats.bytes_written + current.writer().bytes_written());
  metrics->RaiseTo(Value::kMetaFrames, stats.frames_written);
  metrics->Set(Value::kMetadataCopies, stats.copies);
}

void MetalogParts::Refuse(CommitCall& call, const Error& error) {
  ZENFS_ASSERT(!call.done);
  replica.Release(call.reserved);
  call.Complete(Fail(error));
}

void MetalogParts::CheckReplica(const Status& applied) {
  if (applied.ok()) return;
  GoReadOnly(
      applied.error().With(device.name() + ": a commit contradicts the metadata log's own state (a bug)"));
}

void MetalogParts::GoReadOnly(const Error& why) {
  if (health.ok()) health = Fail(why.code() == Code::kCorruption ? why : Error(Code::kReadOnly, why.text()));
  for (CommitCall* call : queue.TakeAll()) Refuse(*call, health.error());
}

}  // namespace zenfs
