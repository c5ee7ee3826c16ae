#include "backends/emulator/emulated_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backends/emulator/page_cache_model.h"
#include "backends/emulator/precise_wait.h"
#include "base/assert.h"
#include "device/request_check.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kClockSeed = 1;    // the same random numbers each time
constexpr std::uint32_t kLocksMax = 4096;  // limits the memory for devices of many zones
constexpr std::uint64_t kSoon = 64 << 10;  // bytes; below this, reading the CPU clock twice costs too much

}  // namespace

// Exists while a command runs. Knows when it is due, counts it if it succeeds, and counts its CPU
// time in any case.
class EmulatedDevice::Command {
 public:
  // A command that transfers data, or a flush.
  Command(EmulatedDevice& device, EmulatorCommand kind, std::uint64_t bytes)
      : Command(device, kind, bytes <= kSoon && !device.Waits(kind)) {}
  Command(EmulatedDevice& device, EmulatorCommand kind) : Command(device, kind, false) {}
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  // The clock's epoch for a command without latency, which is due at once.
  SteadyTime due() const { return due_; }
  void Count(std::uint64_t bytes) {
    AtomicKind& kind = device_.kinds_[static_cast<std::size_t>(kind_)];
    ++kind.commands;
    kind.bytes += bytes;
  }
  // The command succeeded: it takes the time of the profile. A command that fails is due at once.
  void Take(const TimedCommand& timed) {
    if (device_.clock_ == nullptr) return;
    MutexLock lock(device_.clock_mutex_);
    due_ = std::max(due_, device_.clock_->Completion(timed, start_));
  }
  // A transfer succeeded: counts it, and it takes its time.
  void Transferred(TimedCommand::Kind kind, DeviceOffset offset, std::uint64_t bytes) {
    const ZoneId zone = device_.geometry_.ZoneOf(offset);
    Count(bytes);
    Take({kind, zone, bytes, offset - device_.geometry_.ZoneStart(zone)});
  }
  void WaitUntilDue() const {
    if (due_ != SteadyTime{}) WaitPrecisely(due_);
  }
  // The due time of a finish can move while it waits.
  void WaitUntilFinished(ZoneId zone) {
    WaitUntilDue();
    if (device_.clock_ == nullptr) return;
    for (SteadyTime later = Finished(zone); later > due_; later = Finished(zone)) {
      due_ = later;
      WaitUntilDue();
    }
  }

 private:
  Command(EmulatedDevice& device, EmulatorCommand kind, bool ends_soon)
      : device_(device), kind_(kind), cpu_(device.cpu_, ends_soon) {
    if (!device.Waits(kind)) return;
    start_ = SteadyNow();
    const std::uint32_t latency = device.options_.latency_us(kind);
    if (latency != 0) due_ = start_ + std::chrono::microseconds(latency);
  }

  SteadyTime Finished(ZoneId zone) {
    MutexLock lock(device_.clock_mutex_);
    return device_.clock_->FinishCompletion(zone, due_);
  }

  EmulatedDevice& device_;
  const EmulatorCommand kind_;
  const CpuMeter::Span cpu_;
  SteadyTime start_{};
  SteadyTime due_{};
};

