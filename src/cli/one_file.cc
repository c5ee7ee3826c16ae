// Verbs that copy single files: cat, get, put.
#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

#include "backup/one_file.h"
#include "backup/path_tree.h"
#include "base/host_directory.h"
#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/transfer_console.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

std::string LastPart(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Runs one copy with progress. Errors: those of `copy`; kShutdown after an interrupt.
Status Copy(const std::string& verb, Console& console, const std::function<Status(Transfer&)>& copy) {
  TransferConsole shown(console, verb, true);
  Transfer transfer(shown, &StopOnInterrupt());
  const Status copied = transfer.Run(1, 1, [&](std::size_t) { return copy(transfer); });
  console.EndProgress();
  return copied;
}

// Prints nothing but the bytes: an error of a file does not keep the others from being printed.
class CatAction : public Action {
 public:
  explicit CatAction(CLI::App& app) : device_(app, DeviceOption::kOne, DeviceOption::kOwnWords) {
    app.add_option("path", paths_, "The files")->required()->expected(-1)->type_name("VOLUME-PATH");
  }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.MountForFiles(OpenMode::kReadOnly, console));
    int status = 0;
    for (const std::string& path : paths_) {
      const Status printed = Print(*volume, NormalizePath(path), console);
      if (console.write_failed()) break;  // the end of the verb reports it
      if (printed.ok()) continue;
      console.PrintError(fmt::format("zenfs cat: {}", Printable(printed.error().ToString())));
      status = 1;
    }
    return status;
  }

 private:
  // Shows no progress: the bytes may go to the same terminal. An interrupt ends the process.
  static Status Print(Volume& volume, const std::string& path, Console& console) {
    TransferConsole shown(console, "cat", true);
    Transfer transfer(shown, nullptr);
    ZENFS_ASSIGN_OR_RETURN(const FileRead read,
                           StreamVolumeFile(volume, transfer, path, [&](ByteView chunk) -> Status {
                             if (console.PrintBytes(AsText(chunk))) return {};
                             return Fail(Code::kIo, "the output could not be written");
                           }));
    return CheckNothingLost(volume, read.stat.id, path);
  }

  DeviceOption device_;
  std::vector<std::string> paths_;
};

class GetAction : public Action {
 public:
  explicit GetAction(CLI::App& app) : device_(app, DeviceOption::kOne, DeviceOption::kOwnWords) {
    app.add_option("path", options_.path, "The file")->required()->type_name("VOLUME-PATH");
    app.add_option("local", options_.local,
                   "Its copy on the host, or the directory for it (default: the working directory)")
        ->type_name("PATH");
    app.add_flag("--force", options_.force, "Replace an existing file");
    AddFileMode(app, options_.mode, "600");
  }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.MountForFiles(OpenMode::kReadOnly, console));
    options_.path = NormalizePath(options_.path);
    ZENFS_ASSIGN_OR_RETURN(const FileStat stat, volume->Stat(options_.path));
    if (stat.is_directory) {
      return Fail(Error(Code::kIsADirectory, fmt::format("{}: is a directory", options_.path))
                      .Advise("zenfs backup --backup-path copies directories"));
    }
    if (options_.local.empty()) options_.local = ".";
    if (HostDirectory::Open(options_.local))
      options_.local = JoinPath(options_.local, LastPart(options_.path));
    const Status copied =
        Copy("get", console, [&](Transfer& transfer) { return GetFile(*volume, transfer, options_); });
    if (!copied.ok() && copied.error().code() == Code::kExists) {
      return Fail(copied.error().Advise("--force replaces it"));
    }
    ZENFS_RETURN_IF_ERROR(copied);
    return 0;
  }

 private:
  DeviceOption device_;
  GetOptions options_;
};

class PutAction : public Action {
 public:
  explicit PutAction(CLI::App& app) : device_(app, DeviceOption::kOneWrite, DeviceOption::kOwnWords) {
    app.add_option("local", options_.local, "The file on the host")->required()->type_name("PATH");
    app.add_option("path", options_.path, "Its copy in the volume, or the directory for it")
        ->required()
        ->type_name("VOLUME-PATH");
    app.add_flag("--force", options_.force, "Replace an existing file");
  }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(const HostFile from, OpenLocal(options_.local));
    ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.MountForFiles(OpenMode::kExclusive, console));
    const bool must_be_directory = options_.path.ends_with('/');
    options_.path = NormalizePath(options_.path);
    const auto there = volume->Stat(options_.path);
    if (there ? there->is_directory : must_be_directory) {
      options_.path = JoinPath(options_.path, LastPart(options_.local));
    }
    const Status copied =
        Copy("put", console, [&](Transfer& transfer) { return PutFile(*volume, transfer, from, options_); });
    const Status unmounted = device_.Unmount(*volume, console);
    ZENFS_RETURN_IF_ERROR(copied);
    ZENFS_RETURN_IF_ERROR(unmounted);
    return 0;
  }

 private:
  DeviceOption device_;
  PutOptions options_;
};

}  // namespace

std::unique_ptr<Action> MakeCat(CLI::App& app) { return MakeAction<CatAction>(app); }
std::unique_ptr<Action> MakeGet(CLI::App& app) { return MakeAction<GetAction>(app); }
std::unique_ptr<Action> MakePut(CLI::App& app) { return MakeAction<PutAction>(app); }

}  // namespace zenfs
