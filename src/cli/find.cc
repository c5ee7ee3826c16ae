#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <optional>
#include <string>

#include "backup/volume_tree.h"
#include "base/clock.h"
#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/json.h"
#include "cli/number.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

constexpr std::size_t kTextAtATime = 64 << 10;

// The conditions that a name must satisfy.
struct Conditions {
  std::string glob;  // empty: any name
  std::optional<bool> directory;
  std::uint64_t min_size = 0;                   // in bytes; above 0 only files satisfy it
  std::optional<std::uint64_t> changed_before;  // seconds since 1970

  bool Matches(const std::string& name, const FileStat& stat) const {
    if (directory && *directory != stat.is_directory) return false;
    if (min_size > 0 && (stat.is_directory || stat.size < min_size)) return false;
    if (changed_before && stat.mtime_seconds >= *changed_before) return false;
    return glob.empty() || ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
  }
};

enum class PathForm { kLines, kZeros, kJson };

// Prints paths as they are found.
class FoundPaths {
 public:
  FoundPaths(PathForm form, const std::string& path, Console& console) : form_(form), console_(console) {
    if (form_ != PathForm::kJson) return;
    json_.emplace(console);
    json_->Member("path", path);
    json_->OpenArray("entries");
  }

  void Add(const std::string& path, const FileStat& stat) {
    switch (form_) {
      case PathForm::kJson:
        json_->Element({{"path", path},
                        {"type", stat.is_directory ? "directory" : "file"},
                        {"size", stat.size},
                        {"mtime", stat.mtime_seconds}});
        return;
      case PathForm::kLines: text_ += Printable(path) + "\n"; break;
      case PathForm::kZeros: text_.append(path).push_back('\0'); break;
    }
    if (text_.size() >= kTextAtATime) PrintText();
  }

  // `left_out`: why some names were not looked at; empty if all were.
  void End(const std::string& left_out) {
    if (json_) {
      json_->Close();
      if (!left_out.empty()) json_->Member("left_out", left_out);
      json_->End();
    }
    PrintText();
    if (!left_out.empty()) console_.PrintNote("find", left_out);
  }

 private:
  void PrintText() {
    if (form_ == PathForm::kZeros) {
      (void)console_.PrintBytes(text_);
    } else {
      console_.Print(text_);
    }
    text_.clear();
  }

  const PathForm form_;
  Console& console_;
  std::optional<JsonStream> json_;
  std::string text_;
};

class FindAction : public Action {
 public:
  explicit FindAction(CLI::App& app) : device_(app, DeviceOption::kOne, DeviceOption::kOwnWords) {
    app.add_option("path", path_, "The directory, or one file (default: the root)")->type_name("VOLUME-PATH");
    app.add_option("--name", conditions_.glob, "Only names that match the pattern, such as '*.sst'")
        ->type_name("GLOB");
    const auto type = [this](const std::string& text) {
      conditions_.directory = text == "directory" || text == "d";
      if (*conditions_.directory || text == "file" || text == "f") return;
      throw CLI::ValidationError("--type", fmt::format("'{}' is neither file nor directory", text));
    };
    app.add_option_function<std::string>("--type", type, "Only files, or only directories")
        ->type_name("file|directory");
    AddSize(app, "--min-size", conditions_.min_size, "Only files of at least this size");
    const auto age = [this](const std::string& text) {
      const auto seconds = ParseAge(text);
      if (!seconds) throw CLI::ValidationError("--older-than", seconds.error().text());
      older_than_ = *seconds;
    };
    app.add_option_function<std::string>("--older-than", age,
                                         "Only what was changed longer ago: 90s, 30m, 12h, 7d")
        ->type_name("AGE");
    CLI::Option* const zeros = app.add_flag(
        "-0,--print0", zeros_, "End each path with a zero byte, and print it as it is: for xargs -0");
    AddJson(app, json_)->excludes(zeros);
  }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.MountForFiles(OpenMode::kReadOnly, console));
    if (older_than_) {
      const std::uint64_t now = WallSeconds();
      conditions_.changed_before = now - std::min(now, *older_than_);
    }
    const std::string path = NormalizePath(path_);
    ZENFS_ASSIGN_OR_RETURN(const FileStat stat, volume->Stat(path));
    FoundPaths found(json_ ? PathForm::kJson : zeros_ ? PathForm::kZeros : PathForm::kLines, path, console);
    if (stat.is_directory) {
      ZENFS_RETURN_IF_ERROR(SearchBelow(*volume, path, found));
    } else {
      if (conditions_.Matches(path.substr(path.rfind('/') + 1), stat)) found.Add(path, stat);
      found.End("");
    }
    return 0;
  }

 private:
  Status SearchBelow(const Volume& volume, const std::string& path, FoundPaths& found) const {
    ZENFS_ASSIGN_OR_RETURN(VolumeWalk walk, VolumeWalk::Begin(volume, path));
    std::uint64_t too_long = 0;
    std::string first_too_long;
    for (;;) {
      ZENFS_ASSIGN_OR_RETURN(const DirectoryEntry* const entry, walk.Next());
      if (entry == nullptr) break;
      if (!walk.fits()) {
        if (++too_long == 1) first_too_long = walk.relative();
      } else if (conditions_.Matches(entry->name, entry->stat)) {
        found.Add(JoinPath(path, walk.relative()), entry->stat);
      }
    }
    found.End(TooLongText(too_long, first_too_long));
    return {};
  }

  DeviceOption device_;
  std::string path_;
  Conditions conditions_;
  std::optional<std::uint64_t> older_than_;  // seconds
  bool zeros_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeFind(CLI::App& app) { return MakeAction<FindAction>(app); }

}  // namespace zenfs
