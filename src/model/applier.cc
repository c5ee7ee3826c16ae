#include "model/applier.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"
#include "model/number_limits.h"

namespace zenfs {
namespace {

// Checks that extents begin at 0 and have no gaps, and that windows follow them in order.
[[maybe_unused]] bool InOrder(const FileRecord& file) {
  std::uint64_t end = 0;
  for (const Extent& extent : file.extents) {
    if (extent.file_offset != end || extent.length == 0) return false;
    end = extent.end();
  }
  std::uint64_t sequence = 0;
  for (const LogWindow& window : file.windows) {
    if (window.first_sequence <= sequence || window.last_sequence < window.first_sequence) return false;
    if (window.last_sequence >= file.next_sequence || window.end < end) return false;
    sequence = window.last_sequence;
    end = window.end;
  }
  return file.size == end;
}

Status CheckNumber(std::string_view what, std::uint64_t number) {
  if (number < kStateNumbersEnd) return {};
  return Fail(Code::kCorruption, fmt::format("{} {} is higher than any writer counts", what, number));
}

// Returns true if nobody else has the record. Nobody can get it then: the owner of the state has locked it.
bool IsSole(const std::shared_ptr<const FileRecord>& record) {
  if (record.use_count() != 1) return false;
  // use_count() orders nothing. This does: what other threads read of the record, they read before it is changed.
  std::shared_ptr<const FileRecord>(record).reset();
  return true;
}

Status CheckContents(const FileRecord& file) {
  const std::uint64_t end = file.windows.empty() ? file.ExtentsEnd() : file.windows.back().end;
  if (file.size != end) {
    return Fail(Code::kCorruption, fmt::format("file {} has size {}, but its extents and windows end at {}",
                                               file.id.value, file.size, end));
  }
  ZENFS_RETURN_IF_ERROR(CheckNumber("size", file.size));
  ZENFS_RETURN_IF_ERROR(CheckNumber("frame", file.next_sequence));
  if (!file.windows.empty() && file.windows.front().end < file.ExtentsEnd()) {
    return Fail(Code::kCorruption, fmt::format("file {} has a window inside its extents", file.id.value));
  }
  return {};
}

// Of a file that a commit has changed. `next_id`: lowest id that was never allocated.
Status CheckChanged(const FileRecord& file, bool created, std::uint64_t next_id) {
  if (created && file.links == 0) {
    return Fail(Code::kCorruption, fmt::format("file {} was created without a name", file.id.value));
  }
  if (created && file.id.value >= next_id) {
    return Fail(Code::kCorruption,
                fmt::format("file id {} was never allocated (next is {})", file.id.value, next_id));
  }
  return CheckContents(file);
}

}  // namespace

Status ApplyOnlyExtents(const SetExtents& edit, FileRecord& file) {
  if (Status applied = ApplyExtents(edit, file); !applied.ok())
    return Fail(applied.error().With(EditText(edit)));
  return CheckContents(file);
}

bool State::Applier::IsFile(FileId id) const { return touched_.contains(id) || state_.files_.contains(id); }

bool State::Applier::IsUsed(FileId id) const { return IsFile(id) || state_.directories_.contains(id); }

FileRecord* State::Applier::Touch(FileId id) {
  if (const auto found = touched_.find(id); found != touched_.end()) return found->second.record.get();
  const auto known = state_.files_.find(id);
  if (known == state_.files_.end()) return nullptr;
  order_.push_back(id);
  auto record = IsSole(known->second) ? std::const_pointer_cast<FileRecord>(known->second)
                                      : std::make_shared<FileRecord>(*known->second);
  return touched_.emplace(id, Touched{.record = std::move(record)}).first->second.record.get();
}

Directory* State::Applier::FindDirectory(FileId id) {
  const auto found = state_.directories_.find(id);
  return found == state_.directories_.end() ? nullptr : &found->second;
}

Status State::Applier::operator()(const AllocateLogZones& edit) {
  for (const LogZone& zone : edit.zones) {
    if (!state_.log_zones_.emplace(zone.zone, zone).second) {
      return Fail(Code::kCorruption, fmt::format("zone {} is a log zone already", zone.zone.value));
    }
    new_log_zones_.push_back(zone.zone);
  }
  return {};
}

Status State::Applier::operator()(const ReleaseLogZones& edit) {
  for (const ZoneId zone : edit.zones) {
    if (state_.log_zones_.erase(zone) == 0) {
      return Fail(Code::kCorruption, fmt::format("zone {} is not a log zone", zone.value));
    }
  }
  return {};
}

Status State::Applier::operator()(const BeginEpoch& edit) {
  ZENFS_RETURN_IF_ERROR(CheckNumber("epoch", edit.epoch));
  if (edit.epoch <= state_.epoch_) {
    return Fail(Code::kCorruption, fmt::format("the epoch is {} already", state_.epoch_));
  }
  state_.epoch_ = edit.epoch;
  return {};
}

Status State::Applier::operator()(const RaiseCounters& edit) {
  ZENFS_RETURN_IF_ERROR(CheckNumber("id", edit.next_id));
  ZENFS_RETURN_IF_ERROR(CheckNumber("generation", edit.next_generation));
  state_.next_id_ = std::max(state_.next_id_, edit.next_id);
  state_.next_generation_ = std::max(state_.next_generation_, edit.next_generation);
  return {};
}

Status State::Applier::operator()(const SetBufferPlace& edit) {
  if (edit.place.size() > kMaxPlaceBytes) {
    return Fail(Code::kCorruption, fmt::format("the place of the append buffers has {} bytes, more than {}",
                                               edit.place.size(), kMaxPlaceBytes));
  }
  const bool has_key = !edit.key.empty();
  if (has_key ? edit.key.size() != kBufferKeyBytes || edit.place.empty() : edit.maker != 0) {
    return Fail(Code::kCorruption, "the key of the append buffers is invalid");
  }
  state_.buffers_ = edit;
  return {};
}

Status State::Applier::operator()(const MarkSyncZone& edit) {
  const auto found = state_.log_zones_.find(edit.zone);
  if (found == state_.log_zones_.end()) {
    return Fail(Code::kCorruption, fmt::format("zone {} is not a log zone", edit.zone.value));
  }
  if (edit.bytes == 0) {
    return Fail(Code::kCorruption, fmt::format("sync zone {} has no bytes", edit.zone.value));
  }
  found->second.sync_bytes = edit.bytes;
  return {};
}

Status State::Applier::operator()(const SetPairKey& edit) {
  if (edit.key.IsNil()) return Fail(Code::kCorruption, "the key of the pair of devices is empty");
  state_.pair_key_ = edit.key;
  return {};
}

Status State::Applier::Finish() {
  for (const FileId id : new_directories_) {
    if (id.value >= state_.next_id_) {
      return Fail(Code::kCorruption,
                  fmt::format("directory id {} was never allocated (next is {})", id.value, state_.next_id_));
    }
  }
  for (const ZoneId zone : new_log_zones_) {
    const auto found = state_.log_zones_.find(zone);
    if (found != state_.log_zones_.end() && found->second.generation >= state_.next_generation_) {
      return Fail(Code::kCorruption,
                  fmt::format("generation {} of log zone {} was never allocated (next is {})",
                              found->second.generation, zone.value, state_.next_generation_));
    }
  }
  for (const FileId id : order_) {
    Touched& touched = touched_.at(id);
    const FileRecord& record = *touched.record;
    ZENFS_RETURN_IF_ERROR(CheckChanged(record, touched.created, state_.next_id_));
    if (record.links == 0) {
      state_.files_.erase(id);
      if (effects_ != nullptr) {
        effects_->lost.insert(effects_->lost.end(), record.extents.begin(), record.extents.end());
        effects_->removed.push_back(id);
      }
      continue;
    }
    ZENFS_ASSERT(InOrder(record));
    state_.files_.insert_or_assign(id, std::move(touched.record));
    if (effects_ != nullptr) effects_->changed.push_back(id);
  }
  return {};
}

}  // namespace zenfs
