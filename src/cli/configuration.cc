#include "cli/configuration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "base/environment.h"
#include "base/text_file.h"
#include "cli/command_line.h"

namespace zenfs {
namespace {

constexpr std::string_view kVolumes = "volumes";
constexpr std::string_view kExporter = "exporter";
constexpr std::string_view kForm = "a line is KEY = \"VALUE\", with the quotes";

std::string At(std::string_view file, unsigned line, std::string_view key) {
  return fmt::format("{}:{}: {}", file, line, key);
}

std::string_view LineOf(std::string_view text, unsigned number) {
  for (; number > 1 && !text.empty(); --number)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, text.find('\n'));
}

// Names the line with its text, because the library does not name the key.
Error SyntaxError(const std::string& file, std::string_view text, const toml::parse_error& error) {
  constexpr std::size_t kTextMax = 80;
  const unsigned line = error.source().begin.line;
  std::string_view why = error.description();
  if (why.starts_with("Error while parsing ")) why.remove_prefix(std::min(why.find(": ") + 2, why.size()));
  return Error(Code::kInvalidArgument,
               fmt::format("{}: {}", At(file, line, LineOf(text, line).substr(0, kTextMax)), why))
      .Advise(std::string(kForm));
}

bool IsVolumeName(std::string_view name) {
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && is_word(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return is_word(c) || c == '-' || c == '_' || c == '.'; });
}

// Adds the settings of one file to those of earlier files.
class FileReader {
 public:
  FileReader(const std::string& file, Configuration& configuration)
      : file_(file), configuration_(configuration) {}

  Status Read(const std::string& text) {
    try {
      return TakeTable(toml::parse(text));
    } catch (const toml::parse_error& error) {
      return Fail(SyntaxError(file_, text, error));
    }
  }

 private:
  Status TakeTable(const toml::table& table) {
    for (const auto& [key, node] : table) {
      if (key.str() != kVolumes && key.str() != kExporter) {
        ZENFS_RETURN_IF_ERROR(Take(key, std::string(key.str()), node));
        continue;
      }
      const toml::table* const section = node.as_table();
      if (section == nullptr) {
        return Fail(Code::kInvalidArgument,
                    fmt::format("{0} is a section, with its keys below a line [{1}]",
                                At(file_, key.source().begin.line, key.str()), key.str()));
      }
      for (const auto& [inner, value] : *section) {
        ZENFS_RETURN_IF_ERROR(Take(inner, fmt::format("{}.{}", key.str(), inner.str()), value));
      }
    }
    return {};
  }

  Status Take(const toml::key& key, const std::string& name, const toml::node& node) {
    const bool is_volume = name.starts_with("volumes.");
    std::optional<Setting>* const known = is_volume ? nullptr : SettingOf(name);
    Setting setting{.value = {}, .file = file_, .line = key.source().begin.line, .key = name};
    if (!is_volume && known == nullptr) return Fail(UnknownKey(setting));
    const toml::value<std::string>* const text = node.as_string();
    if (text == nullptr) {
      return Fail(
          Error(Code::kInvalidArgument, setting.Place() + ": is not text").Advise(std::string(kForm)));
    }
    setting.value = text->get();
    if (setting.value.empty() || setting.value.find('\0') != std::string::npos) {
      return Fail(Code::kInvalidArgument, setting.Place() + ": the value is empty, or has a zero byte");
    }
    if (is_volume) return TakeVolume(std::string(key.str()), std::move(setting));
    if (name == "flush_dir" && setting.value != "auto" && setting.value != "none" &&
        !setting.value.starts_with('/')) {
      return Fail(Code::kInvalidArgument, fmt::format("{}: '{}' is neither auto, none nor an absolute path",
                                                      setting.Place(), setting.value));
    }
    if (!*known) *known = std::move(setting);
    return {};
  }

