#include "aside/rot_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "aside/reader_check.h"
#include "testing/empty_zone.h"

namespace zenfs {
namespace {

// A file with one rotten byte, and the bytes that it should have.
class RottenFile {
 public:
  // `frame_from`: the file offset of the frame with the byte; none if the byte is in an extent.
  RottenFile(std::string path, std::string content, std::uint64_t at, std::byte bits,
             std::optional<std::uint64_t> frame_from)
      : path_(std::move(path)), content_(std::move(content)), at_(at), bits_(bits), frame_from_(frame_from) {}

  const std::string& path() const { return path_; }
  const std::string& content() const { return content_; }
  std::uint64_t at() const { return at_; }
  bool is_cut_off() const { return at_ >= least_size_; }
  // True if a scrub may blame the bytes from `from` to `to`. A frame is damaged as a whole: if the rotten byte was cut off, those
  // before the cut are lost.
  bool MayBeBlamed(std::uint64_t from, std::uint64_t to) const {
    if (!is_cut_off()) return from <= at_ && at_ < to;
    return frame_from_ && *frame_from_ <= from && from < to && to <= least_size_;
  }
  bool may_be_refused() const { return !is_cut_off() || (frame_from_ && *frame_from_ < least_size_); }

  void Truncated(std::uint64_t size) {
    least_size_ = std::min(least_size_, size);
    Became(content_.substr(0, size), true);
  }
  // A call that changes the file: it succeeded, or it may have been carried out in part.
  void Became(std::string content, bool succeeded) {
    if (!succeeded) unsure_ = true;
    if (succeeded || content.size() > content_.size()) content_ = std::move(content);
  }
  // Empty if `found` differs at the rotten byte at most. `is_rotten`: whether it does.
  std::string WhyNot(std::string found, bool& is_rotten) const {
    is_rotten = !is_cut_off() && at_ < found.size() && at_ < content_.size() && found[at_] != content_[at_];
    if (is_rotten) found[at_] ^= static_cast<char>(bits_);
    const bool right = unsure_ ? content_.starts_with(found) : content_ == found;
    return right ? std::string() : path_ + ": " + DescribeMismatch(content_, found);
  }

 private:
  const std::string path_;
  std::string content_;
  const std::uint64_t at_;
  const std::byte bits_;
  const std::optional<std::uint64_t> frame_from_;
  std::uint64_t least_size_ = UINT64_MAX;  // to which the file was truncated
  bool unsure_ = false;
};

struct Place {
  std::string path;
  std::uint64_t file_offset = 0;
  DeviceOffset place;
  std::optional<std::uint64_t> frame_from;  // file offset of the frame with the byte
};

// A byte of a file with one name: of an extent, or of a frame if `of_logs`. Without `of_logs`, no framed file: the collector may
// clean it at any time.
std::optional<Place> PickByte(Volume& volume, const FoundTree& found, bool of_logs, Random& random) {
  std::vector<const std::string*> paths;
  std::map<std::uint64_t, int> names;
  for (const auto& [path, entry] : found) ++names[entry.id];
  for (const auto& [path, entry] : found) {
    if (entry.is_directory || entry.content.empty() || names[entry.id] != 1) continue;
    if (of_logs || entry.shape == FileShape::kPlain) paths.push_back(&path);
  }
  if (paths.empty()) return std::nullopt;
  const std::string& path = *paths[random.Below(paths.size())];
  const auto layout = volume.Layout(path);
  if (!layout) return std::nullopt;
  std::vector<Extent> pieces = layout->extents;
  if (of_logs) pieces.insert(pieces.end(), layout->frames.begin(), layout->frames.end());
  if (pieces.empty()) return std::nullopt;
  const std::size_t number = random.Below(pieces.size());
  const Extent& piece = pieces[number];
  const std::uint64_t within = random.Below(piece.length);
  Place place{path, piece.file_offset + within, piece.place + within, {}};
  if (number >= layout->extents.size()) place.frame_from = piece.file_offset;
  return place;
}

bool IsDamage(const Status& status) {
  return status.ok() || status.error().code() == Code::kCorruption || status.error().code() == Code::kIo ||
         status.error().code() == Code::kNoSpace || status.error().code() == Code::kBusy ||
         status.error().code() == Code::kTimedOut;
}

class RotRun {
 public:
  RotRun(Volume& volume, FoundTree& found, RottenFile& file, Random& random)
      : volume_(volume), found_(found), file_(file), random_(random) {}

