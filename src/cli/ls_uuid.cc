#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "backends/open_device.h"
#include "cli/device_list.h"
#include "cli/flags.h"
#include "cli/verbs.h"
#include "metalog/probe.h"

namespace zenfs {
namespace {

// Names of the host's zoned block devices.
std::vector<std::string> ZonedBlockDevices() {
  std::set<std::string> names;
  std::error_code ignored;  // no /sys: no devices to speak of
  for (const auto& entry : std::filesystem::directory_iterator("/sys/block", ignored)) {
    std::ifstream file(entry.path() / "queue" / "zoned");
    std::string model;
    if (file >> model && model != "none") names.insert(entry.path().filename());
  }
  return {names.begin(), names.end()};
}

class LsUuidAction : public Action {
 public:
  explicit LsUuidAction(CLI::App& app) {
    app.add_option("--emu", paths_, "Also look at this emulated device; may be given several times")
        ->type_name("PATH")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    AddJson(app, json_);
  }

  Result<int> Run(Console& console) override {
    for (const std::string& path : paths_) {
      const DeviceUri uri{.kind = "emu", .target = path, .options = {}};
      if (const Status added = Add(uri); !added) Skip(console, path, added.error());
    }
    const char* listed = std::getenv("ZENFS_DEVICES");
    for (const std::string& name : SplitDeviceList(listed == nullptr ? "" : listed)) {
      const auto uri = name.find(':') == std::string::npos
                           ? DeviceUri{.kind = "emu", .target = name, .options = {}}
                           : ParseDeviceUri(name);
      if (!uri) {
        Skip(console, name, uri.error());
      } else {
        // What merely stands in a list may be absent, or hold something else.
        IgnoreError(Add(*uri));
      }
    }
    const std::vector<std::string> zoned = ZonedBlockDevices();
    if (!zoned.empty()) {
      console.PrintError(
          fmt::format("zenfs ls-uuid: not looked into, because this version can't open block "
                      "devices: {}",
                      fmt::join(zoned, ", ")));
    }
    if (json_) console.PrintJson(Json{{"file_systems", found_}});
    return Print(console);
  }

 private:
  static void Skip(Console& console, const std::string& name, const Error& error) {
    console.PrintError(
        fmt::format("zenfs ls-uuid: {} is skipped: {}", Printable(name), Printable(error.ToString())));
  }

  Status Add(const DeviceUri& uri) {
    DeviceOptions ignored;
    ZENFS_ASSIGN_OR_RETURN(const auto device, OpenDevice(uri, OpenMode::kReadOnly, &ignored));
    ZENFS_ASSIGN_OR_RETURN(const Superblock superblock, ProbeSuperblock(*device));
    if (!seen_.insert(Canonical(uri)).second) return {};
    found_.push_back({{"uuid", superblock.uuid.ToString()},
                      {"device", fmt::format("{}:{}", uri.kind, uri.target)},
                      {"label", superblock.label}});
    return {};
  }

  int Print(Console& console) const {
    if (json_) return 0;
    for (const Json& one : found_) {
      console.Print(fmt::format("{}\t{}\n", one["uuid"].get<std::string>(),
                                Printable(one["device"].get<std::string>())));
    }
    return 0;
  }

  std::vector<std::string> paths_;
  bool json_ = false;
  std::set<std::string> seen_;
  Json found_ = Json::array();
};

}  // namespace

std::unique_ptr<Action> MakeLsUuid(CLI::App& app) { return MakeAction<LsUuidAction>(app); }

}  // namespace zenfs
