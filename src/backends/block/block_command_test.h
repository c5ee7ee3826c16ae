// A block device on a simulated kernel, for tests: its data is a file, and the test sets its zones. A device whose writes fail
// has that file open for reading only.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/block/block_device_impl.h"
#include "backends/block/node_path.h"
#include "base/unique_fd.h"
#include "testing/device_data.h"
#include "testing/temp_directory.h"

namespace zenfs {

constexpr std::uint64_t kBlock = 4096;
constexpr std::uint64_t kZone = 16 * kBlock;
constexpr std::uint64_t kCapacity = 12 * kBlock;
constexpr std::uint64_t kRunt = 4 * kBlock;  // length of the last zone

// The zones that a test sets. Commands are recorded as text: "reset 65536+65536".
struct FakeKernel {
  std::vector<ReportedZone> zones;
  std::vector<std::string> commands;
  int report_error = 0;
  int command_error = 0;
};

class FakeControl final : public ZoneControl {
 public:
  FakeControl(FakeKernel& kernel, UniqueFd fd) : kernel_(kernel), fd_(std::move(fd)) {}

  int fd() const override { return fd_.get(); }
  CommandResult Report(std::uint64_t start, std::span<ReportedZone> zones, std::size_t& count) override {
    if (kernel_.report_error != 0) return {.os_errno = kernel_.report_error};
    // One zone per answer: the kernel may return fewer than requested.
    zones[0] = kernel_.zones.at(start / kZone);
    count = 1;
    return {};
  }
  CommandResult Reset(std::uint64_t start, std::uint64_t length) override {
    return Note("reset", start, length);
  }
  CommandResult Finish(std::uint64_t start, std::uint64_t length) override {
    return Note("finish", start, length);
  }
  CommandResult Open(std::uint64_t start, std::uint64_t length) override {
    return Note("open", start, length);
  }
  CommandResult Close(std::uint64_t start, std::uint64_t length) override {
    return Note("close", start, length);
  }
  CommandResult OpenRandom(std::uint64_t start) override { return Note("open random", start, 0); }
  CommandResult CommitRandom(std::uint64_t to) override { return Note("commit", to, 0); }

 private:
  CommandResult Note(const std::string& what, std::uint64_t start, std::uint64_t length) {
    kernel_.commands.push_back(fmt::format("{} {}+{}", what, start, length));
    return {.os_errno = kernel_.command_error};
  }

  FakeKernel& kernel_;
  const UniqueFd fd_;
};

// Refuses the next writes as a kernel does whose own write pointer of the zone is stale.
class RefusingPath final : public DataPath {
 public:
  RefusingPath(std::unique_ptr<DataPath> path, int& refusals) : path_(std::move(path)), refusals_(refusals) {}

  IoOutcome Read(std::uint64_t offset, ByteSpan into) const override { return path_->Read(offset, into); }
  IoOutcome Write(std::uint64_t offset, std::span<const ByteView> pieces) const override {
    if (refusals_ == 0) return path_->Write(offset, pieces);
    --refusals_;
    return {.bytes = 0, .os_errno = EIO};
  }
  CommandResult Flush() const override { return path_->Flush(); }
  IoPlace Place(std::uint64_t offset) const override { return path_->Place(offset); }

 private:
  const std::unique_ptr<DataPath> path_;
  int& refusals_;
};

// The way of a drive's commands. Copies are recorded as the other commands are; they move nothing.
class DrivePath final : public DataPath {
 public:
  DrivePath(std::unique_ptr<DataPath> path, FakeKernel& kernel) : path_(std::move(path)), kernel_(kernel) {}

  IoOutcome Read(std::uint64_t offset, ByteSpan into) const override { return path_->Read(offset, into); }
  IoOutcome Write(std::uint64_t offset, std::span<const ByteView> pieces) const override {
    return path_->Write(offset, pieces);
  }
  CommandResult Flush() const override { return path_->Flush(); }
  CommandResult Copy(std::uint64_t from, std::uint64_t to, std::uint64_t length) const override {
    kernel_.commands.push_back(fmt::format("copy {} to {}+{}", from, to, length));
    return {.os_errno = kernel_.command_error};
  }
  IoPlace Place(std::uint64_t offset) const override { return path_->Place(offset); }

