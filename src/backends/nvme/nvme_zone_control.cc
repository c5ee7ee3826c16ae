#include "backends/nvme/nvme_zone_control.h"

#include <endian.h>
#include <libnvme.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "backends/block/zone_control.h"
#include "backends/nvme/nvme_status.h"
#include "base/aligned_buffer.h"

namespace zenfs {
namespace {

constexpr std::size_t kReportBytes = 64 << 10;  // 1,023 zones

class NvmeZoneControl final : public ZoneControl {
 public:
  NvmeZoneControl(std::shared_ptr<const NvmeNamespace> name_space, UniqueFd block_device)
      : namespace_(std::move(name_space)),
        block_device_(std::move(block_device)),
        report_bytes_(ReportBytes()) {}

  int fd() const override { return block_device_.get(); }

  CommandResult Report(std::uint64_t start, std::span<ReportedZone> zones, std::size_t& count) override {
    AlignedBuffer buffer(report_bytes_);
    buffer.Resize(report_bytes_);
    const std::size_t wanted =
        std::min(zones.size(), (report_bytes_ - sizeof(nvme_zone_report)) / sizeof(nvme_zns_desc));
    const CommandResult answered = NvmeResult(SentThrough([&] {
      return nvme_zns_report_zones(namespace_->commands.get(), namespace_->id, namespace_->BlockOf(start),
                                   NVME_ZNS_ZRAS_REPORT_ALL, /*extended=*/false, /*partial=*/true,
                                   static_cast<__u32>(report_bytes_), buffer.data(),
                                   NVME_DEFAULT_IOCTL_TIMEOUT, nullptr);
    }));
    if (!answered.ok()) return answered;
    const auto* const report = reinterpret_cast<const nvme_zone_report*>(buffer.data());
    count = std::min<std::size_t>(le64toh(report->nr_zones), wanted);
    for (std::size_t i = 0; i < count; ++i) zones[i] = ZoneOf(report->entries[i]);
    return {};
  }

  CommandResult Reset(std::uint64_t start, std::uint64_t) override { return Send(NVME_ZNS_ZSA_RESET, start); }
  CommandResult Finish(std::uint64_t start, std::uint64_t) override {
    return Send(NVME_ZNS_ZSA_FINISH, start);
  }
  CommandResult Open(std::uint64_t start, std::uint64_t) override { return Send(NVME_ZNS_ZSA_OPEN, start); }
  CommandResult Close(std::uint64_t start, std::uint64_t) override { return Send(NVME_ZNS_ZSA_CLOSE, start); }
  CommandResult OpenRandom(std::uint64_t start) override {
    constexpr std::uint8_t kAllocate = 1;  // bit 9 of dword 13
    return Send(NVME_ZNS_ZSA_OPEN, start, kAllocate);
  }
  // The command takes the last block of the range.
  CommandResult CommitRandom(std::uint64_t to) override {
    return Send(NVME_ZNS_ZSA_ZRWA_FLUSH, to - namespace_->facts.block_size);
  }

 private:
  std::size_t ReportBytes() const {
    const std::uint64_t longest = namespace_->facts.longest_command;
    return longest == 0 ? kReportBytes : std::min<std::uint64_t>(kReportBytes, longest);
  }

  // The numbers of types and conditions are those of linux/blkzoned.h.
  ReportedZone ZoneOf(const nvme_zns_desc& zone) const {
    const std::uint64_t block = namespace_->facts.block_size;
    return FromKernel({.start = le64toh(zone.zslba) * block,
                       .length = namespace_->facts.zone_size,
                       .capacity = le64toh(zone.zcap) * block,
                       .write_pointer = le64toh(zone.wp) * block,
                       .type = zone.zt & 0xfu,
                       .condition = static_cast<unsigned>(zone.zs) >> 4,
                       .random_area = (zone.za & NVME_ZNS_ZA_ZRWAV) != 0});
  }

  CommandResult Send(nvme_zns_send_action action, std::uint64_t start, std::uint8_t option = 0) {
    nvme_zns_mgmt_send_args command{};
    command.args_size = sizeof(command);
    command.fd = namespace_->commands.get();
    command.nsid = namespace_->id;
    command.slba = namespace_->BlockOf(start);
    command.zsa = action;
    command.zsaso = option;
    command.timeout = NVME_DEFAULT_IOCTL_TIMEOUT;
    return NvmeResult(SentThrough([&] { return nvme_zns_mgmt_send(&command); }));
  }

  const std::shared_ptr<const NvmeNamespace> namespace_;
  const UniqueFd block_device_;
  const std::size_t report_bytes_;
};

class SharedZoneControl final : public ZoneControl {
 public:
  SharedZoneControl(std::unique_ptr<ZoneControl> kernel, std::shared_ptr<const NvmeNamespace> name_space)
      : kernel_(std::move(kernel)),
        has_random_areas_(name_space->facts.random_area != 0),
        drive_(std::move(name_space), UniqueFd()) {}

  int fd() const override { return kernel_->fd(); }
  // A report by the kernel is also how it learns that a write pointer is not where it thought.
  CommandResult Report(std::uint64_t start, std::span<ReportedZone> zones, std::size_t& count) override {
    const CommandResult answered = kernel_->Report(start, zones, count);
    if (!answered.ok() || !has_random_areas_ || count == 0) return answered;
    std::vector<ReportedZone> of_drive(count);
    const CommandResult told = drive_.Report(start, of_drive, count);
    for (std::size_t i = 0; told.ok() && i < count; ++i)
      zones[i].info.random_area = of_drive[i].info.random_area;
    return told;
  }
  CommandResult Reset(std::uint64_t start, std::uint64_t length) override {
    return kernel_->Reset(start, length);
  }
  CommandResult Finish(std::uint64_t start, std::uint64_t length) override {
    return kernel_->Finish(start, length);
  }
  CommandResult Open(std::uint64_t start, std::uint64_t length) override {
    return kernel_->Open(start, length);
  }
  CommandResult Close(std::uint64_t start, std::uint64_t length) override {
    return kernel_->Close(start, length);
  }
  CommandResult OpenRandom(std::uint64_t start) override { return drive_.OpenRandom(start); }
  CommandResult CommitRandom(std::uint64_t to) override { return drive_.CommitRandom(to); }

 private:
  const std::unique_ptr<ZoneControl> kernel_;
  const bool has_random_areas_;
  NvmeZoneControl drive_;
};

}  // namespace

std::unique_ptr<ZoneControl> ControlBesideKernel(std::unique_ptr<ZoneControl> kernel,
                                                 std::shared_ptr<const NvmeNamespace> name_space) {
  return std::make_unique<SharedZoneControl>(std::move(kernel), std::move(name_space));
}

std::unique_ptr<ZoneControl> ControlByCommands(std::shared_ptr<const NvmeNamespace> name_space,
                                               UniqueFd block_device) {
  return std::make_unique<NvmeZoneControl>(std::move(name_space), std::move(block_device));
}

}  // namespace zenfs