  std::string Do(RotAct act) {
    switch (act) {
      case RotAct::kMove: return Move();
      case RotAct::kClean: return Clean();
      case RotAct::kReopen: return Reopen();
      case RotAct::kTruncate: return Truncate();
      case RotAct::kBackUp: return BackUp();
    }
    return {};
  }

 private:
  std::string Move() {
    for (const ZoneStatus& zone : volume_.Zones()) {
      if (zone.phase == ZonePhase::kFull && zone.live != 0) IgnoreError(EmptyZone(volume_, zone.id));
    }
    return {};
  }

  // Fills the current log zone first, which then is one of those that are cleaned.
  std::string Clean() {
    const auto fill = [&]() -> Status {
      ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<FileHandle> file, volume_.Create("filler.log"));
      const std::string bytes(volume_.info().geometry.zone_size / 4, 'f');
      for (int i = 0; i < 5; ++i) {
        ZENFS_RETURN_IF_ERROR(file->Append(AsBytes(bytes)));
        ZENFS_RETURN_IF_ERROR(file->Sync());
      }
      ZENFS_RETURN_IF_ERROR(file->Close());
      return volume_.Unlink("filler.log");
    };
    IgnoreError(fill());
    IgnoreError(CleanLogZones(volume_));
    return {};
  }

  std::string Reopen() {
    const std::string more(1 + random_.Below(3000), 'm');
    const auto append = [&]() -> Status {
      ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<FileHandle> file,
                             volume_.OpenForAppend(file_.path(), false));
      ZENFS_RETURN_IF_ERROR(file->Append(AsBytes(more)));
      ZENFS_RETURN_IF_ERROR(file->Sync());
      return file->Close();
    };
    const Status appended = append();
    file_.Became(file_.content() + more, appended.ok());
    return IsDamage(appended) ? "" : "append to " + file_.path() + ": " + appended.error().ToString();
  }

  // Behind the rotten byte, or before it.
  std::string Truncate() {
    const auto now = volume_.Stat(file_.path());  // an append that was refused may have left bytes or not
    if (!now) return now.error().ToString();
    const std::size_t size = random_.Below(now->size + 1);
    const Status cut = TruncateFile(volume_, file_.path(), size);
    if (cut.ok()) file_.Truncated(size);
    if (!cut.ok()) file_.Became(file_.content(), false);
    return IsDamage(cut) ? "" : "truncate " + file_.path() + ": " + cut.error().ToString();
  }

  std::string BackUp() {
    FoundTree expected = found_;
    expected.erase("filler.log");
    expected[file_.path()].content = file_.content();
    const BackupResult backup = CompareBackup(volume_, expected);
    if (!backup.wrong.empty()) return backup.wrong + (backup.failed.empty() ? "" : ", and it failed");
    if (!backup.failed.empty() && !backup.failed.contains(file_.path()))
      return "a backup fails and does not name the rotten " + file_.path() + ": " + backup.failed;
    return {};
  }

  Volume& volume_;
  FoundTree& found_;
  RottenFile& file_;
  Random& random_;
};

// True if the finding is about bytes that it may blame.
bool BlamesRightly(const Finding& finding, const RottenFile& file) {
  unsigned long long from = 0, to = 0;
  const std::size_t text = finding.text.rfind(": bytes ");
  return text != std::string::npos &&
         std::sscanf(finding.text.c_str() + text, ": bytes %llu to %llu", &from, &to) == 2 &&
         file.MayBeBlamed(from, to);
}

