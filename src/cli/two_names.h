// Shared by link and rename: two names in a volume, and one change of the volume.
#pragma once

#include <string>
#include <string_view>

#include "cli/console.h"
#include "cli/device_option.h"

namespace zenfs {

class TwoNames {
 public:
  using Change = Status (Volume::*)(std::string_view from, std::string_view to);

  // Adds --src-file and --dest-file with these helps, and the flags of a device. `app` keeps
  // references to this object.
  TwoNames(CLI::App& app, const std::string& source_help, const std::string& target_help);

  // Mounts read-write, makes the change, unmounts. Returns the exit status.
  [[nodiscard]] Result<int> Apply(Console& console, Change change) const;

 private:
  DeviceOption device_;
  std::string from_;
  std::string to_;
};

}  // namespace zenfs
