// `zenfs volumes`: the volumes that configuration files name. Completions of shells use its output.
#include <fmt/format.h>

#include "cli/configuration.h"
#include "cli/flags.h"
#include "cli/json.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

class VolumesAction : public Action {
 public:
  explicit VolumesAction(CLI::App& app) { AddJson(app, json_); }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(const Configuration configuration, ReadConfiguration());
    Json list = Json::array();
    for (const auto& [name, volume] : configuration.volumes) {
      const Setting& from = volume.setting;
      const bool is_default = configuration.default_volume && configuration.default_volume->value == name;
      list.push_back({{"name", name},
                      {"uri", from.value},
                      {"file", from.file},
                      {"line", from.line},
                      {"default", is_default}});
      if (json_) continue;
      console.Print(fmt::format("{}\t{}\t{}:{}{}\n", name, Printable(from.value), Printable(from.file),
                                from.line, is_default ? "\tdefault" : ""));
    }
    if (json_) console.PrintJson(Json{{"volumes", std::move(list)}});
    return 0;
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeVolumes(CLI::App& app) { return MakeAction<VolumesAction>(app); }

}  // namespace zenfs
