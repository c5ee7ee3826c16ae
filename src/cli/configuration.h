// The configuration files of the command: names of volumes, and defaults. A file is TOML; docs/use/configuration.md has the keys.
//
// The files are merged key by key: the first file with a key wins. An unknown key is an error, as is a value that cannot be used:
// if a setting were skipped silently, the command would look at another device.
//
// Threads: plain values.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/device_uri.h"
#include "base/status.h"

namespace zenfs {

struct Setting {
  std::string value;
  std::string file;
  unsigned line = 0;
  std::string key;  // "exporter.listen"

  // For messages: "/etc/zenfs/zenfs.conf:3: exporter.listen".
  [[nodiscard]] std::string Place() const;
};

struct NamedVolume {
  DeviceUri uri;
  Setting setting;  // the URI as it is written
};

struct Configuration {
  std::map<std::string, NamedVolume, std::less<>> volumes;
  std::optional<Setting> default_volume;   // a name in `volumes`
  std::optional<Setting> flush_directory;  // as the mount option flush_dir
  std::optional<Setting> listen;           // HOST:PORT of the exporter; not checked
  std::vector<std::string> paths;          // where the files may be

  // Errors: kNotFound; the text lists the known names.
  [[nodiscard]] Result<DeviceUri> Find(std::string_view volume) const;
};

// The user's file, $XDG_CONFIG_HOME/zenfs/zenfs.conf or ~/.config/zenfs/zenfs.conf, then /etc/zenfs/zenfs.conf.
[[nodiscard]] std::vector<std::string> ConfigurationPaths();

// Skips files that do not exist. Errors: kInvalidArgument, with file, line and key; kPermission for a file that every user may
// change, if this process is root's; those of ReadTextFile (base/text_file.h).
[[nodiscard]] Result<Configuration> ReadConfiguration(std::vector<std::string> paths = ConfigurationPaths());

}  // namespace zenfs
