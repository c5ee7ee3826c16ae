#include "backup/backup.h"

#include <fmt/format.h>

#include <limits>

#include "backup/backup_destination.h"
#include "backup/one_file.h"
#include "backup/source_file.h"
#include "backup/volume_tree.h"
#include "base/counted.h"
#include "base/free_bytes.h"
#include "base/saturating.h"
#include "base/short_bytes.h"
#include "base/sync_point.h"
#include "catalog/path.h"

namespace zenfs {
namespace {

constexpr std::size_t kDamagedNamedAtMost = 20;
constexpr std::string_view kNotCopied = "it is not copied; if an earlier run has copied it, that copy stays";

// Bytes of the device that files claim. No byte has two claims.
class DeviceClaims {
 public:
  // Returns false, and claims nothing, if the extents overlap one another or earlier claims.
  bool Claim(const std::vector<Extent>& extents) {
    std::vector<DeviceOffset> made;
    for (const Extent& extent : extents) {
      if (extent.length == 0) continue;
      const DeviceOffset end = extent.place + extent.length;
      const auto next = ends_.lower_bound(extent.place);
      const bool overlaps = (next != ends_.end() && next->first < end) ||
                            (next != ends_.begin() && std::prev(next)->second > extent.place);
      if (overlaps) {
        for (const DeviceOffset start : made) ends_.erase(start);
        return false;
      }
      ends_.emplace_hint(next, extent.place, end);
      made.push_back(extent.place);
    }
    return true;
  }

 private:
  std::map<DeviceOffset, DeviceOffset> ends_;  // by the start
};

// The content marks of files of the volume, as they were at one moment.
class ContentMarks {
 public:
  // `id`: larger than those before.
  void Add(FileId id, std::uint64_t size, const ContentMark& mark) { marks_.push_back({id, size, mark}); }
  // Null if the file was gone, or had another size.
  const ContentMark* Find(FileId id, std::uint64_t size) const {
    const auto it = std::ranges::lower_bound(marks_, id, {}, &Entry::id);
    return it != marks_.end() && it->id == id && it->size == size ? &it->mark : nullptr;
  }

 private:
  struct Entry {
    FileId id;
    std::uint64_t size = 0;
    ContentMark mark;
  };
  std::vector<Entry> marks_;
};

// What is known of a file with several names after the first of them. Each further name gets the same bytes, without another
// read of the volume: a file may have very many names and extents.
struct FirstName {
  std::string path;  // in the volume
  std::uint64_t size = 0;
  std::uint64_t mtime_seconds = 0;
  KnownCrc crc;                // of its bytes in the volume
  std::optional<Code> failed;  // it can't be read, or is damaged
  // Its copy, open, so that a name that others exchange does not matter; and the line of it.
  std::optional<HostFile> copy;
  ManifestFile line;
};

bool MayBeSame(const FileStat& stat, const ManifestFile& known) {
  return known.id == stat.id.value && known.size == stat.size && known.mtime_seconds == stat.mtime_seconds;
}

class BackupRun {
 public:
  BackupRun(Volume& volume, const BackupOptions& options, TransferObserver& observer)
      : volume_(volume), options_(options), transfer_(observer, options.stop) {}

  Result<BackupSummary> Run();

 private:
  enum class Outcome { kCopied, kReplaced, kDeleted, kUnreadable, kUnfit };
  enum class Comparison { kSame, kDifferent, kSourceUnreadable };

  Status CheckUnsynced() const;

  Status Prepare();
  Status LeaveOutUnfit();
  void LeaveOut(PathNode node, std::string reason) EXCLUDES(unfit_mutex_);
  BackupDestination::Unfit UnfitSoFar() EXCLUDES(unfit_mutex_);

  Status FindKept();
  Result<ContentMarks> MarkKnown() const;
  Result<bool> IsThere(const VolumeFile& file, const ManifestFile& known, const ContentMarks& marks) const;
  Result<bool> IsUnchanged(const VolumeFile& file, const ManifestFile& known,
                           const ContentMarks& marks) const;

  Status BoundCopies();
  Result<std::uint64_t> BytesOfRecord() const;
  Status FindOverlapping();
  Result<std::set<FileId>> Overlaps() const;
  std::uint64_t BytesToCopy() const;
  bool IsToCopy(const VolumeFile& file) const;

