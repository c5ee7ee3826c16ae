#include <fmt/format.h>

#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/verbs.h"
#include "discovery/contents.h"

namespace zenfs {
namespace {

class LsUuidAction : public Action {
 public:
  explicit LsUuidAction(CLI::App& app) : asked_(app) { AddJson(app, json_); }

  Result<int> Run(Console& console) override {
    const KnownDevices known = asked_.Find();
    Json found = Json::array();
    for (const KnownDevice& device : known.devices) {
      const Contents contents = Probe(device);
      if (contents.kind == Contents::Kind::kZenfs) {
        found.push_back(
            {{"uuid", contents.uuid.ToString()}, {"device", device.Name()}, {"label", contents.label}});
      } else {
        Skip(console, device, contents);
      }
    }
    for (const Error& problem : known.problems) {
      console.PrintError(fmt::format("zenfs ls-uuid: {}", Printable(problem.ToString())));
    }
    if (json_) {
      console.PrintJson(Json{{"file_systems", found}});
      return 0;
    }
    for (const Json& one : found) {
      console.Print(fmt::format("{}\t{}\n", one["uuid"].get<std::string>(),
                                Printable(one["device"].get<std::string>())));
    }
    return 0;
  }

 private:
  // Report a device without ZenFS only if the user named it. Always report one that can't be read:
  // it may hold a file system.
  static void Skip(Console& console, const KnownDevice& device, const Contents& contents) {
    const bool asked = device.origin == KnownDevice::Origin::kAsked;
    if (!asked && contents.kind != Contents::Kind::kUnreadable) return;
    if (contents.kind == Contents::Kind::kLogs) {
      console.PrintError(fmt::format("zenfs ls-uuid: {} is skipped: it has only the logs of {}",
                                     Printable(device.Name()), contents.uuid.ToString()));
      return;
    }
    console.PrintError(fmt::format("zenfs ls-uuid: {} is skipped: {}", Printable(device.Name()),
                                   contents.why ? Printable(contents.why->ToString())
                                                : "no ZenFS is on it; zenfs devices shows what it holds"));
  }

  AskedDevices asked_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeLsUuid(CLI::App& app) { return MakeAction<LsUuidAction>(app); }

}  // namespace zenfs
