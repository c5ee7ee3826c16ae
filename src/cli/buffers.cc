#include <fmt/format.h>

#include <filesystem>
#include <limits>

#include "base/clock.h"
#include "base/counted.h"
#include "base/shared_memory.h"
#include "base/short_bytes.h"
#include "cli/asked_devices.h"
#include "cli/buffer_list.h"
#include "cli/flags.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

class BuffersAction : public Action {
 public:
  explicit BuffersAction(CLI::App& app) : asked_(app) {
    app.add_option("path", paths_, "Only these files")->type_name("PATH");
    app.add_option(
           "--dir", directories_,
           "Look in this directory, the flush_dir of a mount, instead of the usual ones; may be given "
           "several times")
        ->type_name("DIR")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.add_flag("--remove", remove_,
                 "Remove unneeded files; with PATH these files, even if their device is missing");
    AddJson(app, json_);
  }

  Result<int> Run(Console& console) override {
    const KnownDevices known = asked_.Find();
    PresentDevices devices(known);
    std::vector<ListedBuffers> list;
    ZENFS_ASSIGN_OR_RETURN(FoundBuffers all, Find());
    for (SharedBuffers& found : all.files) list.push_back(devices.Judge(std::move(found)));
    for (const auto* problems : {&known.problems, &devices.not_read()}) {
      for (const Error& problem : *problems) {
        console.PrintError(fmt::format("zenfs buffers: {}", Printable(problem.ToString())));
      }
    }
    if (all.omitted != 0) {
      console.PrintError(
          fmt::format("zenfs buffers: {} not examined, beyond the first {}; name them, or remove "
                      "the others first",
                      Counted(all.omitted, "file"), all.files.size()));
    }
    const std::uint64_t now = WallSeconds();
    if (remove_) return Remove(console, list, now);
    if (json_) {
      Json rows = Json::array();
      for (const ListedBuffers& listed : list) rows.push_back(BufferJson(listed, now));
      console.PrintJson(Json{{"buffers", std::move(rows)}, {"not_examined", all.omitted}});
      return 0;
    }
    const Terminal& terminal = console.terminal();
    console.Print(
        BufferTable(list, now, terminal.is_terminal ? terminal.columns : std::numeric_limits<int>::max()));
    return 0;
  }

 private:
  Result<FoundBuffers> Find() const {
    for (const std::string& directory : directories_) {
      std::error_code error;
      if (std::filesystem::is_directory(directory, error)) continue;
      return Fail(Code::kNotFound, fmt::format("--dir={}: not a directory, or not accessible", directory));
    }
    if (paths_.empty()) {
      return FindSharedBuffers(directories_.empty() ? SharedMemoryDirectories() : directories_);
    }
    FoundBuffers found;
    for (const std::string& path : paths_) {
      found.files.push_back(LookAtSharedBuffers(path));
      const std::optional<Error>& problem = found.files.back().problem;
      if (problem && problem->code() == Code::kNotFound) return Fail(*problem);
    }
    return found;
  }

  // OK if the named file may be removed, otherwise the reason why not.
  static Status MayGo(const ListedBuffers& listed) {
    const std::string& path = listed.found.path;
    switch (listed.standing) {
      case Standing::kInUse:
        return Fail(Code::kBusy, listed.found.finished
                                     ? fmt::format("{}: process {} uses it", path, listed.found.process)
                                     : fmt::format("{}: a process uses it", path));
      case Standing::kNeeded:
        return Fail(Code::kBusy,
                    fmt::format("{}: {} needs it: {} were flushed and are not on the device; a read-write "
                                "mount on this host writes them there, one with discard_unsynced drops them",
                                path, listed.device,
                                listed.lost ? Counted(*listed.lost, "byte") : "bytes that can't be counted"));
      case Standing::kUnclear:
        if (listed.found.problem && listed.found.problem->code() == Code::kCorruption) return {};
        return Fail(*listed.why);
      default: return {};
    }
  }

  static std::string GivenUp(const ListedBuffers& listed) {
    if (!listed.lost) return "it was damaged; its content is unknown";
    if (*listed.lost == 0) return "nothing is lost";
    return fmt::format("lost with it, at most: {} that {} flushed and not synced",
                       Counted(*listed.lost, "byte"), *listed.lost == 1 ? "was" : "were");
  }

  Result<int> Remove(Console& console, const std::vector<ListedBuffers>& list, std::uint64_t now) const {
    std::vector<const ListedBuffers*> chosen;
    for (const ListedBuffers& listed : list) {
      if (!paths_.empty()) ZENFS_RETURN_IF_ERROR(MayGo(listed));
      if (!paths_.empty() || listed.standing == Standing::kLeftOver) chosen.push_back(&listed);
    }
    Json rows = Json::array();
    Status first;
    for (const ListedBuffers* listed : chosen) {
      const Status removed = RemoveSharedBuffers(listed->found);
      if (!removed.ok()) {
        if (first.ok()) {
          first = removed;
        } else {
          console.PrintError(fmt::format("zenfs buffers: {}", Printable(removed.error().ToString())));
        }
        continue;
      }
      rows.push_back(BufferJson(*listed, now));
      if (json_) continue;
      console.Print(fmt::format("Removed: {}, {}; {}.\n", Printable(listed->found.path),
                                ShortBytes(listed->found.size), GivenUp(*listed)));
    }
    if (json_) console.PrintJson(Json{{"removed", std::move(rows)}});
    if (!first.ok()) return Fail(first.error());
    if (!json_ && chosen.empty()) {
      console.Print(fmt::format("Nothing to remove; {} kept.\n", Counted(list.size(), "file")));
    }
    return 0;
  }

  AskedDevices asked_;
  std::vector<std::string> paths_;
  std::vector<std::string> directories_;
  bool remove_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeBuffers(CLI::App& app) { return MakeAction<BuffersAction>(app); }

}  // namespace zenfs
