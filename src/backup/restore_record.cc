#include "backup/restore_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backup/manifest.h"
#include "backup/path_tree.h"
#include "backup/record_text.h"
#include "backup/volume_tree.h"
#include "base/assert.h"
#include "base/counted.h"
#include "base/crc32c.h"
#include "volume/aux_directory/aux_directory.h"

namespace zenfs {
namespace {

using Json = nlohmann::json;

// A line has at most 140 bytes. The first bytes are for the identity, and for files that were restored again or have left the
// source since.
constexpr std::uint64_t kLineBytesAtMost = 256;
constexpr std::uint64_t kFirstBytes = 1 << 20;

std::uint64_t LongestRecord(std::uint64_t files) {
  return std::min(kFirstBytes + kLineBytesAtMost * std::min(files, kMaxManifestBytes), kMaxManifestBytes);
}

std::string LineText(std::uint64_t id, const RestoreRecord::Line& line) {
  return Json{{"id", id},
              {"size", line.size},
              {"mtime_ns", line.mtime_ns},
              {"crc32c", line.crc32c},
              {"path_crc32c", line.path_crc32c}}
             .dump() +
         "\n";
}

// Returns false for an incomplete line.
bool TakeLine(const Json& json, std::map<std::uint64_t, RestoreRecord::Line>& lines) {
  if (!json.is_object()) return false;
  for (const char* key : {"id", "size", "mtime_ns", "crc32c", "path_crc32c"}) {
    if (!json.contains(key) || !json[key].is_number_integer()) return false;
  }
  lines[json["id"].get<std::uint64_t>()] = {.size = json["size"].get<std::uint64_t>(),
                                            .mtime_ns = json["mtime_ns"].get<std::int64_t>(),
                                            .crc32c = json["crc32c"].get<std::uint32_t>(),
                                            .path_crc32c = json["path_crc32c"].get<std::uint32_t>()};
  return true;
}

// Ignores a line that a crash cut short: its file has no name yet.
Result<std::map<std::uint64_t, RestoreLine>> ParseRecord(LineReader& text, std::string_view identity,
                                                         const RestoreRecord::GoingOn& going_on) {
  std::map<std::uint64_t, RestoreLine> lines;
  std::uint64_t incomplete = 0;
  for (;;) {
    ZENFS_ASSIGN_OR_RETURN(const auto line, text.Next());
    if (!line) return lines;
    if (text.number() % RestoreRecord::kLinesACheck == 0) ZENFS_RETURN_IF_ERROR(going_on());
    if (text.number() == 1) {
      if (line->text != identity) return lines;
      continue;
    }
    if (TakeLine(Json::parse(line->text, nullptr, false), lines)) continue;
    if (++incomplete > kRestoreRunsAtMost) {
      return Fail(Code::kCorruption,
                  fmt::format("has more than {} lines that are empty or incomplete, up to line {}",
                              kRestoreRunsAtMost, text.number()));
    }
  }
}

}  // namespace

Result<std::map<std::uint64_t, RestoreLine>> ParseRestoreRecord(std::string_view text,
                                                                std::string_view identity) {
  LineReader lines = LineReader::Of(text);
  return ParseRecord(lines, identity, [] { return Status(); });
}

Result<std::unique_ptr<RestoreRecord>> RestoreRecord::Open(Volume& volume, const std::string& identity,
                                                           std::uint64_t files, const GoingOn& going_on) {
  std::unique_ptr<RestoreRecord> record(new RestoreRecord(volume, EncodePathText(identity)));
  ZENFS_RETURN_IF_ERROR(record->Read(files, going_on));
  return record;
}

Status RestoreRecord::Read(std::uint64_t files, const GoingOn& going_on) {
  const auto log = volume_.OpenForRead(kRestoreRecord);
  if (!log) return log.error().code() == Code::kNotFound ? Status() : Fail(log.error());
  // The extents of a foreign volume may show the same bytes again and again, so its size limits nothing.
  const std::uint64_t longest = LongestRecord(files);
  LineReader text([&](std::uint64_t offset, ByteSpan into) -> Result<std::size_t> {
    ZENFS_ASSIGN_OR_RETURN(const std::size_t n, (*log)->Read(offset, into));
    if (n == 0 || offset < longest) return n;
    return Fail(Code::kCorruption,
                fmt::format("has more than {} bytes, the most for {}", longest, Counted(files, "file")));
  });
  auto lines = ParseRecord(text, identity_, going_on);
  if (!lines && lines.error().code() == Code::kShutdown) return Fail(lines.error());
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

std::string RestoreRecord::StagingPath(std::string_view stem, std::string_view name) {
  // A file of the aux directory is written there.
  if (AuxDirectory::Keeps(name)) return fmt::format("{}/LOG.old.{}", kRestoreStaging, stem);
  const bool framed = ShapeForName(name.substr(name.rfind('/') + 1)) == FileShape::kFramed;
  return fmt::format("{}/{}{}", kRestoreStaging, stem, framed ? ".log" : "");
}

Status RestoreRecord::Add(std::uint64_t id, const Line& line) {
  MutexLock lock(mutex_);
  ZENFS_ASSERT(log_ != nullptr);  // between Begin and End
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
