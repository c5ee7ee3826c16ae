#include "cli/two_names.h"

namespace zenfs {

TwoNames::TwoNames(CLI::App& app, const std::string& source_help, const std::string& target_help)
    : device_(app, DeviceOption::kOneWrite) {
  app.add_option("--src-file", from_, source_help)->required()->type_name("VOLUME-PATH");
  app.add_option("--dest-file", to_, target_help)->required()->type_name("VOLUME-PATH");
}

Result<int> TwoNames::Apply(Console& console, Change change) const {
  ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.MountForFiles(OpenMode::kExclusive, console));
  ZENFS_RETURN_IF_ERROR(((*volume).*change)(from_, to_));
  ZENFS_RETURN_IF_ERROR(device_.Unmount(*volume, console));
  return 0;
}

}  // namespace zenfs
