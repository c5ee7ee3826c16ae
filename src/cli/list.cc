#include <fmt/format.h>

#include <optional>

#include "backup/volume_tree.h"
#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/json.h"
#include "cli/number.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

constexpr std::size_t kLinesAtATime = 64 << 10;

// Prints the entries as they are found: all of them may be more than fits in memory.
class Listing {
 public:
  Listing(bool as_json, const std::string& path, Console& console) : console_(console) {
    if (!as_json) return;
    json_.emplace(console);
    json_->Member("path", path);
    json_->OpenArray("entries");
  }

  void Add(const std::string& name, const FileStat& stat) {
    if (!json_) {
      lines_ += fmt::format("{:>12}    {:<32}{}{}\n", stat.size, FormatTime(stat.mtime_seconds),
                            Printable(name), stat.is_directory ? "/" : "");
      if (lines_.size() >= kLinesAtATime) PrintLines();
      return;
    }
    Json entry{{"name", name},
               {"type", stat.is_directory ? "directory" : "file"},
               {"size", stat.size},
               {"mtime", stat.mtime_seconds}};
    if (!stat.is_directory) {
      entry["links"] = stat.links;
      entry["lifetime"] = LifetimeName(stat.lifetime);
      entry["framed"] = stat.shape == FileShape::kFramed;
    }
    json_->Element(entry);
  }

  // `left_out`: why some names are not listed; empty if all are.
  void End(const std::string& left_out) {
    if (json_) {
      json_->Close();
      if (!left_out.empty()) json_->Member("left_out", left_out);
      json_->End();
    } else {
      PrintLines();
    }
    if (!left_out.empty()) console_.PrintNote("list", left_out);
  }

 private:
  void PrintLines() {
    console_.Print(lines_);
    lines_.clear();
  }

  Console& console_;
  std::optional<JsonStream> json_;
  std::string lines_;
};

class ListAction : public Action {
 public:
  explicit ListAction(CLI::App& app) : device_(app) {
    app.add_option("--path", path_, "The directory, or one file (default: the root)")
        ->type_name("VOLUME-PATH");
    app.add_flag("--recursive", recursive_, "Also list the directories below it");
    AddJson(app, json_);
  }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.MountForFiles(OpenMode::kReadOnly, console));
    const std::string path = NormalizePath(path_);
    ZENFS_ASSIGN_OR_RETURN(const FileStat stat, volume->Stat(path));
    Listing listing(json_, path, console);
    if (stat.is_directory) {
      ZENFS_RETURN_IF_ERROR(ListDirectory(*volume, path, listing));
    } else {
      listing.Add(path.substr(path.rfind('/') + 1), stat);
      listing.End("");
    }
    return 0;
  }

 private:
  Status ListDirectory(const Volume& volume, const std::string& path, Listing& listing) const {
    ZENFS_ASSIGN_OR_RETURN(VolumeWalk walk, VolumeWalk::Begin(volume, path));
    std::uint64_t too_long = 0;
    std::string first_too_long;
    for (;;) {
      ZENFS_ASSIGN_OR_RETURN(const DirectoryEntry* const entry, walk.Next());
      if (entry == nullptr) break;
      if (walk.fits()) {
        listing.Add(walk.relative(), entry->stat);
      } else if (++too_long == 1) {
        first_too_long = walk.relative();
      }
      if (!recursive_) walk.Skip();
    }
    listing.End(TooLongText(too_long, first_too_long));
    return {};
  }

  DeviceOption device_;
  std::string path_;
  bool recursive_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeList(CLI::App& app) { return MakeAction<ListAction>(app); }

}  // namespace zenfs
