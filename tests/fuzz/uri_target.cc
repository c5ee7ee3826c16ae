// Device URIs and mount options, as a user or RocksDB's option string gives them.
#include <fcntl.h>

#include "backends/device_uri.h"
#include "backends/open_device.h"
#include "base/uuid.h"
#include "buffers/buffer_area_place.h"
#include "input.h"
#include "open/mount_options.h"

namespace zenfs {
namespace {

// The URI text for a parsed URI.
std::string TextOf(const DeviceUri& uri) {
  std::string text = "zenfs://" + uri.kind + ":" + uri.target;
  char before = '?';
  for (const auto& [key, value] : uri.options) {
    text += before + key + (value.empty() ? "" : ":" + value);
    before = ',';
  }
  return text;
}

void CheckUri(const DeviceUri& uri) {
  Require(!uri.target.empty(), "a URI names something");
  const auto again = ParseDeviceUri(TextOf(uri));
  Require(again && again->kind == uri.kind && again->target == uri.target && again->options == uri.options,
          "a URI survives being written");
  if (uri.target.find('\0') != std::string::npos) return;  // not a valid path
  const std::string canonical = Canonical(uri);
  const auto named = ParseDeviceUri("zenfs://" + canonical);
  Require(named && Canonical(*named) == canonical, "the canonical name of a device is its own");
}

// Separates options of the device from those of the mount. The device does not exist; its options
// are parsed first.
void CheckOptions(DeviceUri uri) {
  uri.kind = "emu";
  uri.target = "/nonexistent/zenfs";
  DeviceOptions unclaimed;
  Require(!OpenDevice(uri, OpenMode::kReadOnly, &unclaimed), "what is not there does not open");
  Require(unclaimed.size() <= uri.options.size(), "no option is made up");
  const auto options = ParseMountOptions(unclaimed);
  if (options) Require(*ParseMountOptions(unclaimed) == *options, "options mean the same each time");
  static_cast<void>(ParseMountOptions(uri.options).has_value());
}

void CheckWords(std::string_view text) {
  if (const auto uuid = Uuid::Parse(text)) Require(Uuid::Parse(uuid->ToString()) == uuid, "a UUID survives");
  if (const auto place = BufferAreaPlace::Parse(text)) {
    Require(place->ToText() == text, "a place of append buffers survives");
  }
}

}  // namespace
}  // namespace zenfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zenfs;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckWords(text);
  const auto uri = ParseDeviceUri(text);
  if (!uri) return 0;
  CheckUri(*uri);
  CheckOptions(*uri);
  return 0;
}
