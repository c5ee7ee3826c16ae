#include "backends/device_uri.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <system_error>
#include <utility>

#include "backends/block/block_device.h"

namespace zenfs {
namespace {

constexpr std::string_view kScheme = "zenfs://";
constexpr std::array<std::string_view, 5> kKinds = {"dev", "nvme", "zonefs", "uuid", "emu"};
constexpr std::string_view kForm =
    "zenfs://dev:NAME, zenfs://nvme:NAME, zenfs://zonefs:MOUNT, zenfs://uuid:UUID or zenfs://emu:PATH, "
    "followed by "
    "?key:value,key:value for options";

std::unexpected<Error> Bad(std::string text) { return Fail(Code::kInvalidArgument, std::move(text)); }

bool IsKey(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

Status CheckKind(std::string_view kind, std::string_view text) {
  if (std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end()) return {};
  return Bad(fmt::format("{}: '{}' is not a kind of device; the form is {}", text, kind, kForm));
}

Result<DeviceOptions> ParseOptions(std::string_view options, std::string_view text) {
  DeviceOptions parsed;
  if (const auto at = options.find_first_of("=;"); at != options.npos) {
    return Bad(
        fmt::format("{}: '{}' in the options; they are written key:value,key:value", text, options[at]));
  }
  while (!options.empty()) {
    const std::size_t end = std::min(options.find(','), options.size());
    const std::string_view option = options.substr(0, end);
    options.remove_prefix(end);
    if (options == ",") return Bad(fmt::format("{}: a comma at the end of the options", text));
    if (!options.empty()) options.remove_prefix(1);
    const std::size_t colon = std::min(option.find(':'), option.size());
    const std::string_view key = option.substr(0, colon);
    if (!IsKey(key)) {
      return Bad(
          fmt::format("{}: '{}' is not an option; they are written key:value,key:value", text, option));
    }
    const auto same = [key](const auto& other) { return other.first == key; };
    if (std::any_of(parsed.begin(), parsed.end(), same)) {
      return Bad(fmt::format("{}: option '{}' is given twice", text, key));
    }
    parsed.emplace_back(key, colon == option.size() ? std::string_view{} : option.substr(colon + 1));
  }
  return parsed;
}

}  // namespace

std::span<const std::string_view> DeviceKinds() { return kKinds; }

Result<DeviceUri> ParseDeviceUri(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with(kScheme)) {
    rest.remove_prefix(kScheme.size());
  } else if (const auto scheme_end = rest.find("://"); scheme_end < rest.find('?')) {
    return Bad(
        fmt::format("{}: unknown scheme '{}'; the form is {}", text, rest.substr(0, scheme_end), kForm));
  }
  const std::size_t colon = rest.find(':');
  if (colon == rest.npos || colon == 0 || rest.find('?') < colon) {
    return Bad(fmt::format("'{}' does not name a device; the form is {}", text, kForm));
  }
  ZENFS_RETURN_IF_ERROR(CheckKind(rest.substr(0, colon), text));
  DeviceUri uri;
  uri.kind = rest.substr(0, colon);
  rest.remove_prefix(colon + 1);
  const std::size_t question = rest.find('?');
  uri.target = rest.substr(0, question);
  if (uri.target.empty()) return Bad(fmt::format("'{}' names no device; the form is {}", text, kForm));
  if (question != rest.npos) {
    ZENFS_ASSIGN_OR_RETURN(uri.options, ParseOptions(rest.substr(question + 1), text));
  }
  return uri;
}

Status CheckScheme(std::string_view text) {
  if (text.starts_with(kScheme)) return {};
  std::string_view rest = text;
  constexpr std::string_view kName = "zenfs";
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  if (std::ranges::equal(rest.substr(0, kName.size()), kName, same)) rest.remove_prefix(kName.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(":/"), rest.size()));
  ZENFS_RETURN_IF_ERROR(ParseDeviceUri(rest));
  return Bad(fmt::format("misspelt, the URI is {}{}", kScheme, rest));
}

std::optional<std::string> TakeOption(DeviceOptions& options, std::string_view key) {
  const auto found = std::ranges::find(options, key, &DeviceOptions::value_type::first);
  if (found == options.end()) return std::nullopt;
  std::string value = std::move(found->second);
  options.erase(found);
  return value;
}

std::string Canonical(const DeviceUri& uri) {
  if (uri.kind == "dev" || uri.kind == "nvme") return uri.kind + ":" + BlockNodePath(uri.target);
  if (uri.kind == "uuid") {
    std::string text = uri.kind + ":" + uri.target;
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
  }
  std::error_code error;
  std::filesystem::path path = std::filesystem::weakly_canonical(uri.target, error);
  if (error || path.is_relative()) {
    // weakly_canonical leaves a relative path relative when no part of it exists.
    path = std::filesystem::absolute(uri.target, error).lexically_normal();
  }
  if (!path.has_filename()) path = path.parent_path();  // "a/b/.." became "a/"
  return uri.kind + ":" + (path.empty() ? uri.target : path.string());
}

}  // namespace zenfs
