#include "cli/flags.h"

namespace zenfs {

CLI::Option* AddSize(CLI::App& app, const std::string& name, std::uint64_t& value, const std::string& help) {
  auto store = [&value, name](const std::string& text) {
    const auto size = ParseSize(text);
    if (!size) throw CLI::ValidationError(name, size.error().text());
    value = *size;
  };
  return app.add_option_function<std::string>(name, store, help)->type_name("SIZE");
}

CLI::Option* AddJson(CLI::App& app, bool& json) {
  return app.add_flag("--json", json, "Print JSON instead of text");
}

}  // namespace zenfs
