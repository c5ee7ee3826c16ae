#include "recorded_trace.h"

#include <fmt/format.h>

#include <filesystem>

namespace zenfs::space {
namespace {

using What = TraceEvent::What;

Status CheckDevice(const TraceDevice& device) {
  const bool possible = device.zone_capacity != 0 && device.zone_capacity <= device.zone_size &&
                        device.zones != 0 && device.metadata_zones < device.zones && device.block_size != 0 &&
                        device.zone_size % device.block_size == 0 &&
                        device.zone_capacity % device.block_size == 0;
  if (possible) return {};
  return Fail(Code::kCorruption, "no device has this geometry");
}

}  // namespace

Result<std::unique_ptr<RecordedTrace>> RecordedTrace::Open(const std::string& path, std::uint64_t scale) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return Fail(Code::kNotFound, path + ": there is no such trace");
  std::unique_ptr<RecordedTrace> trace(new RecordedTrace(path, scale));
  if (std::filesystem::is_directory(path, error) || !trace->file_) {
    return Fail(Code::kIo, path + ": can't be read");
  }
  if (!trace->ReadLine() || !IsTraceHeader(trace->line_)) {
    return Fail(Code::kCorruption, path + ": is not a trace; the mount option trace_file records one");
  }
  ZENFS_RETURN_IF_ERROR(trace->TakeHeader());
  return trace;
}

Result<std::optional<TraceEvent>> RecordedTrace::Next() {
  while (events_.empty()) {
    if (!ReadLine()) return std::nullopt;
    ZENFS_RETURN_IF_ERROR(TakeLine());
  }
  const TraceEvent event = events_.front();
  events_.pop_front();
  return event;
}

bool RecordedTrace::ReadLine() {
  if (!std::getline(file_, line_)) return false;
  whole_ = !file_.eof();
  ++number_;
  return true;
}

Status RecordedTrace::TakeLine() {
  if (IsTraceHeader(line_)) return TakeHeader();
  if (!whole_) return {};  // the process died while it wrote the line
  const Result<TraceEvent> event = ParseTraceEvent(line_);
  if (event) return TakeEvent(*event);
  const std::unexpected<Error> damaged = Damaged(event.error().text());
  if (ReadLine() && IsTraceHeader(line_)) return TakeHeader();
  return damaged;
}

Status RecordedTrace::TakeHeader() {
  Result<TraceDevice> device = ParseTraceHeader(line_);
  if (!device) return Fail(device.error().With(fmt::format("{}: line {}", path_, number_)));
  if (const Status possible = CheckDevice(*device); !possible.ok()) return Damaged(possible.error().text());
  if (device_.zones == 0) device_ = *device;
  if (device_.zone_size != device->zone_size || device_.zones != device->zones) {
    return Damaged("another device follows; use one trace for each device");
  }
  for (auto& [id, file] : files_) file.found = false;
  begun_ = false;
  begin_ms_ = last_ms_;
  return {};
}

Status RecordedTrace::TakeEvent(TraceEvent event) {
  event.at_ms += begin_ms_;
  last_ms_ = event.at_ms;
  event.bytes *= scale_;
  if (!begun_ && event.what != What::kFile && event.what != What::kBegin)
    return Damaged("an event comes before begin");
  const auto file = files_.find(event.id);
  switch (event.what) {
    case What::kFile: TakeFound(event); return {};
    case What::kBegin: DeleteFilesNotFound(event); return {};
    case What::kEnd: return {};
    case What::kCreate:
      if (file != files_.end()) return Damaged("the file exists already");
      files_.emplace(event.id, File{});
      break;
    case What::kDelete:
      if (file == files_.end()) return Damaged("there is no such file");
      files_.erase(file);
      break;
    case What::kLifetime:
    case What::kSize:
    case What::kClose:
      if (file == files_.end()) return Damaged("there is no such file");
      if (event.what != What::kLifetime) file->second.size = event.bytes;
      break;
  }
  events_.push_back(event);
  return {};
}

void RecordedTrace::TakeFound(const TraceEvent& event) {
  const auto [file, is_new] = files_.emplace(event.id, File{});
  file->second.found = true;
  TraceEvent next = event;
  if (is_new) {
    next.what = What::kCreate;
    events_.push_back(next);
  }
  next.what = What::kClose;
  file->second.size = event.bytes;
  events_.push_back(next);
}

void RecordedTrace::DeleteFilesNotFound(const TraceEvent& begin) {
  begun_ = true;
  for (const auto& [id, file] : files_) {
    if (!file.found) events_.push_back({.at_ms = begin.at_ms, .what = What::kDelete, .id = id});
  }
  std::erase_if(files_, [](const auto& entry) { return !entry.second.found; });
}

std::unexpected<Error> RecordedTrace::Damaged(std::string_view why) const {
  return Fail(Code::kCorruption, fmt::format("{}: line {} is damaged: {}", path_, number_, why));
}

}  // namespace zenfs::space
