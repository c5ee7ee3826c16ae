// A device that serves nothing for a while: a loose cable, a controller that resets. It begins at each read of a mount, a check, a
// scrub or a repair plan in turn, on a simulated clock. What cannot be read then looks like damage or like the end of a log, and
// nobody may conclude that: it ends with the right result or with an error, and nothing is lost.
#include "device/forwarding_device.h"
#include "device/guarded_device.h"
#include "device/read_only_view.h"
#include "repair/repair_test_rig.h"
#include "testing/immediate_queue.h"
#include "testing/sim_scheduler.h"
#include "volume/fsck/scrub.h"
#include "volume/pair_test_rig.h"

namespace zenfs {
namespace {

using std::chrono::milliseconds;
using ::testing::IsEmpty;

enum class Stops { kReads, kReadsAndReports, kEverything };

// Serves nothing for `length` from its `kth` read on.
class OutageDevice final : public ForwardingDevice {
 public:
  struct Outage {
    std::uint64_t kth = 0;  // none
    milliseconds length{0};
    Stops stops = Stops::kReads;
  };
  OutageDevice(std::unique_ptr<ZonedDevice> device, Outage outage)
      : ForwardingDevice(std::move(device)), outage_(outage) {}

  std::uint64_t reads() const { return reads_; }

  Result<std::vector<ZoneInfo>> Report(ZoneId first, std::uint32_t count) override {
    SleepUntil(SteadyNow() + kCommand);
    ZENFS_RETURN_IF_ERROR(Served(Stops::kReadsAndReports));
    return inner().Report(first, count);
  }
  Status Read(DeviceOffset offset, ByteSpan into) override {
    if (++reads_ == outage_.kth) end_ = SteadyNow() + outage_.length;
    SleepUntil(SteadyNow() + kCommand);
    ZENFS_RETURN_IF_ERROR(Served(Stops::kReads));
    return inner().Read(offset, into);
  }
  using ZonedDevice::Write;
  Status Write(DeviceOffset offset, std::span<const ByteView> pieces) override {
    ZENFS_RETURN_IF_ERROR(Served(Stops::kEverything));
    return inner().Write(offset, pieces);
  }
  Result<DeviceOffset> Append(ZoneId zone, ByteView bytes) override {
    ZENFS_RETURN_IF_ERROR(Served(Stops::kEverything));
    return inner().Append(zone, bytes);
  }
  Status Reset(ZoneId zone) override { return Manage(&ZonedDevice::Reset, zone); }
  Status Finish(ZoneId zone) override { return Manage(&ZonedDevice::Finish, zone); }
  Status Open(ZoneId zone) override { return Manage(&ZonedDevice::Open, zone); }
  Status Close(ZoneId zone) override { return Manage(&ZonedDevice::Close, zone); }
  Status Flush() override {
    ZENFS_RETURN_IF_ERROR(Served(Stops::kEverything));
    return inner().Flush();
  }
  std::unique_ptr<IoQueue> CreateQueue(std::size_t /*depth*/) override {
    return std::make_unique<ImmediateQueue>(*this);
  }

 private:
  static constexpr milliseconds kCommand{1};

  // `least`: what an outage must stop to stop this command.
  Status Served(Stops least) const {
    if (SteadyNow() >= end_ || outage_.stops < least) return {};
    return Fail(Code::kIo, name() + ": nothing is served");
  }
  Status Manage(Status (ZonedDevice::*command)(ZoneId), ZoneId zone) {
    ZENFS_RETURN_IF_ERROR(Served(Stops::kEverything));
    return (inner().*command)(zone);
  }

