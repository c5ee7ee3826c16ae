// The use of a zoned NVMe namespace by commands that are sent directly (NVMe passthrough).
//
//   data    Read, Write, Copy, Flush (NVM Command Set), Zone Append (Zoned Namespace Command Set)
//   zones   Zone Management Send and Zone Management Receive (Zoned Namespace Command Set)
//
// A single command is sent by ioctl(2), those of a queue by io_uring (IORING_OP_URING_CMD, Linux 5.19).
//
// Passthrough goes around the page cache of the block device: what others read from its node through the cache may be
// stale. ZenFS reads with O_DIRECT.
#pragma once

#include <memory>

#include "backends/block/zone_control.h"
#include "backends/host/data_path.h"
#include "backends/nvme/nvme_namespace.h"

struct nvme_passthru_cmd64;

namespace zenfs {

// The way of data.
class NvmePath final : public DataPath, public AppendPath, private RingCommands {
 public:
  // `longest`: bytes that the kernel accepts for one command.
  NvmePath(std::shared_ptr<const NvmeNamespace> name_space, std::uint64_t longest);

  IoOutcome Read(std::uint64_t offset, ByteSpan into) const override;
  IoOutcome Write(std::uint64_t offset, std::span<const ByteView> pieces) const override;
  CommandResult Flush() const override;
  CommandResult Copy(std::uint64_t from, std::uint64_t to, std::uint64_t length) const override;
  IoPlace Place(std::uint64_t offset) const override;

  std::uint64_t longest_append() const override { return longest_append_; }
  IoOutcome Append(std::uint64_t zone, ByteView bytes) const override;
  IoPlace AppendPlace(std::uint64_t zone) const override;

 private:
  void Prepare(io_uring_sqe* entry, const IoPart& part) const override;
  IoOutcome Outcome(const io_uring_cqe* entry, const IoPart& part) const override;
  IoOutcome Run(const IoPart& part) const override;

  nvme_passthru_cmd64 Command(std::uint8_t opcode, std::uint64_t offset, std::uint64_t bytes) const;

  const std::shared_ptr<const NvmeNamespace> namespace_;
  const std::uint64_t longest_;
  const std::uint64_t longest_append_;
};

// Zone management by commands alone. `block_device`: the open block device of the namespace.
[[nodiscard]] std::unique_ptr<ZoneControl> ControlByCommands(std::shared_ptr<const NvmeNamespace> name_space,
                                                             UniqueFd block_device);

// Zones are managed by `kernel`, which may keep write pointers of its own; the drive is asked only for random write areas,
// which the kernel does not know.
[[nodiscard]] std::unique_ptr<ZoneControl> ControlBesideKernel(
    std::unique_ptr<ZoneControl> kernel, std::shared_ptr<const NvmeNamespace> name_space);

}  // namespace zenfs
