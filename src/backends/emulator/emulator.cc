#include "backends/emulator/emulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "backends/emulator/emulated_device.h"
#include "backends/emulator/file_store.h"
#include "backends/emulator/store.h"
#include "backends/emulator/zone_machine.h"
#include "base/mutex.h"
#include "base/size_text.h"

namespace zenfs {
namespace {

constexpr std::uint32_t kMaxLatencyUs = 10'000'000;
constexpr std::uint32_t kMaxCopyKib = 1 << 20;

Result<std::uint32_t> ParseLatency(std::string_view key, std::string_view value) {
  return ParseNumber(key, value, "microseconds", kMaxLatencyUs);
}

constexpr BackendOption<EmulatorOptions> kOptions[] = {
    {{.key = "timing",
      .form = "timing:NAME",
      .meaning = "the times of a drive, whatever the file's profile is"},
     [](EmulatorOptions& options, std::string_view, std::string_view value) -> Status {
       ZENFS_ASSIGN_OR_RETURN(options.timing, ParseTiming(value));
       return {};
     }},
    {{.key = "latency_us",
      .form = "latency_us:N",
      .meaning = "every command takes N microseconds, at most 10 seconds",
      .for_comparisons = true},
     [](EmulatorOptions& options, std::string_view key, std::string_view value) -> Status {
       ZENFS_ASSIGN_OR_RETURN(const std::uint32_t us, ParseLatency(key, value));
       options.read_us = options.write_us = options.append_us = options.management_us = options.flush_us = us;
       return {};
     }},
    {{.key = "write_us",
      .form = "write_us:N",
      .meaning = "the same for writes and appends; the later one of latency_us and this counts for them",
      .for_comparisons = true},
     [](EmulatorOptions& options, std::string_view key, std::string_view value) -> Status {
       ZENFS_ASSIGN_OR_RETURN(options.write_us, ParseLatency(key, value));
       options.append_us = options.write_us;
       return {};
     }},
    {{.key = "flush_us", .form = "flush_us:N", .meaning = "the same for flushes", .for_comparisons = true},
     [](EmulatorOptions& options, std::string_view key, std::string_view value) -> Status {
       ZENFS_ASSIGN_OR_RETURN(options.flush_us, ParseLatency(key, value));
       return {};
     }},
    {{.key = "copy_kib",
      .form = "copy_kib:N",
      .meaning = "copies inside the device, of at most N KiB; 0: none",
      .for_comparisons = true},
     [](EmulatorOptions& options, std::string_view key, std::string_view value) -> Status {
       ZENFS_ASSIGN_OR_RETURN(const std::uint32_t kib, ParseNumber(key, value, "KiB", kMaxCopyKib));
       options.max_copy_bytes = std::uint64_t{kib} << 10;
       return {};
     }},
    {{.key = "page_cache",
      .form = "page_cache:SIZE",
      .meaning =
          "what the modelled page cache of the host holds (page_cache_model.h), such as 512M; 0: nothing",
      .for_comparisons = true},
     [](EmulatorOptions& options, std::string_view, std::string_view value) -> Status {
       const Result<std::uint64_t> size = ParseSize(value);
       if (!size) return Fail(size.error().With("option page_cache"));
       options.page_cache_bytes = *size;
       return {};
     }},
    {{.key = "warm_cache",
      .form = "warm_cache",
      .meaning = "that cache begins with what is written on the device",
      .for_comparisons = true},
     [](EmulatorOptions& options, std::string_view key, std::string_view value) -> Status {
       ZENFS_ASSIGN_OR_RETURN(options.warm_cache, ParseSwitch(key, value));
       return {};
     }},
    {{.key = "hostsync", .form = "hostsync", .meaning = "a flush is an fdatasync of the file"},
     [](EmulatorOptions& options, std::string_view key, std::string_view value) -> Status {
       ZENFS_ASSIGN_OR_RETURN(options.hostsync, ParseSwitch(key, value));
       return {};
     }},
};

// Blocks in memory, allocated per zone at its first write.
class MemoryStore final : public Store {
 public:
  explicit MemoryStore(const EmulatorGeometry& geometry)
      : geometry_(geometry), states_(geometry.zones), zones_(geometry.zones) {
    const ZoneMachine fresh(geometry);
    for (std::uint32_t i = 0; i < geometry.zones; ++i) states_[i] = fresh.state(ZoneId(i));
  }

  Status Read(ZoneId zone, std::uint64_t offset, ByteSpan into) override {
    const Block block = Find(zone);
    if (block == nullptr) {
      std::memset(into.data(), 0, into.size());
    } else {
      std::memcpy(into.data(), block.get() + offset, into.size());
    }
    return {};
  }
  Status Write(ZoneId zone, std::uint64_t offset, std::span<const ByteView> pieces) override {
    const Block block = FindOrAllocate(zone);
    if (block == nullptr)
      return Fail(Code::kIo, fmt::format("no memory for the data of zone {}", zone.value));
    for (const ByteView piece : pieces) {
      std::memcpy(block.get() + offset, piece.data(), piece.size());
      offset += piece.size();
    }
    return {};
  }
  Status Discard(ZoneId zone) override {
    Block block;  // freed after the lock, because that takes milliseconds
    MutexLock lock(mutex_);
    block.swap(zones_[zone.value]);
    return {};
  }
  Status Clear(ZoneId zone) override { return Discard(zone); }
  Status SaveState(ZoneId zone, MachineZone state) override {
    states_[zone.value] = state;
    return {};
  }
  Status LoadStates(ZoneId first, std::span<MachineZone> into) const override {
    std::copy_n(states_.begin() + first.value, into.size(), into.begin());
    return {};
  }
  std::string Identity() const override { return ""; }
  Status Sync() override { return {}; }

 private:
  // Shared with reads in progress, so that a reset frees no memory that a read still uses.
  using Block = std::shared_ptr<std::byte>;

  Block Find(ZoneId zone) const EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return zones_[zone.value];
  }
  Block FindOrAllocate(ZoneId zone) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    Block& block = zones_[zone.value];
    if (block == nullptr) {
      // calloc takes large blocks from the kernel's zero pages, so parts that are not written cost
      // nothing.
      block = Block(static_cast<std::byte*>(std::calloc(1, geometry_.capacity_of(zone))), &std::free);
    }
    return block;
  }

  const EmulatorGeometry geometry_;
  std::vector<MachineZone> states_;
  mutable Mutex mutex_{LockRank::kLeaf};
  std::vector<Block> zones_ GUARDED_BY(mutex_);
};

}  // namespace

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

std::vector<OptionText> EmulatorOptionTexts() { return TextsOf(kOptions); }

Result<EmulatorOptions> TakeEmulatorOptions(const DeviceOptions& given, DeviceOptions* unclaimed) {
  return TakeOptions(kOptions, given, unclaimed);
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
