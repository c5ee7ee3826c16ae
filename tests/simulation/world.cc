#include "world.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "aside/asides.h"
#include "crash/verify.h"
#include "crowd.h"
#include "device/joined_device.h"
#include "questions.h"
#include "world/allowed_errors.h"
#include "world/memory_images.h"
#include "world/shared_memory_files.h"

namespace zenfs {
namespace {

constexpr char kIdentity[] = "simulated";

class World {
 public:
  World(const Plan& plan, const Selection& selection, Outcome& outcome)
      : plan_(plan), selection_(selection), outcome_(outcome), crowd_(plan, selection, outcome) {}

  void Run() {
    std::string why = Start();
    for (std::uint32_t i = 0; i < plan_.rounds.size() && why.empty(); ++i) why = RunRound(i);
    outcome_.failure = std::move(why);
    if (!outcome_.failure.empty()) outcome_.history = earlier_ + crowd_.Histories();
    Drop();
  }

 private:
  const Round& round() const { return plan_.rounds[round_number_]; }
  bool is_last_round() const { return round_number_ + 1 == plan_.rounds.size(); }

  std::unique_ptr<CrashDevice> MakeDevice() const;
  std::string Start();
  std::string LeaveForeignMemory();
  std::string RunRound(std::uint32_t number);
  std::string Mount();
  std::string End();
  std::string LookAtCrash();
  bool NothingIsLost(LossPolicy loss) const;
  void Take(std::unique_ptr<CrashDevice> device);
  std::string Verify(CrashDevice& image, CrashKind kind, const VerifyOptions& options);
  std::string Look(LossPolicy loss, const std::string& where);
  std::string LookAtSharedMemory();
  std::string LookAside();
  std::string CrashRecoveries(std::unique_ptr<CrashDevice>& image, bool& power_was_lost);
  std::string GoOn();
  MountOptions Options() const;
  // True if a mount may have notices: zones went bad, or the device lost flushed data that shared
  // memory continues.
  bool MayTell(bool power_was_lost) const {
    return plan_.HasFaults() || (power_was_lost && shared_memory_.has_value());
  }
  // A mount copies frames out of sync blocks; the zone that is kept for them may have died.
  bool MayLackRoomToMount() const {
    return plan_.HasFaults() && (plan_.geometry.random_area != 0 || !Asks(Question::kFullMountWithBadZones));
  }
  VerifyOptions Allowed(const MountOptions& mount, bool notices) const {
    return {.mount = mount,
            .allow_notices = notices,
            .allow_no_space = plan_.HasFaults(),
            .allow_no_mount = MayLackRoomToMount(),
            .frees = plan_.ManyLogs() && !plan_.HasFaults(),
            .allow_full = plan_.Fills(),
            .allow_unsummed = MayReadFailWith(plan_.faults, Code::kIo)};
  }
  void Drop();