// Whether a scrub finds the rotten byte; an error if it finds anything else.
Result<bool> IsFound(CrashDevice& image, const RottenFile& file) {
  const auto scrubbed = ScrubBorrowed(image);
  if (!scrubbed) return Fail(scrubbed.error());
  bool found = false;
  for (const Finding& finding : scrubbed->findings) {
    if (finding.severity != Severity::kError) continue;
    const bool names =
        (std::ranges::count(finding.paths, file.path()) != 0) || finding.text.contains(file.path());
    if (!names || !BlamesRightly(finding, file))
      return Fail(Code::kCorruption, "a scrub blames what is intact: " + finding.text);
    found = true;
  }
  return found;
}

// The other files must be as they were; bytes of the rotten file may be refused.
std::string WhyNotLeft(Volume& volume, const FoundTree& expected, const RottenFile& file, bool found) {
  for (const auto& [path, entry] : expected) {
    if (entry.is_directory) continue;
    const Result<std::string> content = ReadWhole(volume, path);
    if (path != file.path()) {
      if (!content) return "not the rotten file: " + content.error().ToString();
      if (*content != entry.content) return path + ": " + DescribeMismatch(entry.content, *content);
      continue;
    }
    if (!content) {
      if (!file.may_be_refused()) return "its rotten byte was cut off: " + content.error().ToString();
      continue;
    }
    bool is_rotten = false;
    if (std::string why = file.WhyNot(*content, is_rotten); !why.empty()) return why;
    if (is_rotten && !found)
      return fmt::format("{}: byte {} is rotten, reads return it, and a scrub finds nothing", path,
                         file.at());
  }
  return {};
}

}  // namespace

std::string WhyNotFoundRotten(CrashDevice& image, const MountOptions& options,
                              const std::vector<RotAct>& acts, Random& random) {
  auto mounted = MountBorrowed(image, options);
  if (!mounted) return {};  // examined elsewhere
  std::shared_ptr<Volume> volume = *std::move(mounted);
  auto found = Find(*volume);
  if (!found) return {};
  const bool of_logs = (std::ranges::count(acts, RotAct::kClean) != 0);
  const std::optional<Place> place = PickByte(*volume, *found, of_logs, random);
  const std::byte bits{static_cast<unsigned char>(1u << random.Below(8))};
  if (!place || !image.Rot(place->place, bits)) return {};
  RottenFile file(place->path, found->at(place->path).content, place->file_offset, bits, place->frame_from);
  const std::string where =
      fmt::format("byte {} of {} is rotten (device byte {})", file.at(), file.path(), place->place.value);

  RotRun run(*volume, *found, file, random);
  const std::uint64_t count = 1 + random.Below(3);
  std::string history;
  for (std::uint64_t i = 0; i < count; ++i) {
    const RotAct act = acts[random.Below(acts.size())];
    static constexpr const char* kNames[] = {"moved", "cleaned", "reopened", "truncated", "backed up"};
    history += fmt::format(", {}", kNames[static_cast<int>(act)]);
    if (const std::string why = run.Do(act); !why.empty()) return where + history + ": " + why;
  }
  const Status unmounted = volume->Unmount();
  volume.reset();
  if (!IsDamage(unmounted)) return where + history + ": unmount: " + unmounted.error().ToString();
  const Result<bool> is_found = IsFound(image, file);
  if (!is_found) return where + history + ": " + is_found.error().ToString();
  const auto again = MountBorrowed(image, options);
  if (!again) return where + history + ": mount: " + again.error().ToString();
  const std::string why = WhyNotLeft(**again, *found, file, *is_found);
  return why.empty() ? why : where + history + ": " + why;
}

}  // namespace zenfs