// A command is executed when it is submitted and completes when its latency has passed.
class EmulatedDevice::Queue final : public IoQueue {
 public:
  Queue(EmulatedDevice& device, std::size_t depth) : device_(device) {
    waiting_.reserve(depth);
    device_.queues_.fetch_add(1);
  }
  ~Queue() override {
    if (!waiting_.empty()) device_.WaitUntil(waiting_.back().due);
    device_.queues_.fetch_sub(1);
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  void Submit(IoRequest* request) override {
    const SteadyTime due = device_.Start(*request);
    const auto later = std::upper_bound(waiting_.begin(), waiting_.end(), due,
                                        [](SteadyTime when, const Entry& entry) { return when < entry.due; });
    waiting_.insert(later, Entry{due, request});
  }
  void Reap(std::size_t min_count, std::vector<IoRequest*>& done) override {
    if (waiting_.empty()) return;
    const std::size_t wanted = std::min(min_count, waiting_.size());
    if (waiting_.back().due == SteadyTime{}) {  // without latencies: completes without reading the clock
      for (const Entry& entry : waiting_) done.push_back(entry.request);
      waiting_.clear();
      return;
    }
    if (wanted != 0) device_.WaitUntil(waiting_[wanted - 1].due);
    const SteadyTime now = SteadyNow();
    const auto end = std::find_if(waiting_.begin() + static_cast<std::ptrdiff_t>(wanted), waiting_.end(),
                                  [now](const Entry& entry) { return entry.due > now; });
    std::for_each(waiting_.begin(), end, [&done](const Entry& entry) { done.push_back(entry.request); });
    waiting_.erase(waiting_.begin(), end);
  }
  std::size_t in_flight() const override { return waiting_.size(); }
  bool overlaps() const override { return device_.ReadsWait(); }

 private:
  struct Entry {
    SteadyTime due;
    IoRequest* request;
  };

  EmulatedDevice& device_;
  std::vector<Entry> waiting_;  // sorted by due time, then by submission
};

// The host's cache of an emulated device. Where reads take no device time, the file is memory already, and a read is one call of
// the host. Otherwise a model says what a host's page cache would hold, and the rest takes the device's time.
//
// In a reader the model does not learn of the writer's resets: the bytes are always those of the device, but a page of a zone
// that was written again may cost no time.
//
// Threads: any.
class EmulatedDevice::Cache final : public HostCache {
 public:
  Cache(EmulatedDevice& device, std::uint32_t zones, std::uint64_t capacity_bytes)
      : device_(device), model_(zones, capacity_bytes) {}

  void Read(std::span<CachedRead> reads) override EXCLUDES(mutex_) {
    const bool waits = device_.ReadsWait();
    SteadyTime due{};
    for (CachedRead& read : reads) {
      read.status = device_.ReadBytes(read.offset, read.into);
      if (waits && read.status.ok()) due = std::max(due, Fetch(read.offset, read.into.size()));
    }
    if (waits) device_.WaitUntil(due);
  }
  void Advise(DeviceOffset offset, std::uint64_t length, CacheAdvice advice) override EXCLUDES(mutex_) {
    const Geometry& geometry = device_.geometry();
    const ZoneId zone = geometry.ZoneOf(offset);
    if (zone.value >= geometry.zone_count || !device_.ReadsWait()) return;
    if (advice == CacheAdvice::kWillNeed) {
      static_cast<void>(Fetch(offset, length));
      return;
    }
    const std::uint64_t begin = offset - geometry.ZoneStart(zone);
    MutexLock lock(mutex_);
    model_.Drop(zone, begin, begin + length);
  }
  // Fills the empty cache with what is written in `zones`, until it is full.
  void Warm(std::span<const ZoneInfo> zones) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    for (const ZoneInfo& zone : zones) {
      const std::uint64_t room = model_.free_bytes();
      if (room == 0) return;
      model_.Fill(zone.id, {0, std::min(room, zone.WrittenBytes())}, {});
    }
  }
  void DropZone(ZoneId zone) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    model_.DropZone(zone);
  }

 private:
  // Returns when the range is there.
  SteadyTime Fetch(DeviceOffset offset, std::uint64_t length) EXCLUDES(mutex_) {
    const Geometry& geometry = device_.geometry();
    const ZoneId zone = geometry.ZoneOf(offset);
    const std::uint64_t begin = offset - geometry.ZoneStart(zone);
    PageCacheModel::Found found;
    {
      MutexLock lock(mutex_);
      found = model_.Use(zone, begin, begin + length);
    }
    for (const PageCacheModel::Run& run : found.missing) {
      const SteadyTime due = device_.TimeRead(zone, run.begin, run.end - run.begin);
      found.ready = std::max(found.ready, due);
      MutexLock lock(mutex_);
      model_.Fill(zone, run, due);
    }
    return found.ready;
  }

  EmulatedDevice& device_;
  Mutex mutex_{LockRank::kDeviceState};
  PageCacheModel model_ GUARDED_BY(mutex_);
};

EmulatedDevice::EmulatedDevice(std::string name, const EmulatorGeometry& geometry, OpenMode mode,
                               const EmulatorOptions& options, std::unique_ptr<Store> store)
    : name_(std::move(name)),
      identity_(store->Identity()),
      geometry_(ToDeviceGeometry(geometry, options.volatile_cache, store->has_volatile_cache())),
      capacity_(geometry.capacity()),
      mode_(mode),
      options_(options),
      store_(std::move(store)),
      lock_count_(std::min(geometry.zones, kLocksMax)),
      zone_locks_(std::make_unique<ZoneLock[]>(lock_count_)),
      machine_(geometry),
      cache_(store_->has_volatile_cache() ? std::make_unique<VolatileCache>(*store_, geometry) : nullptr),
      clock_(MakeDeviceClock(options.timing.value_or(Timing::kNone), geometry.zones, geometry.zone_size,
                             kClockSeed)),
      host_cache_(std::make_unique<Cache>(*this, geometry.zones,
                                          options.page_cache_bytes.value_or(DefaultPageCacheBytes()))) {}

