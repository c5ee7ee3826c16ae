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

CLI::Option* AddJobs(CLI::App& app, unsigned& jobs) {
  auto store = [&jobs](const std::string& text) {
    const auto count = ParseCount(text, 1, 64);
    if (!count) throw CLI::ValidationError("--jobs", count.error().text());
    jobs = static_cast<unsigned>(*count);
  };
  return app.add_option_function<std::string>("--jobs", store, "Files at once, from 1 to 64")
      ->type_name("N")
      ->default_str(std::to_string(jobs));
}

CLI::Option* AddJson(CLI::App& app, bool& json) {
  return app.add_flag("--json", json, "Print JSON instead of text");
}

}  // namespace zenfs
