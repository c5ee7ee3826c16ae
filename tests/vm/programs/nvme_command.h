// An NVMe command that a program sends by ioctl(2), as device_trace.cc sees it.
//
// Units: bytes. Ownership: the ioctl's argument outlives it.
#pragma once

#include <linux/nvme_ioctl.h>
#include <sys/uio.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace zenfs {

inline bool IsNvmeCommand(unsigned long request) {
  return request == NVME_IOCTL_IO_CMD || request == NVME_IOCTL_IO64_CMD || request == NVME_IOCTL_IO64_CMD_VEC;
}

class NvmeCommand {
 public:
  enum class Kind { kWrite, kAppend, kCopy, kFlush, kReset, kFinish, kOpenRandom, kOther };

  // The structures of all three requests are equal up to the timeout.
  NvmeCommand(unsigned long request, const void* argument)
      : vector_(request == NVME_IOCTL_IO64_CMD_VEC),
        fields_(*static_cast<const nvme_passthru_cmd64*>(argument)) {}

  Kind kind() const {
    switch (fields_.opcode) {
      case 0x00: return Kind::kFlush;
      case 0x01: return Kind::kWrite;
      case 0x7d: return Kind::kAppend;
      case 0x19: return Kind::kCopy;
      case 0x79: break;
      default: return Kind::kOther;
    }
    constexpr std::uint32_t kWithArea = 1u << 9;
    switch (fields_.cdw13 & 0xff) {
      case 0x02: return Kind::kFinish;
      case 0x03: return (fields_.cdw13 & kWithArea) != 0 ? Kind::kOpenRandom : Kind::kOther;
      case 0x04: return Kind::kReset;
      default: return Kind::kOther;
    }
  }
  bool is_append() const { return kind() == Kind::kAppend; }

  // Of a copy: where it writes.
  std::uint64_t offset() const { return kBlock * (fields_.cdw10 | std::uint64_t{fields_.cdw11} << 32); }
  std::uint64_t length() const {
    return kind() == Kind::kCopy ? CopiedBytes() : kBlock * ((fields_.cdw12 & 0xffff) + 1);
  }
  // Of an append that has succeeded: where the drive has put it.
  std::uint64_t place() const { return kBlock * fields_.result; }
  std::string bytes() const {
    const auto* const address = reinterpret_cast<const char*>(fields_.addr);
    if (!vector_) return std::string(address, length());
    std::string all;
    const auto* const pieces = reinterpret_cast<const iovec*>(fields_.addr);
    for (std::uint32_t i = 0; i < fields_.vec_cnt; ++i)
      all.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
    return all;
  }

 private:
  // A source range has 32 bytes, with its length at 16.
  std::uint64_t CopiedBytes() const {
    const auto* const ranges = reinterpret_cast<const char*>(fields_.addr);
    std::uint64_t bytes = 0;
    for (std::uint32_t i = 0; i <= (fields_.cdw12 & 0xff); ++i) {
      std::uint16_t blocks;
      std::memcpy(&blocks, ranges + 32 * i + 16, sizeof(blocks));
      bytes += kBlock * (blocks + std::uint64_t{1});
    }
    return bytes;
  }

  static constexpr std::uint64_t kBlock = 4096;  // of the lab's drives

  const bool vector_;
  const nvme_passthru_cmd64& fields_;
};

}  // namespace zenfs
