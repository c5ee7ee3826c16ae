#include "backends/emulator/emulator.h"

#include <fmt/format.h>

#include "backends/emulator/emulated_device.h"
#include "backends/emulator/file_store.h"
#include "backends/emulator/memory_store.h"

namespace zenfs {

std::uint32_t EmulatorOptions::latency_us(EmulatorCommand command) const {
  switch (command) {
    case EmulatorCommand::kRead: return read_us;
    case EmulatorCommand::kWrite: return write_us;
    case EmulatorCommand::kAppend: return append_us;
    case EmulatorCommand::kManagement: return management_us;
    case EmulatorCommand::kFlush: return flush_us;
  }
  return 0;
}

std::unique_ptr<EmulatorDevice> CreateMemoryDevice(const EmulatorGeometry& geometry,
                                                   const EmulatorOptions& options) {
  return EmulatedDevice::Create("emu:memory", geometry, OpenMode::kExclusive, options,
                                std::make_unique<MemoryStore>(geometry))
      .value();
}

Result<std::unique_ptr<EmulatorDevice>> OpenEmulatedFile(const std::string& path, OpenMode mode,
                                                         const EmulatorOptions& options) {
  ZENFS_ASSIGN_OR_RETURN(auto store, FileStore::Open(path, mode, options.hostsync));
  EmulatorGeometry geometry = store->geometry();
  geometry.max_copy_bytes = RoundDown(options.max_copy_bytes, geometry.block_size);
  if (store->has_volatile_cache() && options.hostsync) {
    return Fail(Code::kInvalidArgument, fmt::format("{} has a volatile cache, for tests of power loss; "
                                                    "hostsync is only for devices without one: leave it out",
                                                    path));
  }
  EmulatorOptions asked = options;
  // Somebody else's file must not decide how long this process waits: a finish of a huge zone takes minutes.
  const std::optional<DeviceOwner> owner = store->Owner();
  const bool trusted = !owner || owner->IsTrusted();
  const bool ignored = !asked.timing && !trusted && store->timing() != Timing::kNone;
  const std::string_view recorded = TimingName(store->timing());
  if (!asked.timing) asked.timing = trusted ? store->timing() : Timing::kNone;
  if (store->has_volatile_cache()) asked.volatile_cache = true;
  ZENFS_ASSIGN_OR_RETURN(auto device,
                         EmulatedDevice::Create("emu:" + path, geometry, mode, asked, std::move(store)));
  if (ignored) {
    device->AddNotice(
        fmt::format("emu:{} belongs to another user, so the times of {} that it asks for are not kept; "
                    "?timing:{} keeps them",
                    path, recorded, recorded));
  }
  return device;
}

}  // namespace zenfs
