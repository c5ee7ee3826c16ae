#include "backup/restore.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "backup/one_file.h"
#include "backup/path_tree.h"
#include "backup/volume_tree.h"
#include "base/crc32c.h"
#include "base/sync_point.h"
#include "catalog/path.h"

namespace zenfs {
namespace {

// --- the plan ---

constexpr std::uint64_t kNamedAtMost = 3;

// Returns nothing if there is no such name.
Result<std::optional<FileStat>> Look(const Volume& volume, const std::string& path) {
  auto stat = volume.Stat(path);
  if (stat) return *stat;
  if (stat.error().code() == Code::kNotFound) return std::nullopt;
  return Fail(stat.error());  // kNotADirectory, among others
}

// Existing files that a restore would replace.
struct Collisions {
  std::uint64_t count = 0;
  std::string named;

  void Add(const std::string& path) {
    if (count < kNamedAtMost) named += (count == 0 ? "" : ", ") + path;
    ++count;
  }
};

Status RefuseCollisions(const Collisions& collisions) {
  if (collisions.count == 0) return {};
  const std::uint64_t more = collisions.count - std::min(collisions.count, kNamedAtMost);
  return Fail(
      Code::kExists,
      fmt::format(
          "{}{} {} there already ({} in all); nothing was changed; --force replaces files that differ",
          collisions.named, more == 0 ? "" : fmt::format(" and {} more", more),
          collisions.count == 1 ? "is" : "are", collisions.count));
}

}  // namespace

Result<RestorePlan> PlanRestore(const Volume& volume, const RestoreSource& source,
                                const RestoreRecord& record, bool force) {
  RestorePlan plan;
  const std::string& top = source.into;
  if (const Status fits = CheckPathLimits(top); !fits.ok()) {
    return Fail(fits.error().With("the directory to restore into"));
  }
  if (IsRestoresOwn(top.substr(0, top.find('/')))) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: restores use this name in the volume for themselves", top));
  }
  const auto check_directory = [&](const std::string& directory) -> Status {
    ZENFS_ASSIGN_OR_RETURN(const auto stat, Look(volume, directory));
    if (!stat || stat->is_directory) return {};
    return Fail(Code::kNotADirectory,
                fmt::format("{} is a file in the volume, and a directory is needed there", directory));
  };
  if (!top.empty()) ZENFS_RETURN_IF_ERROR(check_directory(top));
  for (const PathNode directory : source.directories) {
    ZENFS_RETURN_IF_ERROR(check_directory(source.Destination(directory)));
  }
  Collisions collisions;
  Demands demands;
  for (const RestoreItem& item : source.items) {
    const std::string destination = source.Destination(item.node);
    if (record.Has(item, destination)) {
      ++plan.already_there;
      continue;
    }
    ZENFS_ASSIGN_OR_RETURN(const auto stat, Look(volume, destination));
    if (stat && stat->is_directory) {
      return Fail(
          Code::kIsADirectory,
          fmt::format("{} is a directory in the volume, and a file is to be restored there", destination));
    }
    if (stat) collisions.Add(destination);
    ZENFS_RETURN_IF_ERROR(demands.Add(volume, destination, item.size, stat));
    plan.work.push_back(&item);
  }
  if (!force) ZENFS_RETURN_IF_ERROR(RefuseCollisions(collisions));
  ZENFS_RETURN_IF_ERROR(demands.Check(volume));
  return plan;
}

// --- the run ---

namespace {

class RestoreRun {
 public:
  RestoreRun(Volume& volume, const RestoreOptions& options, TransferObserver& observer)
      : volume_(volume), options_(options), transfer_(observer, options.stop) {}

  Result<RestoreSummary> Run();

 private:
  Status CheckSource();
  Status CheckItem(std::size_t number);
  Status RestoreAll();
  Status Process(std::size_t number);
  Result<bool> IsTheSame(const RestoreItem& item, const std::string& destination);
  Result<std::uint32_t> ChecksumOf(const RestoreItem& item);
  Status Write(const RestoreItem& item, const std::string& staging, const std::string& destination);

