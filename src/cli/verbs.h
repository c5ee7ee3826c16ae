// One factory function for each verb; each is in the file named after the verb.
#pragma once

#include "cli/verb.h"

namespace zenfs {

std::unique_ptr<Action> MakeDevices(CLI::App& app);
std::unique_ptr<Action> MakeDoctor(CLI::App& app);
std::unique_ptr<Action> MakeMkfs(CLI::App& app);
std::unique_ptr<Action> MakeList(CLI::App& app);
std::unique_ptr<Action> MakeLsUuid(CLI::App& app);
std::unique_ptr<Action> MakeDf(CLI::App& app);
std::unique_ptr<Action> MakeFsInfo(CLI::App& app);
std::unique_ptr<Action> MakeAdvise(CLI::App& app);
std::unique_ptr<Action> MakeZones(CLI::App& app);
std::unique_ptr<Action> MakeStats(CLI::App& app);
std::unique_ptr<Action> MakeExporter(CLI::App& app);
std::unique_ptr<Action> MakeBuffers(CLI::App& app);
std::unique_ptr<Action> MakeCheck(CLI::App& app);
std::unique_ptr<Action> MakeScrub(CLI::App& app);
std::unique_ptr<Action> MakeDump(CLI::App& app);
std::unique_ptr<Action> MakeBackup(CLI::App& app);
std::unique_ptr<Action> MakeRestore(CLI::App& app);
std::unique_ptr<Action> MakeLink(CLI::App& app);
std::unique_ptr<Action> MakeRename(CLI::App& app);
std::unique_ptr<Action> MakeDelete(CLI::App& app);
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
