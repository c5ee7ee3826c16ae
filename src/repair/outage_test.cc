// A device that serves nothing for a while: a loose cable, a controller that resets. It begins at each read of a mount, a check, a
// scrub or a repair plan in turn, on a simulated clock. What cannot be read then looks like damage or like the end of a log, and
// nobody may conclude that: it ends with the right result or with an error, and nothing is lost.
#include "device/forwarding_device.h"
#include "device/guarded_device.h"
#include "device/read_only_view.h"
#include "repair/repair_test_rig.h"
#include "testing/immediate_queue.h"
#include "testing/sim_scheduler.h"
#include "volume/scrub.h"

namespace zenfs {
namespace {

using std::chrono::milliseconds;
using ::testing::IsEmpty;

enum class Stops { kReads, kEverything };

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
    ZENFS_RETURN_IF_ERROR(Served(Stops::kReads));
    return inner().Report(first, count);
  }
  Status Read(DeviceOffset offset, ByteSpan into) override {
    if (++reads_ == outage_.kth) end_ = SteadyNow() + outage_.length;
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

  // Calls `look` with a copy of the device, with the outage at each of its reads in turn. `look` says whether it ended with
  // the right result; it may fail only if nobody waits that long, or if the outage stops writes too.
  void AtEachRead(const std::function<Status(OutageDevice&)>& look, Stops stops = Stops::kReads) {
    std::uint64_t reads = 1;
    for (std::uint64_t kth = 0; kth <= reads; ++kth) {
      SCOPED_TRACE(kth);
      SimScheduler({.seed = kth + 1}).Run([&] {
        const std::unique_ptr<CrashDevice> copy = rig_.device().Image(LossPolicy::KeepAll());
        OutageDevice device(Borrow(*copy), {.kth = kth, .length = length(), .stops = stops});
        const Status looked = look(device);
        if (kth == 0) reads = device.reads();
        if (kth == 0 || (WaitedFor() && stops == Stops::kReads)) {
          EXPECT_TRUE(IsOk(looked));
        } else if (!looked.ok()) {
          EXPECT_EQ(looked.error().code(), Code::kIo) << looked.error().ToString();
        }
        std::vector<std::string> notices;
        EXPECT_TRUE(RepairRig::ReadAll(*copy, &notices) == rig_.files()) << "synced bytes are lost";
        EXPECT_THAT(notices, IsEmpty());
      });
      if (HasFailure()) return;
    }
    EXPECT_GT(reads, 5U);
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
  AtEachRead([](OutageDevice& device) -> Status {
    ZENFS_ASSIGN_OR_RETURN(const CheckReport report,
                           CheckVolume(device, {.read_data = true, .progress = {}}));
    EXPECT_TRUE(report.clean()) << report.findings.front().text;
    return {};
  });
}

TEST_P(OutageTest, IsNoDamageForAScrub) {
  AtEachRead([](OutageDevice& device) -> Status {
    ZENFS_ASSIGN_OR_RETURN(const ScrubReport report, ScrubVolume(device, {}));
    EXPECT_TRUE(report.clean()) << report.findings.front().text;
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

INSTANTIATE_TEST_SUITE_P(Milliseconds, OutageTest, testing::Values(1, 7, 100, 900, 1100, 60'000),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace zenfs
