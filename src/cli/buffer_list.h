// Files of append buffers in shared memory, and what the devices of this host make of them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/console.h"
#include "device/zoned_device.h"
#include "discovery/known_devices.h"
#include "volume/shared_buffers.h"

namespace zenfs {

enum class Standing {
  kInUse,     // a living process has them
  kNeeded,    // a device lacks bytes that they hold; its next mount brings them there
  kSpent,     // a device names them and has all that they hold; its next mount removes them
  kLeftOver,  // nothing will ever read them, or nothing is in them
  kNoDevice,  // they hold bytes, and their device is not among those that could be looked at
  kUnclear,   // they, or their device, could not be read: `why`
};
[[nodiscard]] std::string_view StandingName(Standing standing);

struct ListedBuffers {
  SharedBuffers found;
  Standing standing = Standing::kUnclear;
  std::string device;  // "emu:a.img"; empty: not found
  std::optional<std::uint64_t>
      lost;  // bytes that would be lost with the file; of kInUse and kNoDevice, at most
  std::optional<Error> why;
};

// The devices that can be read, to ask them about buffers.
class PresentDevices {
 public:
  // Looks at the devices that lists and the kernel name, and at `known` itself.
  explicit PresentDevices(const KnownDevices& known);

  [[nodiscard]] ListedBuffers Judge(SharedBuffers found) const;
  // Devices that could not be opened, a line each.
  const std::vector<Error>& not_read() const { return not_read_; }

 private:
  struct Present {
    std::string name;
    std::unique_ptr<ZonedDevice> device;
  };

  void AskAboutDamaged(ListedBuffers& listed) const;
  void AskItsDevice(ListedBuffers& listed) const;

  std::vector<Present> devices_;
  std::vector<Error> not_read_;
};

// One line each; in words what can be done about them. `now`: seconds since 1970.
[[nodiscard]] std::string BufferTable(const std::vector<ListedBuffers>& list, std::uint64_t now, int columns);
[[nodiscard]] Json BufferJson(const ListedBuffers& listed, std::uint64_t now);

}  // namespace zenfs
