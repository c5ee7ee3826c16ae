// Files of append buffers in shared memory, and their state by the metadata of this host's devices.
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
  kInUse,     // in use by a living process
  kNeeded,    // they hold bytes that the device lacks; its next mount writes them
  kSpent,     // their device has all their bytes; its next mount removes them
  kLeftOver,  // no mount will read them, or they are empty
  kNoDevice,  // they hold bytes, and their device was not found
  kUnclear,   // they or their device could not be read; `why` has the reason
};
[[nodiscard]] std::string_view StandingName(Standing standing);

struct ListedBuffers {
  SharedBuffers found;
  Standing standing = Standing::kUnclear;
  std::string device;  // "emu:a.img"; empty: not found
  std::optional<std::uint64_t>
      lost;  // bytes lost if the file is removed; an upper bound for kInUse and kNoDevice
  std::optional<Error> why;
};

// The readable devices, to ask them about buffers.
class PresentDevices {
 public:
  // Opens the devices that lists and the kernel name, and those of `known`.
  explicit PresentDevices(const KnownDevices& known);

  // Call this after all files were examined.
  [[nodiscard]] ListedBuffers Judge(SharedBuffers found);
  // One line for each device that could not be opened.
  const std::vector<Error>& not_read() const { return not_read_; }

 private:
  struct Present {
    std::string name;
    std::unique_ptr<ZonedDevice> device;
    std::unique_ptr<NeededBuffers> needed;
  };

  void AskAboutDamaged(ListedBuffers& listed);
  void AskItsDevice(ListedBuffers& listed);

  std::vector<Present> devices_;
  std::vector<Error> not_read_;
};

// One line per file, with what can be done about it in words. `now`: seconds since 1970.
[[nodiscard]] std::string BufferTable(const std::vector<ListedBuffers>& list, std::uint64_t now, int columns);
[[nodiscard]] Json BufferJson(const ListedBuffers& listed, std::uint64_t now);

}  // namespace zenfs
