// The verbs of the command. Help, dispatch, man page and completions use the table in verbs.cc.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <span>
#include <string_view>

#include "base/status.h"
#include "cli/console.h"

namespace zenfs {

// One run of a verb. The constructor binds flags of an App to members; Run is called after they are
// parsed.
class Action {
 public:
  virtual ~Action() = default;
  // Returns the exit status. An error becomes one line on standard error and the verb's error
  // status.
  [[nodiscard]] virtual Result<int> Run(Console& console) = 0;
};

struct Verb {
  std::string_view name;     // one or two words
  std::string_view summary;  // one line, for help
  std::unique_ptr<Action> (*make)(CLI::App& app);
  int error_status = 1;
};

template <typename A>
std::unique_ptr<Action> MakeAction(CLI::App& app) {
  return std::make_unique<A>(app);
}

// All verbs, in the order of the help.
[[nodiscard]] std::span<const Verb> Verbs();

// Makers for the table. Each is in the file named after its verb; those of `emu` in emu.cc, those of `link`, `rename`, `delete`,
// `mkdir` and `rmdir` in names.cc, `restore` in backup.cc, `cat`, `get` and
// `put` in one_file.cc, `version` in help.cc.
std::unique_ptr<Action> MakeDevices(CLI::App& app);
std::unique_ptr<Action> MakeDoctor(CLI::App& app);
std::unique_ptr<Action> MakeMkfs(CLI::App& app);
std::unique_ptr<Action> MakeList(CLI::App& app);
std::unique_ptr<Action> MakeFind(CLI::App& app);
std::unique_ptr<Action> MakeDu(CLI::App& app);
std::unique_ptr<Action> MakeLsUuid(CLI::App& app);
std::unique_ptr<Action> MakeVolumes(CLI::App& app);
std::unique_ptr<Action> MakeDf(CLI::App& app);
std::unique_ptr<Action> MakeFsInfo(CLI::App& app);
std::unique_ptr<Action> MakeAdvise(CLI::App& app);
std::unique_ptr<Action> MakeZones(CLI::App& app);
std::unique_ptr<Action> MakeStats(CLI::App& app);
std::unique_ptr<Action> MakeTop(CLI::App& app);
std::unique_ptr<Action> MakeExporter(CLI::App& app);
std::unique_ptr<Action> MakeBuffers(CLI::App& app);
std::unique_ptr<Action> MakeCheck(CLI::App& app);
std::unique_ptr<Action> MakeScrub(CLI::App& app);
std::unique_ptr<Action> MakeUpgrade(CLI::App& app);
std::unique_ptr<Action> MakeDump(CLI::App& app);
std::unique_ptr<Action> MakeBackup(CLI::App& app);
std::unique_ptr<Action> MakeRestore(CLI::App& app);
std::unique_ptr<Action> MakeCat(CLI::App& app);
std::unique_ptr<Action> MakeGet(CLI::App& app);
std::unique_ptr<Action> MakePut(CLI::App& app);
std::unique_ptr<Action> MakeMount(CLI::App& app);
std::unique_ptr<Action> MakeLink(CLI::App& app);
std::unique_ptr<Action> MakeRename(CLI::App& app);
std::unique_ptr<Action> MakeDelete(CLI::App& app);
std::unique_ptr<Action> MakeMkdir(CLI::App& app);
std::unique_ptr<Action> MakeRmdir(CLI::App& app);
std::unique_ptr<Action> MakeEmuCreate(CLI::App& app);
std::unique_ptr<Action> MakeEmuClone(CLI::App& app);
std::unique_ptr<Action> MakeEmuInfo(CLI::App& app);
std::unique_ptr<Action> MakeEmuPowerCut(CLI::App& app);
std::unique_ptr<Action> MakeVersion(CLI::App& app);
std::unique_ptr<Action> MakeCompletion(CLI::App& app);
std::unique_ptr<Action> MakeHelp(CLI::App& app);

// Exit statuses of `zenfs check` and `zenfs scrub`.
inline constexpr int kCheckClean = 0;
inline constexpr int kCheckFindings = 1;
inline constexpr int kCheckImpossible = 2;

}  // namespace zenfs