  Status CopyAll();
  Status Process(std::size_t number);
  Status ProcessName(std::size_t number, FirstName& first);
  bool IsTheSame(const VolumeFile& file, const std::string& path, const FirstName& first) const;

  Result<Comparison> Compare(const VolumeFile& file, const std::string& path, FirstName& first);
  Result<std::uint32_t> ChecksumOfSource(VerifiedSource& from, std::uint64_t size, const std::string& path);
  Result<std::uint32_t> ChecksumOfCopy(const HostFile& copy, std::uint64_t size);

  Status CopyUntilItStays(std::size_t number, const VolumeFile& file, const std::string& path,
                          FirstName& first);
  Result<Outcome> Copy(std::size_t number, const VolumeFile& file, const std::string& path, FirstName& first);
  Result<Outcome> CopyAgain(std::size_t number, const VolumeFile& file, const std::string& path,
                            FirstName& first);
  Status Complete(HostFile& to, std::uint32_t crc, std::uint64_t size, const std::string& path,
                  std::uint64_t mtime_seconds);
  Result<Outcome> Accept(std::size_t number, const VolumeFile& file, const ManifestFile& line);

  void NoteUnreadable(const Error& error, std::string_view copy) EXCLUDES(mutex_);
  void NoteUnreadableToo(const std::string& path, const FirstName& first, std::string_view copy)
      EXCLUDES(mutex_);
  Status Unreadable() EXCLUDES(mutex_);

  Status WriteHints(const TextSink& sink) const;
  Status CheckLosses();
  std::optional<PathNode> FileAt(std::string_view path) const;

  Volume& volume_;
  const BackupOptions& options_;
  Transfer transfer_;
  VolumeTree tree_;
  std::set<PathNode> in_volume_;  // all files, also those that the host can't take
  std::unique_ptr<BackupDestination> destination_;
  std::map<PathNode, ManifestFile> kept_;             // copied by the earlier run
  std::vector<const VolumeFile*> work_;               // files to copy or verify
  std::map<FileId, std::vector<std::size_t>> names_;  // of files with several names: their indices in work_
  std::set<FileId> overlapping_;                      // files that are damaged and not copied
  std::atomic<std::uint64_t> files_copied_{0};
  std::atomic<std::uint64_t> bytes_copied_{0};
  std::atomic<std::uint64_t> found_unharmed_{0};
  std::atomic<std::uint64_t> deleted_{0};
  std::atomic<std::uint64_t> missing_{
      0};  // files of which the backup has no whole copy, because they are unreadable

  Mutex mutex_;  // leaf
  std::uint64_t unreadable_ GUARDED_BY(mutex_) = 0;
  std::optional<Error> first_unreadable_ GUARDED_BY(mutex_);

