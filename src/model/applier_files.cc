// State::Applier: edits that change the contents of files.
#include <fmt/format.h>

#include <limits>

#include "model/applier.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

// Drops the extents from `offset` on, and cuts the one that contains it. Adds the dropped ranges to `lost`.
void DropExtents(FileRecord& file, std::uint64_t offset, std::vector<Extent>* lost) {
  while (!file.extents.empty() && file.extents.back().end() > offset) {
    Extent& last = file.extents.back();
    if (last.file_offset >= offset) {
      if (lost != nullptr) lost->push_back(last);
      file.extents.pop_back();
      continue;
    }
    const std::uint64_t kept = offset - last.file_offset;
    if (lost != nullptr) {
      lost->push_back(
          Extent{.file_offset = offset, .place = last.place + kept, .length = last.length - kept});
    }
    last.length = kept;
    last.crc.reset();  // the CRC covered the whole extent
  }
}

Status CheckExtent(const Extent& extent, std::uint64_t expected_offset) {
  if (extent.file_offset != expected_offset) {
    return Fail(Code::kCorruption,
                fmt::format("an extent begins at byte {}, expected {}", extent.file_offset, expected_offset));
  }
  if (extent.length == 0 || extent.length > kMax - extent.file_offset ||
      extent.length > kMax - extent.place.value) {
    return Fail(Code::kCorruption, fmt::format("an extent of {} bytes at device byte {} is impossible",
                                               extent.length, extent.place.value));
  }
  return {};
}

Status CheckWindows(const std::vector<LogWindow>& windows, std::uint64_t epoch, std::uint64_t next_sequence) {
  const LogWindow* previous = nullptr;
  for (const LogWindow& window : windows) {
    if (window.first_sequence == 0 || window.first_sequence > window.last_sequence ||
        window.last_sequence >= next_sequence) {
      return Fail(Code::kCorruption, fmt::format("a window of frames {} to {} before frame {} is impossible",
                                                 window.first_sequence, window.last_sequence, next_sequence));
    }
    if (window.epoch > epoch) {
      return Fail(Code::kCorruption,
                  fmt::format("a window of epoch {}, but the epoch is {}", window.epoch, epoch));
    }
    if (previous != nullptr && (window.first_sequence <= previous->last_sequence ||
                                window.epoch < previous->epoch || window.end < previous->end)) {
      return Fail(Code::kCorruption, "the windows are not in file order");
    }
    previous = &window;
  }
  return {};
}

}  // namespace

Status ApplyExtents(const SetExtents& edit, FileRecord& file, Effects* effects) {
  DropExtents(file, edit.from_offset, effects == nullptr ? nullptr : &effects->lost);
  std::uint64_t end = file.ExtentsEnd();
  for (const Extent& extent : edit.extents) {
    ZENFS_RETURN_IF_ERROR(CheckExtent(extent, end));
    end = extent.end();
  }
  file.extents.insert(file.extents.end(), edit.extents.begin(), edit.extents.end());
  file.size = edit.size;
  file.mtime_seconds = edit.mtime_seconds;
  if (effects != nullptr) {
    effects->gained.insert(effects->gained.end(), edit.extents.begin(), edit.extents.end());
  }
  return {};
}

Status State::Applier::operator()(const SetExtents& edit) {
  FileRecord* file = Touch(edit.id);
  if (file == nullptr) return Fail(Code::kCorruption, "there is no such file");
  return ApplyExtents(edit, *file, effects_);
}

Status State::Applier::operator()(const SealLog& edit) {
  FileRecord* file = Touch(edit.id);
  if (file == nullptr) return Fail(Code::kCorruption, "there is no such file");
  if (edit.next_sequence < file->next_sequence) {
    return Fail(Code::kCorruption, fmt::format("its next frame is {} already", file->next_sequence));
  }
  ZENFS_RETURN_IF_ERROR(CheckWindows(edit.windows, state_.epoch_, edit.next_sequence));
  file->shape = FileShape::kFramed;
  file->windows.clear();
  std::uint64_t end = file->ExtentsEnd();
  for (const LogWindow& window : edit.windows) {
    if (window.end != end) file->windows.push_back(window);
    end = window.end;
  }
  file->next_sequence = edit.next_sequence;
  file->size = edit.size;
  file->mtime_seconds = edit.mtime_seconds;
  return {};
}

Status State::Applier::operator()(const SetLifetime& edit) {
  FileRecord* file = Touch(edit.id);
  if (file == nullptr) return Fail(Code::kCorruption, "there is no such file");
  file->lifetime = edit.lifetime;
  return {};
}

}  // namespace zenfs