EmulatedDevice::~EmulatedDevice() { ZENFS_ASSERT(queues_.load() == 0); }

HostCache* EmulatedDevice::host_cache() { return host_cache_.get(); }

Result<std::unique_ptr<EmulatedDevice>> EmulatedDevice::Create(std::string name,
                                                               const EmulatorGeometry& geometry,
                                                               OpenMode mode, const EmulatorOptions& options,
                                                               std::unique_ptr<Store> store) {
  std::unique_ptr<EmulatedDevice> device(
      new EmulatedDevice(std::move(name), geometry, mode, options, std::move(store)));
  {
    MutexLock lock(device->mutex_);
    ZENFS_RETURN_IF_ERROR(device->Refresh(ZoneId(0), geometry.zones));
  }
  if (options.warm_cache && device->ReadsWait()) {
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> zones, device->Report(ZoneId(0), geometry.zones));
    device->host_cache_->Warm(zones);
  }
  return device;
}

Result<std::vector<ZoneInfo>> EmulatedDevice::Report(ZoneId first, std::uint32_t count) {
  ZENFS_RETURN_IF_ERROR(CheckZoneRange(name_, geometry_, first, count));
  std::vector<ZoneInfo> zones;
  zones.reserve(count);
  ZENFS_RETURN_IF_ERROR(store_->Check());
  MutexLock lock(mutex_);
  if (mode_ == OpenMode::kReadOnly) ZENFS_RETURN_IF_ERROR(Refresh(first, count));
  for (std::uint32_t i = 0; i < count; ++i) zones.push_back(machine_.Info(ZoneId(first.value + i)));
  return zones;
}

Status EmulatedDevice::Read(DeviceOffset offset, ByteSpan into) {
  Command command(*this, EmulatorCommand::kRead, into.size());
  const Status status = DoRead(command, offset, into);
  command.WaitUntilDue();
  return status;
}

Status EmulatedDevice::Write(DeviceOffset offset, std::span<const ByteView> pieces) {
  std::uint64_t bytes = 0;
  for (const ByteView piece : pieces) bytes += piece.size();
  Command command(*this, EmulatorCommand::kWrite, bytes);
  const Status status = DoWrite(command, offset, pieces, bytes);
  command.WaitUntilDue();
  return status;
}

Result<DeviceOffset> EmulatedDevice::Append(ZoneId zone, ByteView bytes) {
  Command command(*this, EmulatorCommand::kAppend, bytes.size());
  Result<DeviceOffset> place = DoAppend(command, zone, bytes);
  command.WaitUntilDue();
  return place;
}

Status EmulatedDevice::Reset(ZoneId zone) {
  return Manage(TimedCommand::Kind::kReset, zone, &ZoneMachine::Reset);
}
Status EmulatedDevice::Finish(ZoneId zone) {
  return Manage(TimedCommand::Kind::kFinish, zone, &ZoneMachine::Finish);
}
Status EmulatedDevice::Open(ZoneId zone) {
  return Manage(TimedCommand::Kind::kOpen, zone, &ZoneMachine::Open);
}
Status EmulatedDevice::Close(ZoneId zone) {
  return Manage(TimedCommand::Kind::kClose, zone, &ZoneMachine::Close);
}
Status EmulatedDevice::OpenRandom(ZoneId zone) {
  return Manage(TimedCommand::Kind::kOpen, zone, [&](ZoneMachine& machine, ZoneId) -> Status {
    // The area must read as zeros, but a host that can't punch holes keeps the blocks of a reset zone.
    if (machine.state(zone).condition == ZoneCondition::kEmpty) ZENFS_RETURN_IF_ERROR(store_->Clear(zone));
    return machine.OpenRandom(zone);
  });
}
Status EmulatedDevice::CommitRandom(DeviceOffset to) {
  ZENFS_ASSIGN_OR_RETURN(const ZoneId zone, CheckCommit(name_, geometry_, to));
  const std::uint64_t block = (to - geometry_.ZoneStart(zone)) / geometry_.block_size;
  return Manage(TimedCommand::Kind::kOpen, zone,
                [&](ZoneMachine& machine, ZoneId) { return machine.CommitRandom(zone, block); });
}

