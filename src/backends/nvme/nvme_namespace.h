// An open zoned NVMe namespace, to which commands are sent directly (NVMe passthrough): the character device /dev/ngXnY, and
// the block device /dev/nvmeXnY of the same namespace, which is held meanwhile so that no other program mounts it.
//
// Threads: safe; it does not change.
#pragma once

#include <cstdint>
#include <string>

#include "backends/nvme/namespace_facts.h"
#include "base/unique_fd.h"

namespace zenfs {

struct NvmeNamespace {
  std::string name;   // for messages: "nvme:ng0n1"
  UniqueFd commands;  // of the character device
  std::uint32_t id = 0;
  NamespaceFacts facts;

  // The address of a byte of the namespace in logical blocks.
  std::uint64_t BlockOf(std::uint64_t offset) const { return offset / facts.block_size; }
};

// Opens the character device `path` and asks for its identify data. `flags`: of open(2).
// Errors: by errno (kNotFound, kPermission); kInvalidArgument if it is no NVMe namespace; those of IdentifyNamespace.
[[nodiscard]] Result<NvmeNamespace> OpenNamespace(const std::string& path, int flags);

// "ng0n1" for "nvme0n1"; empty for a name that is not that of an NVMe namespace, such as "sda" or "nvme0n1p1".
[[nodiscard]] std::string CharacterNodeOf(const std::string& block_name);
// "nvme0n1" for "ng0n1"; empty for another name.
[[nodiscard]] std::string BlockNodeOf(const std::string& character_name);

}  // namespace zenfs