  const Outage outage_;
  std::uint64_t reads_ = 0;
  SteadyTime end_{};
};

class OutageTest : public testing::TestWithParam<int> {
 protected:
  // Logs without a seal, whose bytes only a scan finds, and files.
  OutageTest() {
    rig_.SessionThatDies([this](Volume& volume) {
      rig_.Put(volume, "/db/30.log", TextOf(30, 60'000));
      rig_.Put(volume, "/db/31.log", TextOf(31, 20'000));
      rig_.Put(volume, "/db/31.sst", TextOf(32, 50'000));
    });
  }

  milliseconds length() const { return milliseconds(GetParam()); }
  bool WaitedFor() const { return length() < kOutageMax; }

  // Calls `look` with a copy of the device of `rig`, with the outage at each of its reads in turn, and with none for kth 0.
  void Walk(RepairRig& rig, Stops stops,
            const std::function<void(std::uint64_t kth, CrashDevice& copy, OutageDevice& device)>& look) {
    std::uint64_t reads = 1;
    for (std::uint64_t kth = 0; kth <= reads && !HasFailure(); ++kth) {
      SCOPED_TRACE(testing::Message() << "read " << kth << ", stops " << static_cast<int>(stops));
      SimScheduler({.seed = kth + 1}).Run([&] {
        const std::unique_ptr<CrashDevice> copy = rig.device().Image(LossPolicy::KeepAll());
        OutageDevice device(Borrow(*copy), {.kth = kth, .length = length(), .stops = stops});
        look(kth, *copy, device);
        if (kth == 0) reads = device.reads();
      });
    }
  }

  // `look` says whether it ended with the right result. It may fail only if nobody waits that long, or if the outage stops writes
  // too.
  void AtEachRead(const std::function<Status(OutageDevice&)>& look, Stops stops) {
    Walk(rig_, stops, [&](std::uint64_t kth, CrashDevice& copy, OutageDevice& device) {
      const Status looked = look(device);
      if (kth == 0 || (WaitedFor() && stops != Stops::kEverything)) {
        EXPECT_TRUE(IsOk(looked));
        EXPECT_TRUE(kth != 0 || device.reads() > 5);
      } else if (!looked.ok()) {
        EXPECT_EQ(looked.error().code(), Code::kIo) << looked.error().ToString();
      }
      std::vector<std::string> notices;
      EXPECT_TRUE(RepairRig::ReadAll(copy, &notices) == rig_.files()) << "synced bytes are lost";
      EXPECT_THAT(notices, IsEmpty());
    });
  }
  void AtEachRead(const std::function<Status(OutageDevice&)>& look) {
    AtEachRead(look, Stops::kReads);
    AtEachRead(look, Stops::kReadsAndReports);
  }

  Status Mount(OutageDevice& device) {
    ZENFS_ASSIGN_OR_RETURN(const std::shared_ptr<Volume> volume, Volume::Mount(Borrow(device), {}));
    EXPECT_THAT(volume->notices(), IsEmpty());
    for (const auto& [path, content] : rig_.files()) {
      ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<FileHandle> file, volume->OpenForRead(path));
      EXPECT_EQ(file->size(), content.size()) << path;
    }
    return volume->Unmount();
  }

  RepairRig rig_;
};

TEST_P(OutageTest, OfAMountLosesNothing) {
  AtEachRead([this](OutageDevice& device) { return Mount(device); });
}

TEST_P(OutageTest, OfAMountThatStopsWritesTooLosesNothing) {
  AtEachRead([this](OutageDevice& device) { return Mount(device); }, Stops::kEverything);
}

TEST_P(OutageTest, OfAReadOnlyMountShowsEverythingOrFails) {
  AtEachRead([this](OutageDevice& device) -> Status {
    ZENFS_ASSIGN_OR_RETURN(const std::shared_ptr<Volume> volume,
                           Volume::Mount(MakeReadOnlyView(device), {.read_only = true}));
    for (const auto& [path, content] : rig_.files()) {
      ZENFS_ASSIGN_OR_RETURN(const std::string found, GetFile(*volume, path));
      EXPECT_EQ(found, content) << path;
    }
    return {};
  });
}

TEST_P(OutageTest, IsNoDamageForACheck) {
  const auto undisturbed = CheckVolume(rig_.device(), {});
  ASSERT_TRUE(IsOk(undisturbed));
  AtEachRead([&](OutageDevice& device) -> Status {
    ZENFS_ASSIGN_OR_RETURN(const CheckReport report,
                           CheckVolume(device, {.read_data = true, .progress = {}}));
    EXPECT_TRUE(report.clean()) << report.findings.front().text;
    EXPECT_EQ(report.frames, undisturbed->frames);
    return {};
  });
}

TEST_P(OutageTest, IsNoDamageForAScrub) {
  const auto undisturbed = ScrubVolume(rig_.device(), {});
  ASSERT_TRUE(IsOk(undisturbed));
  AtEachRead([&](OutageDevice& device) -> Status {
    ZENFS_ASSIGN_OR_RETURN(const ScrubReport report, ScrubVolume(device, {}));
    EXPECT_TRUE(report.clean()) << report.findings.front().text;
    EXPECT_EQ(report.log_frames, undisturbed->log_frames);
    return {};
  });
}

TEST_P(OutageTest, IsNothingToRepair) {
  AtEachRead([](OutageDevice& device) -> Status {
    ZENFS_ASSIGN_OR_RETURN(const RepairPlan plan, PlanRepair(device));
    EXPECT_TRUE(plan.nothing_to_do());
    EXPECT_THAT(plan.losses, IsEmpty());
    return {};
  });
}

// Longer than anybody waits, and ended at some moment of what comes then.
class LongOutageTest : public OutageTest {};

// The copy of the old metadata is the way back.
TEST_P(LongOutageTest, OfARepairLeavesAWholeCopyOrChangesNothing) {
  TempDirectory directory;
  int files = 0;
  for (std::size_t i = 0; i < MetadataDamages().size(); i += 3) {
    const Damage& damage = MetadataDamages()[i];
    RepairRig rig;
    damage.make(rig);
    const auto plan = PlanRepair(rig.device());
    ASSERT_TRUE(IsOk(plan));
    if (plan->nothing_to_do()) continue;
    const auto before = RepairRig::AllZones(rig.device());
    for (const Stops stops : {Stops::kReads, Stops::kEverything}) {
      Walk(rig, stops, [&](std::uint64_t kth, CrashDevice& copy, OutageDevice& device) {
        const std::string file = directory.File(fmt::format("{}.zmeta", ++files));
        const Status repaired = CarryOut(device, *plan, file);
        if (kth == 0) {
          EXPECT_TRUE(IsOk(repaired));
        }
        if (RepairRig::AllZones(copy) == before) return;
        EXPECT_TRUE(IsOk(UndoRepair(copy, file))) << damage.name;
        EXPECT_TRUE(RepairRig::AllZones(copy) == before) << damage.name;
      });
    }
  }
}

TEST_P(LongOutageTest, OfAnUndoDoesNotMakeItAnUndoOfAnotherVolume) {
  TempDirectory directory;
  RepairRig other;
  MetadataDamages().front().make(other);
  const std::string file = MustRepair(other.device(), directory);
  for (const Stops stops : {Stops::kReads, Stops::kReadsAndReports}) {
    Walk(rig_, stops, [&](std::uint64_t, CrashDevice& copy, OutageDevice& device) {
      EXPECT_FALSE(UndoRepair(device, file).ok());
      EXPECT_TRUE(RepairRig::ReadAll(copy) == rig_.files());
    });
  }
}

// Devices of a pair prove each other by a key, whose newest record has the highest number.
class PairOutageTest : public testing::TestWithParam<int> {
 protected:
  PairOutageTest() {
    pair_.Session("a.log");
    pair_.Session("b.log");
  }
  // Joins copies of the two devices. The log device has the outage at its `kth` read.
  std::unique_ptr<ZonedDevice> Joined(const DevicePair& copy, std::uint64_t kth) const {
    auto logs = std::make_unique<OutageDevice>(
        Borrow(*copy.logs),
        OutageDevice::Outage{.kth = kth, .length = milliseconds(GetParam()), .stops = Stops::kReads});
    return *JoinDevices(Borrow(*copy.main), std::move(logs), ZoneId(2));
  }
  static constexpr std::uint64_t kReads = 40;  // more than a mount makes of this log device

  DevicePair pair_;
};

TEST_P(PairOutageTest, OfTheLogDeviceAtAMountDoesNotMakeAnOlderMainDeviceAcceptable) {
  for (std::uint64_t kth = 0; kth <= kReads; ++kth) {
    SCOPED_TRACE(kth);
    SimScheduler({.seed = kth + 1}).Run([&] {
      const DevicePair copy = pair_.Copy();
      const OneOfPair older = DevicePair::CopyOf(*copy.main);
      {
        const auto volume = Volume::Mount(Joined(copy, kth), {.flush_directory = "none"});
        if (!volume) {
          EXPECT_EQ(volume.error().code(), Code::kIo) << volume.error().ToString();
          EXPECT_GE(milliseconds(GetParam()), kOutageMax) << volume.error().ToString();
          return;
        }
        EXPECT_TRUE(IsOk(PutFile(**volume, "x.sst", "synced")));
        EXPECT_TRUE(IsOk((*volume)->Unmount()));
      }
      EXPECT_FALSE(DevicePair(older, copy.logs).Mount().ok()) << "without its last commits";
      EXPECT_TRUE(IsOk(copy.Mount()));
    });
  }
}

TEST_P(PairOutageTest, OfTheLogDeviceDoesNotMakeItAnOlderCopyForAPlan) {
  for (std::uint64_t kth = 0; kth <= kReads; ++kth) {
    SCOPED_TRACE(kth);
    SimScheduler({.seed = kth + 1}).Run([&] {
      const DevicePair copy = pair_.Copy();
      const auto joined = Joined(copy, kth);
      const auto plan = PlanRepair(*joined);
      if (plan) {
        EXPECT_TRUE(plan->nothing_to_do());
      } else {
        EXPECT_EQ(plan.error().code(), Code::kIo) << plan.error().ToString();
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Milliseconds, LongOutageTest, testing::Values(1003, 1030, 1100, 1300, 60'000),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Milliseconds, PairOutageTest, testing::Values(1, 20, 50, 100, 1100, 60'000),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Milliseconds, OutageTest, testing::Values(1, 7, 100, 900, 1100, 60'000),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace zenfs
