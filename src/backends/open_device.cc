#include "backends/open_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "backends/block/block_device.h"
#include "backends/emulator/emulator.h"
#include "backends/nvme/nvme_device.h"
#include "backends/zonefs/zonefs_device.h"
#include "device/checked_device.h"

namespace zenfs {
namespace {

using Opened = Result<std::unique_ptr<ZonedDevice>>;

struct Backend {
  std::string_view kind;
  std::vector<OptionText> (*options)();
  Opened (*open)(const DeviceUri& uri, OpenMode mode, DeviceOptions* unclaimed);
};

constexpr Backend kBackends[] = {
    {"dev", BlockOptionTexts,
     [](const DeviceUri& uri, OpenMode mode, DeviceOptions* unclaimed) -> Opened {
       ZENFS_ASSIGN_OR_RETURN(const BlockOptions options, TakeBlockOptions(uri.options, unclaimed));
       return OpenBlockDeviceWithCommands(uri.target, mode, options);
     }},
    {"nvme", NvmeOptionTexts,
     [](const DeviceUri& uri, OpenMode mode, DeviceOptions* unclaimed) -> Opened {
       ZENFS_ASSIGN_OR_RETURN(const NvmeOptions options, TakeNvmeOptions(uri.options, unclaimed));
       return OpenNvmeDevice(uri.target, mode, options);
     }},
    {"zonefs", ZonefsOptionTexts,
     [](const DeviceUri& uri, OpenMode mode, DeviceOptions* unclaimed) -> Opened {
       ZENFS_ASSIGN_OR_RETURN(const ZonefsOptions options, TakeZonefsOptions(uri.options, unclaimed));
       return OpenZonefs(uri.target, mode, options);
     }},
    {"emu", EmulatorOptionTexts,
     [](const DeviceUri& uri, OpenMode mode, DeviceOptions* unclaimed) -> Opened {
       ZENFS_ASSIGN_OR_RETURN(const EmulatorOptions options, TakeEmulatorOptions(uri.options, unclaimed));
       return OpenEmulatedFile(uri.target, mode, options);
     }},
};

}  // namespace

Result<std::unique_ptr<ZonedDevice>> OpenDevice(const DeviceUri& uri, OpenMode mode,
                                                DeviceOptions* unclaimed) {
  const auto* const backend = std::ranges::find(kBackends, uri.kind, &Backend::kind);
  if (backend == std::end(kBackends))
    return Fail(Code::kNotSupported, fmt::format("no backend opens {}:", uri.kind));
  ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<ZonedDevice> device, backend->open(uri, mode, unclaimed));
  return CheckDevice(std::move(device));
}

std::string DeviceOptionForms() {
  std::string text;
  for (const Backend& backend : kBackends) {
    text += fmt::format("{}{}: also ", text.empty() ? "" : "; ", backend.kind);
    const std::vector<OptionText> options = backend.options();
    for (std::size_t i = 0; i < options.size(); ++i)
      text += fmt::format("{}{}", i == 0 ? "" : i + 1 == options.size() ? " and " : ", ", options[i].form);
  }
  return text;
}

}  // namespace zenfs