Status EmulatedDevice::Flush() {
  Command command(*this, EmulatorCommand::kFlush, /*bytes=*/std::uint64_t{0});
  ZENFS_RETURN_IF_ERROR(CheckWritableDevice());
  std::vector<VolatileCache::Mark> marks;
  if (HasCache()) {
    MutexLock lock(mutex_);
    marks = cache_->BeginFlush(machine_);
  }
  const Status status = store_->Sync();
  if (status.ok()) {
    command.Count(0);
    command.Take({TimedCommand::Kind::kFlush, ZoneId(0), 0});
  }
  command.WaitUntilDue();
  if (!HasCache() || !status.ok()) return status;
  // Not earlier: a power cut before the flush is acknowledged may lose the blocks that it was to
  // make durable.
  MutexLock lock(mutex_);
  return cache_->EndFlush(marks, machine_);
}

std::unique_ptr<IoQueue> EmulatedDevice::CreateQueue(std::size_t depth) {
  return std::make_unique<Queue>(*this, depth);
}

SteadyTime EmulatedDevice::Start(IoRequest& request) {
  switch (request.kind) {
    case IoRequest::Kind::kRead: {
      Command command(*this, EmulatorCommand::kRead, request.read_into.size());
      request.status = DoRead(command, request.offset, request.read_into);
      return command.due();
    }
    case IoRequest::Kind::kWrite: {
      Command command(*this, EmulatorCommand::kWrite, request.write_from.size());
      request.status =
          DoWrite(command, request.offset, std::span(&request.write_from, 1), request.write_from.size());
      return command.due();
    }
    case IoRequest::Kind::kAppend: {
      Command command(*this, EmulatorCommand::kAppend, request.write_from.size());
      const ZoneId zone = geometry_.ZoneOf(request.offset);
      const Result<DeviceOffset> place =
          request.offset == geometry_.ZoneStart(zone)
              ? DoAppend(command, zone, request.write_from)
              : Fail(Code::kInvalidArgument, fmt::format("{}: append to {}, which is not the start of a zone",
                                                         name_, request.offset.value));
      request.status = place ? Status{} : Fail(place.error());
      if (place) request.placed_at = *place;
      return command.due();
    }
  }
  return {};
}

void EmulatedDevice::WaitUntil(SteadyTime when) {
  if (when == SteadyTime{} || when <= SteadyNow()) return;
  const CpuMeter::Span cpu(cpu_, /*ends_soon=*/false);
  WaitPrecisely(when);
}

SteadyTime EmulatedDevice::TimeRead(ZoneId zone, std::uint64_t offset, std::uint64_t bytes) {
  Command command(*this, EmulatorCommand::kRead, bytes);
  command.Count(bytes);
  command.Take({TimedCommand::Kind::kRead, zone, bytes, offset});
  return command.due();
}

Status EmulatedDevice::DoRead(Command& command, DeviceOffset offset, ByteSpan into) {
  ZENFS_RETURN_IF_ERROR(CheckOffset(name_, geometry_, "read", offset));
  ZENFS_RETURN_IF_ERROR(CheckBuffer(name_, geometry_, "read", into));
  ZENFS_RETURN_IF_ERROR(ReadBytes(offset, into));
  command.Transferred(TimedCommand::Kind::kRead, offset, into.size());
  return {};
}

std::uint64_t EmulatedDevice::KnownZeros(DeviceOffset from, std::uint64_t length) {
  const ZoneId zone = geometry_.ZoneOf(from);
  if (length == 0 || !CheckZoneId(name_, geometry_, zone).ok()) return 0;
  const std::uint64_t in_zone = from - geometry_.ZoneStart(zone);
  length = std::min(length, geometry_.size_bytes() - from.value);
  {
    MutexLock lock(mutex_);
    if (mode_ == OpenMode::kReadOnly && !Refresh(zone, 1).ok()) return 0;
    const MachineZone state = machine_.state(zone);
    if (state.condition == ZoneCondition::kOffline) return 0;
    // Here a read gives zeros, or is refused, whatever the file has, and also if the file was shortened.
    const bool has_pointer = state.condition != ZoneCondition::kNotWritePointer && !state.random_area;
    if (has_pointer && in_zone >= state.written * geometry_.block_size)
      return std::min(length, geometry_.zone_size - in_zone);
  }
  return RoundDown(store_->KnownZeros(zone, in_zone, length), geometry_.block_size);
}