  const Plan& plan_;
  const Selection& selection_;
  Outcome& outcome_;
  std::uint32_t round_number_ = 0;
  std::optional<SharedMemoryFiles> shared_memory_;
  SharedMemoryFiles::Contents left_in_memory_;
  std::optional<SharedMemoryFiles::Contents> at_death_;  // contents when the device stopped
  SharedMemoryFiles::Contents left_earlier_;             // left by the previous round
  SharedMemoryFiles::Contents foreign_;                  // left by a mount of another volume
  std::unique_ptr<SimDevice> device_;
  std::shared_ptr<Volume> volume_;
  Crowd crowd_;
  SimDevice::Spared spared_;
  std::vector<ZoneId> in_two_zones_;   // the metadata zones, if each frame is written to two of them
  std::unique_ptr<CrashDevice> copy_;  // of all devices, from round `copied_in_`
  std::uint32_t copied_in_ = 0;
  std::string earlier_;  // history of the clients of earlier rounds
  bool unmounted_ = false;
};

MountOptions World::Options() const {
  MountOptions options;
  options.flush_directory = shared_memory_ ? shared_memory_->directory() : "none";
  options.append_buffers = plan_.append_buffers;
  options.wal_buffer_bytes = plan_.wal_buffer_bytes;
  options.spread = plan_.spread;
  options.wal = plan_.wal;
  options.wal_depth = plan_.wal_depth;
  // A machine that stalls for a tenth of a second every 50 steps takes longer than 30 s for a victim.
  if (plan_.Fills() && !plan_.ManyLogs()) options.space_wait = std::chrono::minutes(10);
  // Files are small. With small buffers, their bytes also reach zones before a flush or sync.
  if (plan_.seed / 6 % 2 == 1) options.plain_buffer_bytes = 2 * plan_.geometry.block_size;
  if (plan_.seed / 12 % 3 == 1) options.spread = 3;
  return options;
}

// Destroys handles before the volume, and the volume before the device.
void World::Drop() {
  crowd_.Leave();
  volume_.reset();
}

std::unique_ptr<CrashDevice> World::MakeDevice() const {
  auto device = std::make_unique<CrashDevice>(plan_.geometry);
  if (plan_.shared_memory) device->SetIdentity(kIdentity);
  if (plan_.zeros) device->ShowZeros();
  if (plan_.log_zones != 0) device->SplitLogs(plan_.log_zones, plan_.log_max_active);
  return device;
}

std::string World::Start() {
  if (plan_.shared_memory) {
    auto files = SharedMemoryFiles::Create();
    if (!files) return files.error().ToString();
    shared_memory_.emplace(*std::move(files));
    if (std::string why = LeaveForeignMemory(); !why.empty()) return why;
  }
  device_ = std::make_unique<SimDevice>(MakeDevice(), plan_.seed);
  const auto formatted = FormatBorrowed(*device_);
  if (!formatted) return "mkfs: " + formatted.error().ToString();
  const std::vector<ZoneId>& metadata = formatted->metadata_zones;
  if (formatted->metadata_copies == 2) in_two_zones_ = metadata;
  // One of three metadata zones may turn read-only: with a single zone left, a log switch has no
  // target zone. No metadata zone may turn offline: nobody would know whether it held the newest
  // commits, and a mount after a crash in a log switch would report that.
  spared_ = {.turning_bad = {metadata.begin() + 1, metadata.end()},
             .turning_offline = {metadata.begin(), metadata.end()}};
  // With two copies, any one metadata zone may die, at any moment. Other failed commands make the log leave zones for the rest
  // of a mount, until it has one copy; then the same holds as for three zones.
  const SimFaults& faults = plan_.faults;
  const bool only_zones_fail = faults.write_error == 0 && faults.write_short == 0 &&
                               faults.write_unknown == 0 && faults.flush_error == 0 &&
                               faults.flush_loses == 0 && faults.reset_error == 0 &&
                               faults.finish_error == 0 && faults.report_error == 0;
  if (!in_two_zones_.empty() && only_zones_fail && Asks(Question::kMetadataZoneDies))
    spared_ = {.one_may_die = {metadata.begin(), metadata.end()}};
  // Of the two zones of the pair key, the last ones of the device, one may turn read-only.
  if (plan_.log_zones != 0) {
    const ZoneId first(plan_.geometry.zones - kPairZones), second(plan_.geometry.zones - 1);
    spared_.turning_bad.insert(second);
    spared_.turning_offline.insert({first, second});
  }
  device_->Spare(spared_);
  return {};
}

// Creates append buffers of another volume, left by a process that died, for a device with the same
// identity.
std::string World::LeaveForeignMemory() {
  const std::unique_ptr<CrashDevice> made_device = MakeDevice();
  CrashDevice& device = *made_device;
  if (const Status made = Mkfs(device); !made.ok())
    return "mkfs of another volume: " + made.error().ToString();
  auto mounted = MountBorrowed(device, Options());
  if (!mounted) return "mount of another volume: " + mounted.error().ToString();
  Client client(*std::move(mounted), plan_.seed);
  client.Create("log", "000001.log");
  client.Append("log", 100);
  client.Flush("log");
  device.StopAfter(device.commands());
  client.DropHandles();
  foreign_ = shared_memory_->Read();
  return client.error();
}

// A mount may fail because of a fault, but not because of faults that an earlier mount met.
std::string World::Mount() {
  device_->SetFaults(round_number_ == 0 ? SimFaults() : plan_.faults);
  auto mounted = MountBorrowed(*device_, Options());
  device_->SetFaults({});
  if (!mounted && plan_.HasFaults() && MayMountFailWith(plan_.faults, mounted.error().code())) {
    // Shows what a failed flush lost: the next mount could not find out in another way.
    if (device_->crash_device().dropped()) Take(device_->crash_device().Image(LossPolicy::KeepAll()));
    mounted = MountBorrowed(*device_, Options());
    if (!mounted && mounted.error().code() == Code::kNoSpace && MayLackRoomToMount()) {
      MountOptions without = Options();  // for a device full of logs, as in VerifyImage
      without.discard_unsynced = true;
      mounted = MountBorrowed(*device_, without);
    }
  }
  if (!mounted) return "mount: " + mounted.error().ToString();
  volume_ = *std::move(mounted);
  return {};
}

// Ends the round: with a clean unmount, or with the death of the process.
std::string World::End() {
  CrashDevice& device = device_->crash_device();
  unmounted_ = false;
  std::string why;
  // A client that met a fault has a call with an unknown outcome; an unmount would decide that
  // outcome.
  if (round().unmounts && crowd_.all_well() && !device.stopped()) {
    crowd_.BeginUnmount();
    const Status unmounted = volume_->Unmount();
    unmounted_ = unmounted.ok();
    crowd_.Unmounted(unmounted);
    if (!unmounted.ok() && !device.stopped() &&
        !(unmounted.error().code() == Code::kNoSpace && (plan_.HasFaults() || plan_.Fills())) &&
        !MayFailWith(plan_.faults, unmounted.error().code()))
      why = fmt::format("an unmount fails, and nothing was wrong ({}): {}",
                        CodeName(unmounted.error().code()), unmounted.error().ToString());
  }
  if (shared_memory_ && !unmounted_ && !device.stopped()) at_death_ = shared_memory_->Read();
  device.OnStop(nullptr);
  device.StopAfter(device.commands());
  crowd_.DropHandles();
  volume_.reset();
  // A process that dies runs no cleanup.
  if (shared_memory_) left_in_memory_ = !unmounted_ && at_death_ ? *at_death_ : shared_memory_->Read();
  return why;
}

std::string World::RunRound(std::uint32_t number) {
  round_number_ = number;
  const std::string where = fmt::format("round {}: ", number);
  if (std::string why = Mount(); !why.empty()) return where + why;
  std::optional<FoundTree> durable;
  if (BytesWait(*volume_)) {
    MountOptions without = Options();
    without.flush_directory = "none";
    auto found = FindDurable(*device_->crash_device().Image(LossPolicy::LoseAll()), without);
    if (!found) return where + "without shared memory: " + found.error().ToString();
    durable = *std::move(found);
  }
  if (std::string why = crowd_.Meet(volume_, durable ? &*durable : nullptr, number,
                                    [this] { return device_->crash_device().stopped(); });
      !why.empty())
    return where + why;
  CrashDevice& device = device_->crash_device();
  const std::uint64_t begin = device.commands();
  std::uint64_t crash_after = round().crash_after;
  if (is_last_round() && selection_.crash_after) crash_after = *selection_.crash_after;
  if (crash_after < UINT64_MAX / 2) device.StopAfter(begin + crash_after);
  at_death_.reset();
  if (shared_memory_) device.OnStop([this] { at_death_ = shared_memory_->Read(); });
  device_->SetFaults(plan_.faults);
  if (plan_.copied_at) {
    crowd_.OnStep([this](const StepId& step) {
      if (step != *plan_.copied_at) return;
      copy_ = device_->crash_device().Image(LossPolicy::KeepAll());
      copied_in_ = step.round;
    });
  }
  crowd_.Work(*device_);
  outcome_.last_round_commands = device.commands() - begin;
  if (std::string why = crowd_.WhyEnded(device.stopped()); !why.empty()) return where + why;
  if (std::string why = End(); !why.empty()) return where + why;
  outcome_.commands += device.commands();
  outcome_.faults += device_->faults_met();
  if (std::string why = LookAtCrash(); !why.empty()) return where + why;
  if (std::string why = LookAside(); !why.empty()) return where + why;
  if (is_last_round()) return {};
  if (std::string why = GoOn(); !why.empty()) return where + why;
  return {};
}

// If the drive lost flushed data, images must be checked as after a power loss.
bool World::NothingIsLost(LossPolicy loss) const {
  return loss.kind == LossPolicy::Kind::kKeepAll && !device_->crash_device().dropped();
}

std::string World::Verify(CrashDevice& image, CrashKind kind, const VerifyOptions& options) {
  SimScheduler::Running()->NoteProgress();
  return VerifyImage(image, kind, crowd_.Expectations(), options);
}

std::string World::Look(LossPolicy loss, const std::string& where) {
  ++outcome_.crashes;
  const bool died = NothingIsLost(loss);
  const auto image = device_->crash_device().Image(loss);
  if (shared_memory_) shared_memory_->Replace(left_in_memory_);
  const std::string why = Verify(*image, died ? CrashKind::kProcessDied : CrashKind::kPowerLost,
                                 Allowed(Options(), MayTell(!died)));
  return why.empty() ? why : fmt::format("{}, {}: {}", where, Describe(loss), why);
}

std::string World::LookAtCrash() {
  const std::string where = unmounted_ ? "after a clean unmount" : "after a crash";
  for (const LossPolicy loss :
       {LossPolicy::LoseAll(), LossPolicy::KeepAll(), LossPolicy::Random(round().loss_seed + 1)}) {
    if (plan_.ManyLogs() && loss.kind == LossPolicy::Kind::kRandom) continue;  // they take long
    if (std::string why = Look(loss, where); !why.empty()) return why;
  }
  if (shared_memory_ && (!plan_.ManyLogs() || is_last_round())) return LookAtSharedMemory();
  return {};
}

std::string World::LookAside() {
  if (plan_.HasFaults()) return {};  // they would answer some of the questions
  const bool has_copy = copy_ != nullptr && copied_in_ < round_number_;
  return WhyNotAside({.seed = round().loss_seed + 3,
                      .device = device_->crash_device(),
                      .copy = has_copy ? copy_.get() : nullptr,
                      .metadata_zones = in_two_zones_,
                      .mount = Options(),
                      .shared_memory = shared_memory_.has_value(),
                      .expected = crowd_.Expectations(),
                      .readers_show = crowd_.ReadersShow(),
                      .prepare = [this] {
                        SimScheduler::Running()->NoteProgress();
                        if (shared_memory_) shared_memory_->Replace(left_in_memory_);
                      }});
}

// The host lost power, or another program changed the files: flushed data may be lost, synced data
// not.
std::string World::LookAtSharedMemory() {
  Random random(round().loss_seed);
  for (const auto& [what, contents] : MemoryImages(left_in_memory_, left_earlier_, foreign_, random)) {
    shared_memory_->Replace(contents);
    ++outcome_.crashes;
    const auto image = device_->crash_device().Image(LossPolicy::KeepAll());
    MountOptions options = Options();
    if (auto mounted = MountBorrowed(*image, options); mounted) {
      IgnoreError((*mounted)->Unmount());  // the volume is examined below
    } else if (mounted.error().ToString().find(shared_memory_->directory()) == std::string::npos) {
      return what + ": a mount fails and does not say where: " + mounted.error().ToString();
    }
    shared_memory_->Replace(contents);
    options.discard_unsynced = true;
    const std::string why = Verify(*image, CrashKind::kPowerLost, Allowed(options, true));
    if (!why.empty()) return what + ": " + why;
  }
  return {};
}

// Cuts a mount off and checks what it leaves; several times.
std::string World::CrashRecoveries(std::unique_ptr<CrashDevice>& image, bool& power_was_lost) {
  Random random(round().loss_seed + 2);
  for (std::uint32_t i = 0; i < round().recovery_crashes; ++i) {
    const std::uint64_t stop = random.Below(40);
    image->StopAfter(stop);
    if (shared_memory_) shared_memory_->Replace(left_in_memory_);
    at_death_.reset();
    if (shared_memory_) image->OnStop([this] { at_death_ = shared_memory_->Read(); });
    IgnoreError(MountBorrowed(*image, Options()));  // it may succeed before the crash
    image->OnStop(nullptr);
    if (shared_memory_) left_in_memory_ = at_death_ ? *at_death_ : shared_memory_->Read();
    const LossPolicy loss = random.OneIn(3) ? LossPolicy::KeepAll() : LossPolicy::Random(random.Next());
    power_was_lost = power_was_lost || loss.kind != LossPolicy::Kind::kKeepAll;
    image = image->Image(loss);
    ++outcome_.crashes;
    const auto copy = image->Image(LossPolicy::KeepAll());
    const std::string why = Verify(*copy, power_was_lost ? CrashKind::kPowerLost : CrashKind::kProcessDied,
                                   Allowed(Options(), MayTell(power_was_lost)));
    if (!why.empty()) {
      return fmt::format("crash {} of a mount after {} commands, {}: {}", i + 1, stop, Describe(loss), why);
    }
  }
  return {};
}

void World::Take(std::unique_ptr<CrashDevice> device) {
  device_ = std::make_unique<SimDevice>(std::move(device), plan_.seed + round_number_ + 1);
  device_->Spare(spared_);
}

std::string World::GoOn() {
  const LossPolicy loss =
      round().loss_seed % 3 == 0 ? LossPolicy::KeepAll() : LossPolicy::Random(round().loss_seed);
  auto image = device_->crash_device().Image(loss);
  bool power_was_lost = !NothingIsLost(loss);
  if (std::string why = CrashRecoveries(image, power_was_lost); !why.empty()) return why;
  if (shared_memory_) {
    left_earlier_ = left_in_memory_;
    if (power_was_lost && round().loss_seed % 2 == 0) left_in_memory_.clear();  // a tmpfs loses its contents
    shared_memory_->Replace(left_in_memory_);
  }
  earlier_ += crowd_.Histories();
  crowd_.Leave();
  Take(std::move(image));
  return {};
}

}  // namespace

Outcome RunPlan(const Plan& plan, const Selection& selection,
                const std::function<void(const Outcome&, const std::string&)>& on_stuck) {
  Outcome outcome;
  SimScheduler::Options schedule = plan.schedule;
  schedule.on_stuck = [&](const std::string& why, const std::vector<SimScheduler::StuckThread>& threads) {
    outcome.threads = threads;
    on_stuck(outcome, why);
  };
  SimScheduler scheduler(schedule);
  scheduler.Run([&] { World(plan, selection, outcome).Run(); });
  outcome.fingerprint = scheduler.fingerprint();
  return outcome;
}

}  // namespace zenfs
