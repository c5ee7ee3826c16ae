#include "backup/restore_record.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "backup/line_reader.h"
#include "backup/path_text.h"
#include "backup/volume_tree.h"
#include "base/crc32c.h"
#include "volume/aux_directory.h"

namespace zenfs {
namespace {

using Json = nlohmann::json;

std::string LineText(std::uint64_t id, const RestoreRecord::Line& line) {
  return Json{{"id", id},
              {"size", line.size},
              {"mtime_ns", line.mtime_ns},
              {"crc32c", line.crc32c},
              {"path_crc32c", line.path_crc32c}}
             .dump() +
         "\n";
}

void TakeLine(const Json& json, std::map<std::uint64_t, RestoreRecord::Line>& lines) {
  if (!json.is_object()) return;
  for (const char* key : {"id", "size", "mtime_ns", "crc32c", "path_crc32c"}) {
    if (!json.contains(key) || !json[key].is_number_integer()) return;
  }
  lines[json["id"].get<std::uint64_t>()] = {.size = json["size"].get<std::uint64_t>(),
                                            .mtime_ns = json["mtime_ns"].get<std::int64_t>(),
                                            .crc32c = json["crc32c"].get<std::uint32_t>(),
                                            .path_crc32c = json["path_crc32c"].get<std::uint32_t>()};
}

// Ignores a line that a crash cut short: its file has no name yet.
Result<std::map<std::uint64_t, RestoreLine>> ParseRecord(LineReader& text, std::string_view identity) {
  std::map<std::uint64_t, RestoreLine> lines;
  for (;;) {
    ZENFS_ASSIGN_OR_RETURN(const auto line, text.Next());
    if (!line) return lines;
    if (text.number() != 1) {
      TakeLine(Json::parse(line->text, nullptr, false), lines);
    } else if (line->text != identity) {
      return lines;
    }
  }
}

}  // namespace

Result<std::map<std::uint64_t, RestoreLine>> ParseRestoreRecord(std::string_view text,
                                                                std::string_view identity) {
  LineReader lines = LineReader::Of(text);
  return ParseRecord(lines, identity);
}

Result<std::unique_ptr<RestoreRecord>> RestoreRecord::Open(Volume& volume, const std::string& identity) {
  std::unique_ptr<RestoreRecord> record(new RestoreRecord(volume, EncodePathText(identity)));
  ZENFS_RETURN_IF_ERROR(record->Read());
  return record;
}

Status RestoreRecord::Read() {
  const auto log = volume_.OpenForRead(kRestoreRecord);
  if (!log) return log.error().code() == Code::kNotFound ? Status() : Fail(log.error());
  LineReader text([&](std::uint64_t offset, ByteSpan into) { return (*log)->Read(offset, into); });
  auto lines = ParseRecord(text, identity_);
  if (!lines) {
    return Fail(
        lines.error()
            .With(kRestoreRecord)
            .Advise(fmt::format("zenfs delete --path={} discards the interrupted restore", kRestoreRecord)));
  }
  lines_ = *std::move(lines);
  return {};
}

bool RestoreRecord::Has(const RestoreItem& item, const std::string& destination) const {
  if (lines_.empty()) return false;
  const auto stat = volume_.Stat(destination);
  if (!stat || stat->is_directory) return false;
  const auto it = lines_.find(stat->id.value);
  if (it == lines_.end()) return false;
  const Line& line = it->second;
  if (line.path_crc32c != Crc32c(AsBytes(destination))) return false;  // its file was moved here
  if (line.size != item.size || line.mtime_ns != item.mtime_ns || stat->size != line.size) return false;
  return !item.crc32c || *item.crc32c == line.crc32c;
}

Status RestoreRecord::EmptyStaging() {
  const auto left = volume_.List(kRestoreStaging);
  if (!left) return left.error().code() == Code::kNotFound ? Status() : Fail(left.error());
  for (const DirectoryEntry& entry : *left) {
    ZENFS_RETURN_IF_ERROR(volume_.Unlink(JoinPath(kRestoreStaging, entry.name)));
  }
  return {};
}

Status RestoreRecord::Begin() {
  ZENFS_RETURN_IF_ERROR(EmptyStaging());
  ZENFS_RETURN_IF_ERROR(volume_.MakeDirectory(kRestoreStaging, true));
  MutexLock lock(mutex_);
  if (lines_.empty()) {
    ZENFS_ASSIGN_OR_RETURN(log_, volume_.Create(kRestoreRecord));
    ZENFS_RETURN_IF_ERROR(log_->Append(AsBytes(identity_ + "\n")));
  } else {
    ZENFS_ASSIGN_OR_RETURN(log_, volume_.OpenForAppend(kRestoreRecord, false));
    ZENFS_RETURN_IF_ERROR(log_->Append(AsBytes("\n")));  // ends a line that a crash may have cut short
  }
  return log_->Sync();
}

std::string RestoreRecord::StagingPath(std::size_t number, std::string_view name) {
  // A file of the aux directory is written there.
  if (AuxDirectory::Keeps(name)) return fmt::format("{}/LOG.old.{}", kRestoreStaging, number);
  const bool framed = ShapeForName(name.substr(name.rfind('/') + 1)) == FileShape::kFramed;
  return fmt::format("{}/{}{}", kRestoreStaging, number, framed ? ".log" : "");
}

Status RestoreRecord::Add(std::uint64_t id, const Line& line) {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(log_->Append(AsBytes(LineText(id, line))));
  return log_->Sync();
}

Status RestoreRecord::End() {
  {
    MutexLock lock(mutex_);
    ZENFS_RETURN_IF_ERROR(log_->Close());
    log_.reset();
  }
  ZENFS_RETURN_IF_ERROR(EmptyStaging());
  ZENFS_RETURN_IF_ERROR(volume_.RemoveDirectory(kRestoreStaging));
  return volume_.Unlink(kRestoreRecord);
}

}  // namespace zenfs