  Volume& volume_;
  const RestoreOptions& options_;
  Transfer transfer_;
  std::optional<RestoreSource> source_;  // set by Run
  std::unique_ptr<RestoreRecord> record_;
  RestorePlan plan_;
  std::vector<std::atomic<bool>> damaged_;  // by index in plan_.work; only with `partial`
  std::atomic<std::uint64_t> files_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> same_{0};
};

Result<RestoreSummary> RestoreRun::Run() {
  ZENFS_ASSIGN_OR_RETURN(source_,
                         OpenRestoreSource(options_.source, options_.restore_path, options_.partial));
  ZENFS_ASSIGN_OR_RETURN(record_, RestoreRecord::Open(volume_, source_->identity, source_->items.size(),
                                                      [this] { return transfer_.CheckGoingOn(); }));
  ZENFS_ASSIGN_OR_RETURN(plan_, PlanRestore(volume_, *source_, *record_, options_.force));
  for (const auto* omissions : {&source_->left_out, &source_->unreachable}) {
    for (const auto& omission : *omissions) {
      transfer_.Notice(fmt::format("not restored: {}", source_->Text(omission)));
    }
  }
  for (const std::string& line : source_->notices) transfer_.Notice(line);
  ZENFS_RETURN_IF_ERROR(CheckSource());
  if (const Status restored = RestoreAll(); !restored.ok()) {
    return Fail(Error(
        restored.error().code(),
        fmt::format("{}; {} of {} files are restored completely; run the same command again to continue",
                    restored.error().ToString(), plan_.already_there + same_ + files_,
                    source_->items.size())));
  }
  const auto damaged =
      std::count_if(damaged_.begin(), damaged_.end(), [](const auto& is) { return is.load(); });
  return RestoreSummary{.files = files_,
                        .bytes = bytes_,
                        .already_there = plan_.already_there + same_,
                        .left_out = source_->left_out.size() + static_cast<std::uint64_t>(damaged),
                        .unreachable = source_->unreachable.size(),
                        .directories = source_->directories.size()};
}

// Reads and verifies all files with a known checksum, before the volume is changed.
Status RestoreRun::CheckSource() {
  damaged_ = std::vector<std::atomic<bool>>(plan_.work.size());
  for (const RestoreItem* item : plan_.work) {  // read here, write, read back
    transfer_.Expect((item->crc32c ? 3 : 2) * item->size, item->size);
  }
  return transfer_.Run(plan_.work.size(), options_.jobs,
                       [this](std::size_t number) { return CheckItem(number); });
}

Status RestoreRun::CheckItem(std::size_t number) {
  const RestoreItem& item = *plan_.work[number];
  if (!item.crc32c) return {};
  const auto crc = ChecksumOf(item);
  ZENFS_RETURN_IF_ERROR(transfer_.CheckGoingOn());
  if (crc && *crc == *item.crc32c) return {};
  const std::string what = crc ? fmt::format("{} is damaged: its CRC32C is {:08x}, but {:08x} in the backup",
                                             source_->HostPath(item.node), *crc, *item.crc32c)
                               : crc.error().ToString();
  if (!options_.partial) {
    return Fail(crc ? Code::kCorruption : crc.error().code(),
                fmt::format("{}; --partial restores the complete files", what));
  }
  damaged_[number] = true;
  transfer_.Notice(fmt::format("not restored: {}", what));
  return {};
}

Result<std::uint32_t> RestoreRun::ChecksumOf(const RestoreItem& item) {
  ZENFS_ASSIGN_OR_RETURN(const HostFile file,
                         source_->directory.OpenForRead(source_->paths.PathOf(item.node)));
  return transfer_.Pump([&](std::uint64_t offset, ByteSpan into) { return file.Read(offset, into); },
                        item.size, file.path(), {});
}

Status RestoreRun::RestoreAll() {
  ZENFS_RETURN_IF_ERROR(record_->Begin());
  if (!source_->into.empty()) ZENFS_RETURN_IF_ERROR(volume_.MakeDirectory(source_->into, true));
  for (const PathNode directory : source_->directories) {
    ZENFS_RETURN_IF_ERROR(volume_.MakeDirectory(source_->Destination(directory), true));
  }
  ZENFS_RETURN_IF_ERROR(transfer_.Run(plan_.work.size(), options_.jobs,
                                      [this](std::size_t number) { return Process(number); }));
  return record_->End();
}

Status RestoreRun::Process(std::size_t number) {
  if (damaged_[number]) return {};
  const RestoreItem& item = *plan_.work[number];
  const std::string destination = source_->Destination(item.node);
  ZENFS_ASSIGN_OR_RETURN(const bool same, IsTheSame(item, destination));
  if (same) {
    ++same_;
    return {};
  }
  const std::string staging = RestoreRecord::StagingPath(std::to_string(number), destination);
  if (Status written = Write(item, staging, destination); !written.ok()) {
    IgnoreError(volume_.Unlink(staging));  // if this fails, the next run removes it
    return written;
  }
  ++files_;
  bytes_ += item.size;
  transfer_.Say(source_->HostPath(item.node));
  return {};
}

// With `force`: true if the existing file has the same bytes.
Result<bool> RestoreRun::IsTheSame(const RestoreItem& item, const std::string& destination) {
  const auto there = volume_.OpenForRead(destination);
  if (!there) return there.error().code() == Code::kNotFound ? Result<bool>(false) : Fail(there.error());
  if ((*there)->size() != item.size) return false;
  transfer_.Expect((item.crc32c ? 1 : 2) * item.size, 0);
  const auto crc = ChecksumOfFile(transfer_, **there, destination);
  ZENFS_RETURN_IF_ERROR(transfer_.CheckGoingOn());
  if (!crc) return false;  // unreadable: replace it
  if (item.crc32c) return *crc == *item.crc32c;
  ZENFS_ASSIGN_OR_RETURN(const std::uint32_t source, ChecksumOf(item));
  return *crc == source;
}

Status RestoreRun::Write(const RestoreItem& item, const std::string& staging,
                         const std::string& destination) {
  ZENFS_ASSIGN_OR_RETURN(const HostFile from,
                         source_->directory.OpenForRead(source_->paths.PathOf(item.node)));
  ZENFS_ASSIGN_OR_RETURN(const FileWritten written, WriteVolumeFile(volume_, transfer_, from, item.size,
                                                                    staging, destination, item.lifetime));
  if (item.crc32c && written.crc32c != *item.crc32c) {
    return Fail(Code::kCorruption,
                fmt::format("{} changed while it was restored", source_->HostPath(item.node)));
  }
  SyncPoint::Reach("RestoreRun::Write:written");
  ZENFS_RETURN_IF_ERROR(ReadBack(volume_, transfer_, written, item.size, staging, destination));
  ZENFS_RETURN_IF_ERROR(record_->Add(written.id.value, {.size = item.size,
                                                        .mtime_ns = item.mtime_ns,
                                                        .crc32c = written.crc32c,
                                                        .path_crc32c = Crc32c(AsBytes(destination))}));
  return volume_.Rename(staging, destination);
}

}  // namespace

Result<RestoreSummary> RunRestore(Volume& volume, const RestoreOptions& options, TransferObserver& observer) {
  return RestoreRun(volume, options, observer).Run();
}

}  // namespace zenfs