 private:
  const std::unique_ptr<DataPath> path_;
  FakeKernel& kernel_;
};

inline ReportedZone Sequential(std::uint32_t zone, ZoneCondition condition, std::uint64_t blocks_written) {
  const DeviceOffset start(zone * kZone);
  return {.info = {.condition = condition,
                   .start = start,
                   .capacity = kCapacity,
                   .write_pointer = start + blocks_written * kBlock},
          .length = kZone};
}

// Zones 0 and 2 are conventional, zone 1 has 2 written blocks, zone 3 none, and zone 4 is the short
// last one.
class BlockCommandTest : public testing::Test {
 protected:
  BlockCommandTest() {
    for (std::uint32_t i = 0; i < 5; ++i) kernel.zones.push_back(Sequential(i, ZoneCondition::kEmpty, 0));
    for (const std::uint32_t i : {0u, 2u}) {
      kernel.zones[i].info.type = ZoneType::kConventional;
      kernel.zones[i].info.condition = ZoneCondition::kNotWritePointer;
      kernel.zones[i].info.capacity = kZone;
    }
    kernel.zones[1] = Sequential(1, ZoneCondition::kClosed, 2);
    kernel.zones[4].length = kernel.zones[4].info.capacity = kRunt;
  }
  void Open(int access, OpenMode mode = OpenMode::kExclusive) {
    UniqueFd fd(::open(directory.File("disk").c_str(), access | O_CREAT, 0600));
    BlockDevice::Parts parts;
    parts.name = "dev:x";
    parts.geometry = {.block_size = kBlock, .zone_size = kZone, .zone_count = 5};
    if (random_areas) {
      parts.geometry.random_area_bytes = 4 * kBlock;
      parts.geometry.random_area_unit = 2 * kBlock;
      parts.geometry.random_area_zones = 1;
    }
    if (commands) parts.geometry.max_copy_bytes = 8 * kBlock;
    parts.mode = mode;
    parts.zones = std::make_unique<ZoneFacts>(kernel.zones);
    parts.data = std::make_shared<RefusingPath>(PathOfNode(fd.get(), kLongestCall), refusals);
    if (commands) {
      commands_fd = UniqueFd(::open(directory.File("disk").c_str(), O_RDWR | O_CREAT, 0600));
      parts.commands = std::make_shared<DrivePath>(PathOfNode(commands_fd.get(), kLongestCall), kernel);
    }
    parts.kernel_pointers = kernel_pointers;
    parts.control = std::make_unique<FakeControl>(kernel, std::move(fd));
    device = std::make_unique<BlockDevice>(std::move(parts));
  }
  void OpenFailing() { Open(O_RDONLY); }
  void Land(DeviceOffset at, const AlignedBuffer& bytes) {
    const UniqueFd fd(::open(directory.File("disk").c_str(), O_RDWR | O_CREAT, 0600));
    ASSERT_EQ(::pwrite(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(at.value)),
              static_cast<ssize_t>(bytes.size()));
  }
  static DeviceOffset At(std::uint32_t zone, std::uint64_t block) {
    return DeviceOffset(zone * kZone + block * kBlock);
  }
  static Code CodeOf(const Status& status) { return status.ok() ? Code::kExists : status.error().code(); }

  TempDirectory directory;
  FakeKernel kernel;
  int refusals = 0;              // of the next writes
  bool kernel_pointers = false;  // BlockDevice::Parts
  bool random_areas = false;     // of 4 blocks, with commits of 2
  bool commands = false;         // BlockDevice::Parts; they can write whatever `access` is
  UniqueFd commands_fd;
  std::unique_ptr<ZonedDevice> device;
};

}  // namespace zenfs