Status EmulatedDevice::ReadBytes(DeviceOffset offset, ByteSpan into) {
  const ZoneId zone = geometry_.ZoneOf(offset);
  ZENFS_RETURN_IF_ERROR(CheckZoneId(name_, geometry_, zone));
  const std::uint64_t in_zone = offset - geometry_.ZoneStart(zone);
  const std::uint64_t first = in_zone / geometry_.block_size;
  const std::uint64_t skip = in_zone % geometry_.block_size;
  std::uint64_t stored = 0;
  bool replaceable = false;
  {
    MutexLock lock(mutex_);
    if (mode_ == OpenMode::kReadOnly) ZENFS_RETURN_IF_ERROR(Refresh(zone, 1));
    const auto blocks = machine_.CheckRead(
        zone, first, RoundUp(skip + into.size(), geometry_.block_size) / geometry_.block_size);
    if (!blocks) return Fail(blocks.error().With(name_));
    stored = std::min<std::uint64_t>(*blocks * geometry_.block_size, skip + into.size());
    stored -= std::min(stored, skip);
    replaceable = machine_.state(zone).random_area;
  }
  std::ranges::fill(into.subspan(stored), std::byte{0});
  if (stored == 0) return {};
  if (!replaceable) return store_->Read(zone, in_zone, into.first(stored));
  // A drive reads a block before or after a write of it, not in the middle.
  MutexLock zone_lock(LockOf(zone));
  return store_->Read(zone, in_zone, into.first(stored));
}

Status EmulatedDevice::DoWrite(Command& command, DeviceOffset offset, std::span<const ByteView> pieces,
                               std::uint64_t bytes) {
  ZENFS_RETURN_IF_ERROR(CheckWritableDevice());
  ZENFS_RETURN_IF_ERROR(CheckOffset(name_, geometry_, "write", offset));
  for (const ByteView piece : pieces) {
    ZENFS_RETURN_IF_ERROR(CheckBuffer(name_, geometry_, "write", piece));
  }
  const ZoneId zone = geometry_.ZoneOf(offset);
  const std::uint64_t in_zone = offset - geometry_.ZoneStart(zone);
  const std::uint64_t blocks = bytes / geometry_.block_size;
  {
    MutexLock zone_lock(LockOf(zone));
    {
      MutexLock lock(mutex_);
      const Status begun = machine_.BeginWrite(zone, in_zone / geometry_.block_size, blocks);
      ZENFS_RETURN_IF_ERROR(SaveChanges());
      if (!begun.ok()) return Fail(begun.error().With(name_));
    }
    ZENFS_RETURN_IF_ERROR(store_->Write(zone, in_zone, pieces));
    MutexLock lock(mutex_);
    ZENFS_RETURN_IF_ERROR(Commit(zone, in_zone / geometry_.block_size, blocks));
  }
  command.Transferred(TimedCommand::Kind::kWrite, offset, bytes);
  return {};
}

Result<DeviceOffset> EmulatedDevice::DoAppend(Command& command, ZoneId zone, ByteView bytes) {
  ZENFS_RETURN_IF_ERROR(CheckWritableDevice());
  ZENFS_RETURN_IF_ERROR(CheckZoneId(name_, geometry_, zone));
  ZENFS_RETURN_IF_ERROR(CheckBuffer(name_, geometry_, "append", bytes));
  if (bytes.size() > geometry_.max_append_bytes) {
    return Fail(Code::kInvalidArgument, fmt::format("{}: append of {} bytes, the device takes at most {}",
                                                    name_, bytes.size(), geometry_.max_append_bytes));
  }
  const std::uint64_t blocks = bytes.size() / geometry_.block_size;
  DeviceOffset place;
  {
    MutexLock zone_lock(LockOf(zone));
    std::uint64_t in_zone = 0;
    {
      MutexLock lock(mutex_);
      const auto block = machine_.BeginAppend(zone, blocks);
      ZENFS_RETURN_IF_ERROR(SaveChanges());
      if (!block) return Fail(block.error().With(name_));
      in_zone = *block * geometry_.block_size;
    }
    ZENFS_RETURN_IF_ERROR(store_->Write(zone, in_zone, std::span(&bytes, 1)));
    place = geometry_.ZoneStart(zone) + in_zone;
    MutexLock lock(mutex_);
    ZENFS_RETURN_IF_ERROR(Commit(zone, in_zone / geometry_.block_size, blocks));
  }
  command.Transferred(TimedCommand::Kind::kAppend, place, bytes.size());
  return place;
}