  Mutex unfit_mutex_;                                        // leaf
  BackupDestination::Unfit unfit_ GUARDED_BY(unfit_mutex_);  // what the host can't take, with the reason
};

Result<BackupSummary> BackupRun::Run() {
  ZENFS_RETURN_IF_ERROR(CheckUnsynced());
  ZENFS_RETURN_IF_ERROR(Prepare());
  const std::size_t kept = kept_.size();
  if (const Status copied = CopyAll(); !copied.ok()) {
    if (!destination_->begun()) return Fail(copied.error());
    return Fail(Error(copied.error().code(), fmt::format("{}; {} is an incomplete backup, {} of {} files are "
                                                         "in it; run the same command again to continue",
                                                         copied.error().ToString(), options_.destination,
                                                         destination_->files(), tree_.files.size())));
  }
  if (const Status read = Unreadable(); !read.ok()) {
    return Fail(Error(read.error().code(), fmt::format("{}; {} has whole copies of all files",
                                                       read.error().ToString(), options_.destination)));
  }
  ZENFS_RETURN_IF_ERROR(CheckLosses());
  const std::size_t untouched = options_.verify ? 0 : kept;
  return BackupSummary{.files = files_copied_,
                       .bytes = bytes_copied_,
                       .already_there = untouched + found_unharmed_,
                       .deleted_meanwhile = deleted_,
                       .left_out = UnfitSoFar().size(),
                       .directories = tree_.directories.size()};
}

// A backup must not lack what a copy of the files on another file system would have.
Status BackupRun::CheckUnsynced() const {
  if (options_.without_unsynced) return {};
  ZENFS_ASSIGN_OR_RETURN(const Shortfall shortfall, volume_.shortfall());
  if (shortfall.unsynced.empty()) return {};
  return Fail(Code::kCorruption,
              fmt::format("{}; make the backup on the host, and as a user, that can read them, or give "
                          "--without-unsynced to go on without them",
                          shortfall.unsynced));
}

// --- before anything is changed ---

Status BackupRun::Prepare() {
  ZENFS_ASSIGN_OR_RETURN(tree_, WalkVolume(volume_, options_.path));
  ManifestHeader source;
  source.volume = volume_.info().superblock.uuid;
  source.path = NormalizePath(options_.path);
  ZENFS_ASSIGN_OR_RETURN(destination_, BackupDestination::Open(options_.destination, options_.force, source,
                                                               options_.file_mode, tree_.paths));
  for (const VolumeFile& file : tree_.files) in_volume_.insert(file.node);
  ZENFS_RETURN_IF_ERROR(LeaveOutUnfit());
  for (const TooLongNames& names : tree_.too_long) {
    const std::string others =
        fmt::format(", and the same is true of {} in this directory", Counted(names.more, "name"));
    LeaveOut(names.first, fmt::format("its path has {} bytes, more than {}{}; zenfs rename can move it",
                                      tree_.paths.PathOf(names.first).size(), kMaxPathBytes,
                                      names.more == 0 ? "" : others));
  }
  ZENFS_RETURN_IF_ERROR(FindKept());
  ZENFS_RETURN_IF_ERROR(BoundCopies());
  for (const VolumeFile* file : work_) {
    if (IsToCopy(*file) || kept_.contains(file->node)) transfer_.Expect(2 * file->stat.size, file->stat.size);
  }
  return {};
}

// Removes from the tree what the host can't take, as far as is known by now.
Status BackupRun::LeaveOutUnfit() {
  Status status;
  const auto is_unfit = [&](PathNode node) {
    if (status.ok()) status = transfer_.CheckGoingOn();
    if (!status.ok()) return false;
    const auto reason = destination_->WhyUnfit(node);
    if (!reason) status = Fail(reason.error());
    if (!reason || !*reason) return false;
    LeaveOut(node, **reason);
    return true;
  };
  std::erase_if(tree_.directories, is_unfit);
  std::erase_if(tree_.files, [&](const VolumeFile& file) { return is_unfit(file.node); });
  return status;
}

// `node` may be known already, because it is below a directory that the host can't take.
void BackupRun::LeaveOut(PathNode node, std::string reason) {
  const std::string line = fmt::format("not backed up: {}: {}", tree_.PathOf(node), reason);
  {
    MutexLock lock(unfit_mutex_);
    if (!unfit_.emplace(node, std::move(reason)).second) return;
  }
  transfer_.Notice(line);
}

BackupDestination::Unfit BackupRun::UnfitSoFar() {
  MutexLock lock(unfit_mutex_);
  return unfit_;
}

// --- the files of an earlier run ---

Status BackupRun::FindKept() {
  ZENFS_ASSIGN_OR_RETURN(const ContentMarks marks, MarkKnown());
  for (const VolumeFile& file : tree_.files) {
    ZENFS_RETURN_IF_ERROR(transfer_.CheckGoingOn());
    const auto known = destination_->known().find(file.node);
    bool there = false;
    if (known != destination_->known().end()) {
      ZENFS_ASSIGN_OR_RETURN(there, IsThere(file, known->second, marks));
      if (there) kept_.insert(*known);
    }
    if (there && !options_.verify) continue;
    work_.push_back(&file);
  }
  return {};
}

// The marks of the files that an earlier run may have copied as they are now: once for each file, because a mark costs time in
// proportion to its extents. Those of the aux directory are not among them.
Result<ContentMarks> BackupRun::MarkKnown() const {
  std::vector<std::pair<FileId, std::uint64_t>> sizes;
  for (const VolumeFile& file : tree_.files) {
    const auto known = destination_->known().find(file.node);
    if (known == destination_->known().end() || !MayBeSame(file.stat, known->second)) continue;
    sizes.emplace_back(file.stat.id, file.stat.size);
  }
  std::ranges::sort(sizes);
  const auto names_of_same = std::ranges::unique(sizes, {}, &std::pair<FileId, std::uint64_t>::first);
  sizes.erase(names_of_same.begin(), names_of_same.end());
  std::vector<FileId> ids;
  for (const auto& [id, size] : sizes) ids.push_back(id);
  ContentMarks marks;
  ZENFS_RETURN_IF_ERROR(volume_.ForEachLayout(ids, [&](std::size_t i, const FileLayout& layout) -> Status {
    marks.Add(ids[i], sizes[i].second, ContentMark::Of(layout, sizes[i].second));
    return transfer_.CheckGoingOn();
  }));
  return marks;
}

Result<bool> BackupRun::IsThere(const VolumeFile& file, const ManifestFile& known,
                                const ContentMarks& marks) const {
  ZENFS_ASSIGN_OR_RETURN(const bool unchanged, IsUnchanged(file, known, marks));
  if (!unchanged) return false;
  ZENFS_ASSIGN_OR_RETURN(const HostStat copy, destination_->directory().Stat(tree_.paths.PathOf(file.node)));
  return copy.kind == HostStat::Kind::kFile && copy.size == known.size;
}

// True if the volume's file is what was copied, by the checksums of its bytes or else by their
// places. A plain file without checksums may be written to the same place again, so its mtime must
// also be older than the copy.
Result<bool> BackupRun::IsUnchanged(const VolumeFile& file, const ManifestFile& known,
                                    const ContentMarks& marks) const {
  if (!MayBeSame(file.stat, known)) return false;
  ContentMark mark;
  if (const ContentMark* const marked = marks.Find(file.stat.id, known.size)) {
    mark = *marked;
  } else {
    const auto layout = volume_.Layout(tree_.PathOf(file.node));
    if (!layout) return layout.error().code() == Code::kNotFound ? Result<bool>(false) : Fail(layout.error());
    mark = ContentMark::Of(*layout, known.size);
  }
  if (mark.sum) return *mark.sum == known.crc32c;
  const bool sure = file.stat.shape == FileShape::kFramed || known.mtime_seconds < known.copied_seconds;
  return mark.layout == known.layout && sure;
}

// --- room for the copies ---

// A backup may take as much room on the host as the device has. Files with more bytes in sum are damaged or forged, so that they
// overlap on the device, or have several names. Files that overlap and fit are copied: their checksums show which are damaged.
Status BackupRun::BoundCopies() {
  const std::uint64_t capacity = volume_.Space().total;
  ZENFS_ASSIGN_OR_RETURN(const std::uint64_t record, BytesOfRecord());
  std::uint64_t all = record;
  for (const VolumeFile& file : tree_.files) all = SaturatingSum(all, file.stat.size);
  if (all <= capacity) return {};
  ZENFS_RETURN_IF_ERROR(FindOverlapping());
  const std::uint64_t bytes = SaturatingSum(record, BytesToCopy());
  const auto free = FreeBytes(destination_->directory().descriptor());
  if (bytes <= capacity || !free) return {};
  std::uint64_t room = *free;
  for (const auto& [node, known] : destination_->known()) {
    if (!kept_.contains(node)) room = SaturatingSum(room, known.size);  // it is replaced or removed
  }
  if (bytes <= room) return {};
  return Fail(
      Code::kNoSpace,
      fmt::format("{} has room for {}, and {} are to be written: each file once for each of its names, and "
                  "the record of the backup; nothing was copied",
                  options_.destination, ShortBytes(room), ShortBytes(bytes)));
}

// The bytes that the manifest and the hints may take on the host. A new manifest is complete before the old one goes.
Result<std::uint64_t> BackupRun::BytesOfRecord() const {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t manifest = 0;
  std::uint64_t hints = 0;
  for (const PathNode directory : tree_.directories) {
    manifest += ManifestLine(tree_.paths.PathOf(directory), {}).size();
  }
  for (const auto& [node, stat] : tree_.files) {
    ZENFS_RETURN_IF_ERROR(transfer_.CheckGoingOn());
    const ManifestFile file{.id = stat.id.value,
                            .size = stat.size,
                            .mtime_seconds = kMost,
                            .layout = kMost,
                            .copied_seconds = kMost};
    const std::uint64_t line = ManifestLine(tree_.paths.PathOf(node), file).size();
    const bool may_have_two = options_.verify && kept_.contains(node);  // if its copy is damaged
    manifest += may_have_two ? 2 * line : line;
    hints += LifetimeHintLine(tree_.PathOf(node), stat.lifetime).size();
  }
  if (manifest <= kMaxManifestBytes) return 2 * manifest + hints;
  return Fail(
      Code::kNotSupported,
      fmt::format(
          "the record of this backup would have up to {}, and the limit is {}, because of the length of all "
          "paths; "
          "back up its directories one by one (--backup-path), or give them shorter paths (zenfs rename)",
          ShortBytes(manifest), ShortBytes(kMaxManifestBytes)));
}

// Looks twice: a writer may have moved one file to where another had been when it was looked at.
Status BackupRun::FindOverlapping() {
  ZENFS_ASSIGN_OR_RETURN(overlapping_, Overlaps());
  if (overlapping_.empty()) return {};
  ZENFS_ASSIGN_OR_RETURN(const std::set<FileId> again, Overlaps());
  std::erase_if(overlapping_, [&](FileId id) { return !again.contains(id); });
  return {};
}

// Of files that overlap, the one with the lowest id is not in the result: it was there first.
Result<std::set<FileId>> BackupRun::Overlaps() const {
  std::vector<FileId> ids;
  for (const VolumeFile& file : tree_.files) ids.push_back(file.stat.id);
  std::ranges::sort(ids);
  const auto names_of_same = std::ranges::unique(ids);
  ids.erase(names_of_same.begin(), names_of_same.end());
  DeviceClaims claims;
  std::set<FileId> overlapping;
  ZENFS_RETURN_IF_ERROR(volume_.ForEachLayout(ids, [&](std::size_t i, const FileLayout& layout) -> Status {
    if (!claims.Claim(layout.extents)) overlapping.insert(ids[i]);
    return transfer_.CheckGoingOn();
  }));
  return overlapping;
}

std::uint64_t BackupRun::BytesToCopy() const {
  std::uint64_t sum = 0;
  for (const VolumeFile* file : work_) {
    if (IsToCopy(*file)) sum = SaturatingSum(sum, file->stat.size);
  }
  return sum;
}

bool BackupRun::IsToCopy(const VolumeFile& file) const {
  return !kept_.contains(file.node) && !overlapping_.contains(file.stat.id);
}

// --- the copies ---

Status BackupRun::CopyAll() {
  ZENFS_ASSIGN_OR_RETURN(const auto unfit, destination_->Begin(tree_.directories, kept_, in_volume_));
  for (const auto& [directory, reason] : unfit) LeaveOut(directory, reason);
  std::erase_if(tree_.directories, [&](PathNode directory) { return unfit.contains(directory); });
  std::erase_if(work_, [&](const VolumeFile* file) {
    const auto below = unfit.find(tree_.paths.DirectoryOf(file->node));
    if (below != unfit.end()) LeaveOut(file->node, below->second);
    return below != unfit.end();
  });
  for (std::size_t number = 0; number < work_.size(); ++number) {
    const FileStat& stat = work_[number]->stat;
    if (stat.links > 1) names_[stat.id].push_back(number);
  }
  ZENFS_RETURN_IF_ERROR(
      transfer_.Run(work_.size(), options_.jobs, [this](std::size_t number) { return Process(number); }));
  if (missing_ != 0) return Unreadable();
  ZENFS_RETURN_IF_ERROR(CheckUnsynced());  // they may have become unreadable meanwhile
  return destination_->Finish([this](const TextSink& sink) { return WriteHints(sink); }, UnfitSoFar());
}

Status BackupRun::Process(std::size_t number) {
  FirstName first;
  const auto names = names_.find(work_[number]->stat.id);
  if (names == names_.end()) return ProcessName(number, first);
  if (names->second.front() != number) return {};  // with the first
  for (const std::size_t name : names->second) {
    ZENFS_RETURN_IF_ERROR(transfer_.CheckGoingOn());
    ZENFS_RETURN_IF_ERROR(ProcessName(name, first));
  }
  if (first.copy) first.copy->DropCache();
  return {};
}

Status BackupRun::ProcessName(std::size_t number, FirstName& first) {
  const VolumeFile& file = *work_[number];
  const std::string path = tree_.PathOf(file.node);
  if (kept_.contains(file.node)) {
    ZENFS_ASSIGN_OR_RETURN(const Comparison comparison, Compare(file, path, first));
    if (comparison == Comparison::kSame) ++found_unharmed_;
    if (comparison != Comparison::kDifferent) return {};
    transfer_.Notice(fmt::format("{} differs from the file in the volume, and is copied again",
                                 destination_->directory().PathOf(tree_.paths.PathOf(file.node))));
    ZENFS_RETURN_IF_ERROR(destination_->Forget(file.node));
    transfer_.Expect(2 * file.stat.size, 0);
  } else if (overlapping_.contains(file.stat.id)) {
    NoteUnreadable(
        Error(Code::kCorruption,
              fmt::format(
                  "{}: its extents overlap on the device, with one another or with those of an older file, "
                  "and all files together have more bytes than the device",
                  path)),
        kNotCopied);
    ++missing_;
    return destination_->Keep(file.node);
  }
  return CopyUntilItStays(number, file, path, first);
}

// True if `path` is a further name of that file, and the file has not changed.
bool BackupRun::IsTheSame(const VolumeFile& file, const std::string& path, const FirstName& first) const {
  if (!first.copy && !first.crc && !first.failed) return false;
  const auto stat = volume_.Stat(path);
  return stat && stat->id == file.stat.id && stat->size == first.size &&
         stat->mtime_seconds == first.mtime_seconds;
}

// Compares both sides with the recorded checksum. A read error of the copy means that it is different. If the file in the
// volume can't be read or is damaged, the copy stays, whatever it is.
Result<BackupRun::Comparison> BackupRun::Compare(const VolumeFile& file, const std::string& path,
                                                 FirstName& first) {
  const ManifestFile& known = kept_.at(file.node);
  const auto copy = destination_->directory().OpenForRead(tree_.paths.PathOf(file.node));
  bool whole = false;
  if (copy) {
    copy->DropCache();
    const auto crc = ChecksumOfCopy(*copy, known.size);
    ZENFS_RETURN_IF_ERROR(transfer_.CheckGoingOn());
    whole = crc && *crc == known.crc32c;
  }
  constexpr std::string_view kStays = "its copy is whole and stays";
  constexpr std::string_view kDamagedToo = "its copy is damaged too, and stays";
  if (IsTheSame(file, path, first)) {
    if (first.crc) return whole && *first.crc == known.crc32c ? Comparison::kSame : Comparison::kDifferent;
    if (first.failed) {
      if (!whole) ++missing_;
      NoteUnreadableToo(path, first, whole ? kStays : kDamagedToo);
      return Comparison::kSourceUnreadable;
    }
  }
  first = {.path = path, .size = known.size, .mtime_seconds = known.mtime_seconds};
  const auto layout = volume_.Layout(path);
  const auto from = volume_.OpenForRead(path);
  if (!layout || !from) return Comparison::kDifferent;  // copying reports what is wrong with it
  VerifiedSource source(**from, *layout, volume_.info().geometry, path);
  const auto crc = ChecksumOfSource(source, known.size, path);
  ZENFS_RETURN_IF_ERROR(transfer_.CheckGoingOn());
  if (crc) {
    first.crc = *crc;
    return whole && *crc == known.crc32c ? Comparison::kSame : Comparison::kDifferent;
  }
  if (!source.failure() || source.failure()->code() == Code::kNotFound) return Comparison::kDifferent;
  if (const auto now = volume_.Layout(path); !now || source.ExtentsDiffer(*now))
    return Comparison::kDifferent;
  if (!whole) ++missing_;
  first.failed = source.failure()->code();
  NoteUnreadable(*source.failure(), whole ? kStays : kDamagedToo);
  return Comparison::kSourceUnreadable;
}

Result<std::uint32_t> BackupRun::ChecksumOfSource(VerifiedSource& from, std::uint64_t size,
                                                  const std::string& path) {
  return transfer_.Pump([&](std::uint64_t offset, ByteSpan into) { return from.Read(offset, into); }, size,
                        path, {});
}

Result<std::uint32_t> BackupRun::ChecksumOfCopy(const HostFile& copy, std::uint64_t size) {
  return transfer_.Pump([&](std::uint64_t offset, ByteSpan into) { return copy.Read(offset, into); }, size,
                        copy.path(), {});
}

Status BackupRun::CopyUntilItStays(std::size_t number, const VolumeFile& file, const std::string& path,
                                   FirstName& first) {
  for (int attempt = 0; attempt < kReplacedAtMost; ++attempt) {
    const auto outcome = Copy(number, file, path, first);
    if (!outcome || *outcome != Outcome::kCopied) destination_->DropTemporary(number);
    if (!outcome) return Fail(outcome.error());
    if (*outcome == Outcome::kUnfit) return {};
    if (*outcome == Outcome::kCopied) {
      transfer_.Say(path);
      return {};
    }
    if (*outcome == Outcome::kDeleted) {
      ++deleted_;
      transfer_.Notice(fmt::format("{} was deleted meanwhile, and is not in the backup", path));
      return {};
    }
    if (*outcome == Outcome::kUnreadable) {
      ++missing_;
      return destination_->Keep(file.node);
    }
  }
  return Fail(Code::kBusy, fmt::format("{} is replaced too often; back up a checkpoint of the database "
                                       "instead",
                                       path));
}

Result<BackupRun::Outcome> BackupRun::Copy(std::size_t number, const VolumeFile& file,
                                           const std::string& path, FirstName& first) {
  SyncPoint::Reach("BackupRun::Copy");
  if (IsTheSame(file, path, first)) {
    if (first.copy) return CopyAgain(number, file, path, first);
    if (first.failed) {
      NoteUnreadableToo(path, first, kNotCopied);
      return Outcome::kUnreadable;
    }
  }
  ZENFS_ASSIGN_OR_RETURN(HostFile to, destination_->CreateTemporary(number));
  ZENFS_ASSIGN_OR_RETURN(const FileRead read, ReadVolumeFile(volume_, transfer_, path, [&](ByteView chunk) {
                           return to.Append(chunk);
                         }));
  if (read.outcome == FileRead::Outcome::kDeleted) return Outcome::kDeleted;
  if (read.outcome == FileRead::Outcome::kReplaced) return Outcome::kReplaced;
  first = {.path = path, .size = read.size, .mtime_seconds = read.stat.mtime_seconds};
  if (read.outcome == FileRead::Outcome::kUnreadable) {
    first.failed = read.failure->code();
    NoteUnreadable(*read.failure, kNotCopied);
    return Outcome::kUnreadable;
  }
  ZENFS_RETURN_IF_ERROR(Complete(to, read.crc32c, read.size, path, read.stat.mtime_seconds));
  ManifestFile line{.id = read.stat.id.value,
                    .size = read.size,
                    .mtime_seconds = read.stat.mtime_seconds,
                    .crc32c = read.crc32c,
                    .lifetime = read.stat.lifetime};
  if (const ContentMark mark = ContentMark::Of(read.layout, read.size); !mark.sum) {
    line.layout = mark.layout;
    line.copied_seconds = read.begun_seconds;
  }
  ZENFS_ASSIGN_OR_RETURN(const Outcome outcome, Accept(number, file, line));
  if (file.stat.links > 1) {
    first.crc = read.crc32c;
    first.line = line;
    first.copy = std::move(to);
  }
  return outcome;
}

// Copies a further name of a file from the copy of the first. If that is no longer what it was, the volume is read again.
Result<BackupRun::Outcome> BackupRun::CopyAgain(std::size_t number, const VolumeFile& file,
                                                const std::string& path, FirstName& first) {
  ZENFS_ASSIGN_OR_RETURN(HostFile to, destination_->CreateTemporary(number));
  const auto crc =
      transfer_.Pump([&](std::uint64_t offset, ByteSpan into) { return first.copy->Read(offset, into); },
                     first.size, path, [&](ByteView chunk) { return to.Append(chunk); });
  const bool complete =
      crc && *crc == first.line.crc32c && Complete(to, *crc, first.size, path, first.mtime_seconds).ok();
  ZENFS_RETURN_IF_ERROR(transfer_.CheckGoingOn());
  if (complete) return Accept(number, file, first.line);
  first = {};
  return Outcome::kReplaced;
}

// Syncs the bytes to stable media and reads them back.
Status BackupRun::Complete(HostFile& to, std::uint32_t crc, std::uint64_t size, const std::string& path,
                           std::uint64_t mtime_seconds) {
  ZENFS_RETURN_IF_ERROR(to.SetModified(mtime_seconds));
  ZENFS_RETURN_IF_ERROR(to.Sync());
  to.DropCache();
  SyncPoint::Reach("BackupRun::Complete:written");
  ZENFS_ASSIGN_OR_RETURN(const std::uint32_t written, ChecksumOfCopy(to, size));
  if (written == crc) return {};
  return Fail(
      Code::kCorruption,
      fmt::format("{}: what was read back from {} is not what was written (CRC32C {:08x}, not {:08x})", path,
                  options_.destination, written, crc));
}

Result<BackupRun::Outcome> BackupRun::Accept(std::size_t number, const VolumeFile& file,
                                             const ManifestFile& line) {
  const Status accepted = destination_->Accept(number, file.node, line);
  if (!accepted.ok() && IsUnfitName(accepted.error())) {
    LeaveOut(file.node, UnfitReason(accepted.error()));
    return Outcome::kUnfit;
  }
  ZENFS_RETURN_IF_ERROR(accepted);
  ++files_copied_;
  bytes_copied_ += line.size;
  return Outcome::kCopied;
}

// --- files of the volume that can't be read ---

// A file of the volume that can't be read, or does not match its checksums, is not copied: the others are, and the run ends
// with an error.
void BackupRun::NoteUnreadable(const Error& error, std::string_view copy) {
  transfer_.Notice(fmt::format("{}; {}", error.ToString(), copy));
  MutexLock lock(mutex_);
  ++unreadable_;
  if (!first_unreadable_) first_unreadable_ = error;
}

void BackupRun::NoteUnreadableToo(const std::string& path, const FirstName& first, std::string_view copy) {
  NoteUnreadable(Error(*first.failed, fmt::format("{}: the same file as {}", path, first.path)), copy);
}

Status BackupRun::Unreadable() {
  MutexLock lock(mutex_);
  if (!first_unreadable_) return {};
  return Fail(Error(first_unreadable_->code(),
                    fmt::format("{} of the volume can't be read or {} damaged, the first is {}",
                                Counted(unreadable_, "file"), unreadable_ == 1 ? "is" : "are",
                                first_unreadable_->ToString())));
}

// --- the end ---

Status BackupRun::WriteHints(const TextSink& sink) const {
  for (const VolumeFile& file : tree_.files) {
    ZENFS_RETURN_IF_ERROR(sink(LifetimeHintLine(tree_.PathOf(file.node), file.stat.lifetime)));
  }
  return {};
}

// Reads of lost bytes in the middle of a file fail. A file that ends too early can be read; so its loss is reported here.
Status BackupRun::CheckLosses() {
  ZENFS_ASSIGN_OR_RETURN(const Shortfall shortfall, volume_.shortfall());
  if (shortfall.lost.empty()) return {};
  std::set<PathNode> damaged;
  for (const VolumeFile& file : tree_.files) {
    if (shortfall.lost_files.contains(file.stat.id)) damaged.insert(file.node);
  }
  for (const Finding& lost : shortfall.lost) {
    if (lost.severity != Severity::kError) continue;
    bool here = lost.more_paths != 0;
    for (const std::string& path : lost.paths) {
      const auto node = FileAt(NormalizePath(path));
      if (!node) continue;
      here = true;
      damaged.insert(*node);  // a writer may have replaced the file since the tree was listed
    }
    if (here) transfer_.Notice(lost.text);
  }
  if (damaged.empty()) return {};
  std::string names;
  std::size_t named = 0;
  for (const PathNode node : damaged) {
    if (named == kDamagedNamedAtMost) break;
    names += (named == 0 ? "/" : ", /") + tree_.PathOf(node);
    ++named;
  }
  if (damaged.size() > named) names += fmt::format(" and {}", Counted(damaged.size() - named, "other"));
  return Fail(
      Code::kCorruption,
      fmt::format("{} is complete, but the device has lost, or may have lost, bytes of these files that were "
                  "synced: {}",
                  options_.destination, names));
}

// The file of the tree with this path in the volume, normalised.
std::optional<PathNode> BackupRun::FileAt(std::string_view path) const {
  if (!tree_.top.empty()) {
    if (!path.starts_with(tree_.top + "/")) return std::nullopt;
    path.remove_prefix(tree_.top.size() + 1);
  }
  const auto node = tree_.paths.Find(path);
  return node && in_volume_.contains(*node) ? node : std::nullopt;
}

}  // namespace

Result<BackupSummary> RunBackup(Volume& volume, const BackupOptions& options, TransferObserver& observer) {
  return BackupRun(volume, options, observer).Run();
}

}  // namespace zenfs