  Status TakeVolume(const std::string& name, Setting setting) {
    if (!IsVolumeName(name)) {
      return Fail(Code::kInvalidArgument,
                  setting.Place() +
                      ": the name of a volume consists of letters, digits, '-', '_' and '.', "
                      "and begins with a letter or digit");
    }
    Result<DeviceUri> uri = ParseDeviceUri(setting.value);
    if (!uri) return Fail(uri.error().With(setting.Place()));
    // The directory in which the command runs has nothing to do with the file.
    if ((uri->kind == "emu" || uri->kind == "zonefs") && !uri->target.starts_with('/')) {
      return Fail(Code::kInvalidArgument, fmt::format("{}: '{}' is not an absolute path; write {}:/PATH",
                                                      setting.Place(), uri->target, uri->kind));
    }
    configuration_.volumes.try_emplace(name, NamedVolume{*std::move(uri), std::move(setting)});
    return {};
  }

  std::optional<Setting>* SettingOf(std::string_view name) {
    if (name == "default_volume") return &configuration_.default_volume;
    if (name == "flush_dir") return &configuration_.flush_directory;
    if (name == "exporter.listen") return &configuration_.listen;
    return nullptr;
  }

  static Error UnknownKey(const Setting& setting) {
    const std::vector<std::string> keys = {"default_volume", "flush_dir", "exporter.listen", "volumes.NAME"};
    const std::string near = NearestWord(setting.key, keys);
    return Error(Code::kInvalidArgument,
                 near.empty()
                     ? fmt::format("{}: unknown key; the keys are {}", setting.Place(), fmt::join(keys, ", "))
                     : fmt::format("{}: unknown key, did you mean {}?", setting.Place(), near));
  }

  const std::string& file_;
  Configuration& configuration_;
};

Status ReadOne(const std::string& path, Configuration& configuration) {
  ZENFS_ASSIGN_OR_RETURN(const TextFile file, ReadTextFile(path, "configuration file"));
  if (::geteuid() == 0 && file.stat.kind == HostStat::Kind::kFile && (file.stat.mode & S_IWOTH) != 0) {
    return Fail(
        Code::kPermission,
        fmt::format("{0}: every user may change this file, so root does not trust it; look at it, then: "
                    "chmod o-w {0}",
                    path));
  }
  return FileReader(path, configuration).Read(file.text);
}

}  // namespace

std::string Setting::Place() const { return At(file, line, key); }

Result<DeviceUri> Configuration::Find(std::string_view volume) const {
  if (const auto found = volumes.find(volume); found != volumes.end()) return found->second.uri;
  std::vector<std::string_view> names;
  for (const auto& [name, unused] : volumes) names.push_back(name);
  return Fail(
      Code::kNotFound,
      names.empty()
          ? fmt::format("no volume is named '{}': none is configured in {}", volume, fmt::join(paths, " or "))
          : fmt::format("no volume is named '{}'; known: {}", volume, fmt::join(names, ", ")));
}

std::vector<std::string> ConfigurationPaths() {
  std::vector<std::string> paths;
  const std::string user = UserConfigDirectory();
  if (!user.empty()) paths.push_back(user + "/zenfs/zenfs.conf");
  paths.emplace_back("/etc/zenfs/zenfs.conf");
  return paths;
}

Result<Configuration> ReadConfiguration(std::vector<std::string> paths) {
  Configuration configuration;
  configuration.paths = std::move(paths);
  for (const std::string& path : configuration.paths) {
    std::error_code ignored;  // a directory that may not be entered has no file
    if (std::filesystem::exists(path, ignored)) ZENFS_RETURN_IF_ERROR(ReadOne(path, configuration));
  }
  if (const auto& chosen = configuration.default_volume) {
    if (const auto found = configuration.Find(chosen->value); !found) {
      return Fail(found.error().As(Code::kInvalidArgument).With(chosen->Place()));
    }
  }
  return configuration;
}

}  // namespace zenfs