Status EmulatedDevice::Manage(TimedCommand::Kind kind, ZoneId zone, const Management& manage) {
  Command command(*this, EmulatorCommand::kManagement);
  ZENFS_RETURN_IF_ERROR(CheckWritableDevice());
  ZENFS_RETURN_IF_ERROR(CheckZoneId(name_, geometry_, zone));
  TimedCommand timed;
  Status status;
  {
    MutexLock zone_lock(LockOf(zone));
    bool emptied = false;
    {
      MutexLock lock(mutex_);
      const MachineZone before = machine_.state(zone);
      timed = TimedManagement(kind, zone, before.condition, before.written * geometry_.block_size, capacity_);
      status = manage(machine_, zone);
      if (const Status saved = SaveChanges(); !saved.ok()) status = saved;
      emptied = !machine_.changed().empty() && machine_.state(zone).condition == ZoneCondition::kEmpty;
      if (status.ok() && emptied && HasCache()) status = cache_->Reset(zone);  // order: file_store.h
    }
    if (emptied) host_cache_->DropZone(zone);
    if (status.ok() && emptied) status = store_->Discard(zone);
  }
  if (status.ok()) {
    command.Count(0);
    command.Take(timed);
  }
  if (status.ok() && kind == TimedCommand::Kind::kFinish) {
    command.WaitUntilFinished(zone);
  } else {
    command.WaitUntilDue();
  }
  return status.ok() ? Status{} : Fail(status.error().With(name_));
}

EmulatorMeter EmulatedDevice::meter() const {
  EmulatorMeter meter;
  for (std::size_t i = 0; i < kEmulatorCommands; ++i) {
    meter.kinds[i] = {kinds_[i].commands.load(), kinds_[i].bytes.load()};
  }
  meter.cpu_ns = cpu_.nanoseconds();
  meter.metered = cpu_.spans();
  return meter;
}

Status EmulatedDevice::SetCondition(ZoneId zone, ZoneCondition condition) {
  ZENFS_RETURN_IF_ERROR(CheckWritableDevice());
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(machine_.SetCondition(zone, condition));
  return SaveChanges();
}

Status EmulatedDevice::CheckWritableDevice() const {
  if (mode_ == OpenMode::kExclusive) return store_->Check();
  return Fail(Code::kReadOnly, fmt::format("{} is open read-only", name_));
}

Status EmulatedDevice::Refresh(ZoneId first, std::uint32_t count) {
  std::array<MachineZone, 256> states;
  for (std::uint32_t at = first.value, end = at + count; at < end;) {
    const std::span some(states.data(), std::min<std::size_t>(states.size(), end - at));
    ZENFS_RETURN_IF_ERROR(store_->LoadStates(ZoneId(at), some));
    for (const MachineZone& state : some) {
      const ZoneId zone(at++);
      const Status restored = machine_.Restore(zone, state);
      if (!restored.ok()) return Fail(restored.error().With(name_));
      // Blocks that the previous process wrote may still be in the cache.
      if (HasCache() && mode_ == OpenMode::kExclusive) ZENFS_RETURN_IF_ERROR(cache_->Found(zone, machine_));
    }
  }
  return {};
}

Status EmulatedDevice::SaveChanges() {
  for (const ZoneId zone : machine_.changed()) {
    ZENFS_RETURN_IF_ERROR(store_->SaveState(zone, machine_.state(zone)));
    if (HasCache()) cache_->Changed(zone, machine_.state(zone));
  }
  return {};
}

Status EmulatedDevice::Commit(ZoneId zone, std::uint64_t block, std::uint64_t blocks) {
  machine_.CommitWrite(zone, block, blocks);
  ZENFS_RETURN_IF_ERROR(SaveChanges());
  if (HasCache()) cache_->WroteArea(zone, machine_.state(zone), block, blocks);
  return {};
}

}  // namespace zenfs
