#include "cli/flags.h"

#include <charconv>
#include <system_error>

namespace zenfs {

CLI::Option* AddSize(CLI::App& app, const std::string& name, std::uint64_t& value, const std::string& help) {
  auto store = [&value, name](const std::string& text) {
    const auto size = ParseSize(text);
    if (!size) throw CLI::ValidationError(name, size.error().text());
    value = *size;
  };
  return app.add_option_function<std::string>(name, store, help)->type_name("SIZE");
}

std::optional<mode_t> ParseFileMode(std::string_view text) {
  mode_t mode = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, mode, 8);
  if (error != std::errc() || stop != end || mode > 0777) return std::nullopt;
  return mode;
}

CLI::Option* AddFileMode(CLI::App& app, std::optional<mode_t>& mode, const std::string& shown) {
  auto store = [&mode](const std::string& text) {
    mode = ParseFileMode(text);
    if (!mode) {
      throw CLI::ValidationError("--mode", text + " is not a file mode; give three octal digits, like 640");
    }
  };
  return app
      .add_option_function<std::string>("--mode", store, "Permissions of the file, as chmod takes them")
      ->type_name("OCTAL")
      ->default_str(shown);
}

CLI::Option* AddJobs(CLI::App& app, unsigned& jobs) {
  auto store = [&jobs](const std::string& text) {
    const auto count = ParseCount(text, 1, 64);
    if (!count) throw CLI::ValidationError("--jobs", count.error().text());
    jobs = static_cast<unsigned>(*count);
  };
  return app.add_option_function<std::string>("--jobs", store, "Files to copy in parallel, from 1 to 64")
      ->type_name("N")
      ->default_str(std::to_string(jobs));
}

CLI::Option* AddJson(CLI::App& app, bool& json) {
  return app.add_flag("--json", json, "Print JSON instead of text");
}

}  // namespace zenfs
