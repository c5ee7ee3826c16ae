#include "backends/nvme/nvme_commands.h"

#include <endian.h>
#include <libnvme.h>
#include <liburing.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "backends/host/plain_io.h"
#include "backends/nvme/nvme_status.h"
#include "base/aligned_buffer.h"

namespace zenfs {
namespace {

// linux/nvme_ioctl.h, which libnvme.h replaces, has it too: data_len is a number of iovecs.
constexpr unsigned long kSendVectors = _IOWR('N', 0x49, nvme_passthru_cmd64);

std::uint64_t Address(const void* data) { return reinterpret_cast<std::uintptr_t>(data); }

struct Answer {
  CommandResult result;
  std::uint64_t value = 0;  // of the completion: an append's first block
};

Answer Send(int fd, unsigned long how, nvme_passthru_cmd64 command) {
  // A write or copy that was executed finds the write pointer moved, which BlockDevice settles; an append is there twice, which the log
  // allows.
  const int status = SentThrough([&] { return ::ioctl(fd, how, &command); });
  return {.result = NvmeResult(status), .value = command.result};
}

IoOutcome Failed(std::uint64_t moved, const CommandResult& result) {
  return {.bytes = moved, .os_errno = result.os_errno, .status = result.status};
}

// The lower of two limits, of which 0 is none.
std::uint64_t Lower(std::uint64_t limit, std::uint64_t other) {
  return limit == 0 ? other : std::min(limit, other);
}

}  // namespace

NvmePath::NvmePath(std::shared_ptr<const NvmeNamespace> name_space, std::uint64_t longest)
    : namespace_(std::move(name_space)),
      longest_(Lower(namespace_->facts.longest_command, longest)),
      longest_append_(Lower(namespace_->facts.longest_append, longest_)) {}

// An append names the first block of its zone.
nvme_passthru_cmd64 NvmePath::Command(std::uint8_t opcode, std::uint64_t offset, std::uint64_t bytes) const {
  const std::uint64_t block = namespace_->BlockOf(offset);
  nvme_passthru_cmd64 command{};
  command.opcode = opcode;
  command.nsid = namespace_->id;
  command.cdw10 = static_cast<__u32>(block);
  command.cdw11 = static_cast<__u32>(block >> 32);
  command.cdw12 = static_cast<__u32>(namespace_->BlockOf(bytes) - 1);  // a zeroes-based number
  return command;
}

IoOutcome NvmePath::Read(std::uint64_t offset, ByteSpan into) const {
  IoOutcome outcome;
  while (outcome.bytes < into.size()) {
    const ByteSpan next = into.subspan(outcome.bytes, std::min(into.size() - outcome.bytes, longest_));
    nvme_passthru_cmd64 command = Command(nvme_cmd_read, offset + outcome.bytes, next.size());
    command.addr = Address(next.data());
    command.data_len = static_cast<__u32>(next.size());
    const Answer answer = Send(namespace_->commands.get(), NVME_IOCTL_IO64_CMD, command);
    if (!answer.result.ok()) return Failed(outcome.bytes, answer.result);
    outcome.bytes += next.size();
  }
  return outcome;
}

IoOutcome NvmePath::Write(std::uint64_t offset, std::span<const ByteView> pieces) const {
  IoOutcome outcome;
  for (PieceCursor cursor(pieces); !cursor.AtEnd();) {
    const std::span<const iovec> next = cursor.Next(longest_);
    std::uint64_t bytes = 0;
    for (const iovec& piece : next) bytes += piece.iov_len;
    nvme_passthru_cmd64 command = Command(nvme_cmd_write, offset + outcome.bytes, bytes);
    command.addr = Address(next.data());
    command.data_len = static_cast<__u32>(next.size());
    const Answer answer = Send(namespace_->commands.get(), kSendVectors, command);
    if (!answer.result.ok()) return Failed(outcome.bytes, answer.result);
    outcome.bytes += bytes;
    cursor.Advance(bytes);
  }
  return outcome;
}

CommandResult NvmePath::Flush() const {
  if (!namespace_->facts.volatile_cache) return {};
  nvme_passthru_cmd64 command{};
  command.opcode = nvme_cmd_flush;
  command.nsid = namespace_->id;
  return Send(namespace_->commands.get(), NVME_IOCTL_IO64_CMD, command).result;
}

// The source is in ranges, which the drive puts one behind the other.
CommandResult NvmePath::Copy(std::uint64_t from, std::uint64_t to, std::uint64_t length) const {
  std::vector<nvme_copy_range> ranges;  // descriptor format 0
  for (std::uint64_t done = 0; done < length;) {
    const std::uint64_t bytes = std::min(length - done, namespace_->facts.longest_copy_range);
    nvme_copy_range range{};
    range.slba = htole64(namespace_->BlockOf(from + done));
    range.nlb = htole16(static_cast<std::uint16_t>(namespace_->BlockOf(bytes) - 1));  // zeroes-based
    ranges.push_back(range);
    done += bytes;
  }
  nvme_passthru_cmd64 command = Command(nvme_cmd_copy, to, length);
  command.cdw12 = static_cast<__u32>(ranges.size() - 1);  // zeroes-based; format 0
  command.addr = Address(ranges.data());
  command.data_len = static_cast<__u32>(ranges.size() * sizeof(nvme_copy_range));
  return Send(namespace_->commands.get(), NVME_IOCTL_IO64_CMD, command).result;
}

IoOutcome NvmePath::Append(std::uint64_t zone, ByteView bytes) const {
  nvme_passthru_cmd64 command = Command(nvme_zns_cmd_append, zone, bytes.size());
  command.addr = Address(bytes.data());
  command.data_len = static_cast<__u32>(bytes.size());
  const Answer answer = Send(namespace_->commands.get(), NVME_IOCTL_IO64_CMD, command);
  if (!answer.result.ok()) return Failed(0, answer.result);
  return {.bytes = bytes.size(), .place = answer.value * namespace_->facts.block_size};
}

IoPlace NvmePath::Place(std::uint64_t offset) const {
  return {
      .fd = namespace_->commands.get(), .offset = offset, .longest = longest_, .keep = {}, .commands = this};
}

IoPlace NvmePath::AppendPlace(std::uint64_t zone) const {
  IoPlace place = Place(zone);
  place.longest = longest_append_;
  return place;
}

void NvmePath::Prepare(io_uring_sqe* entry, const IoPart& part) const {
  static constexpr std::uint8_t kOpcodes[] = {nvme_cmd_read, nvme_cmd_write, nvme_zns_cmd_append};
  nvme_passthru_cmd64 command =
      Command(kOpcodes[static_cast<std::size_t>(part.request.kind)], part.offset(), part.length);
  command.addr = part.is_read() ? Address(part.read_into().data()) : Address(part.write_from().data());
  command.data_len = static_cast<__u32>(part.length);
  io_uring_prep_rw(IORING_OP_URING_CMD, entry, part.place.fd, nullptr, 0, 0);
  entry->cmd_op = NVME_URING_CMD_IO;
  // The ring takes the same structure without the result.
  static_assert(sizeof(nvme_uring_cmd) == offsetof(nvme_passthru_cmd64, result));
  std::memcpy(entry->cmd, &command, sizeof(nvme_uring_cmd));
}

IoOutcome NvmePath::Outcome(const io_uring_cqe* entry, const IoPart& part) const {
  if (entry->res < 0) return {.bytes = 0, .os_errno = -entry->res};
  if (entry->res > 0)
    return {.bytes = 0, .os_errno = NvmeErrno(entry->res), .status = NvmeStatusName(entry->res)};
  return {.bytes = part.length, .place = entry->big_cqe[0] * namespace_->facts.block_size};
}

IoOutcome NvmePath::Run(const IoPart& part) const {
  switch (part.request.kind) {
    case IoRequest::Kind::kRead: return Read(part.offset(), part.read_into());
    case IoRequest::Kind::kAppend: return Append(part.offset(), part.write_from());
    case IoRequest::Kind::kWrite: break;
  }
  const ByteView bytes = part.write_from();
  return Write(part.offset(), std::span(&bytes, 1));
}

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

  CommandResult Send(Command command, std::uint64_t start, std::uint64_t) override {
    static constexpr nvme_zns_send_action kActions[] = {NVME_ZNS_ZSA_RESET, NVME_ZNS_ZSA_FINISH,
                                                        NVME_ZNS_ZSA_OPEN, NVME_ZNS_ZSA_CLOSE};
    return SendAction(kActions[static_cast<std::size_t>(command)], start);
  }
  CommandResult OpenRandom(std::uint64_t start) override {
    constexpr std::uint8_t kAllocate = 1;  // bit 9 of dword 13
    return SendAction(NVME_ZNS_ZSA_OPEN, start, kAllocate);
  }
  // The command takes the last block of the range.
  CommandResult CommitRandom(std::uint64_t to) override {
    return SendAction(NVME_ZNS_ZSA_ZRWA_FLUSH, to - namespace_->facts.block_size);
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

  CommandResult SendAction(nvme_zns_send_action action, std::uint64_t start, std::uint8_t option = 0) {
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
  CommandResult Send(Command command, std::uint64_t start, std::uint64_t length) override {
    return kernel_->Send(command, start, length);
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
