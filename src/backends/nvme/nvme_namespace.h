// An open zoned NVMe namespace, to which commands are sent directly (NVMe passthrough): the character device /dev/ngXnY, and
// the block device /dev/nvmeXnY of the same namespace, which is held meanwhile so that no other program mounts it.
//
// NamespaceFacts is what the namespace says about itself in its identify data.
//
// Sources: NVM Express base specification, "Identify"; NVM Command Set, "Identify Namespace"; Zoned Namespace Command Set,
// "I/O Command Set Specific Identify". Threads: safe; nothing changes.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "base/unique_fd.h"

struct nvme_id_ctrl;
struct nvme_id_ns;
struct nvme_zns_id_ctrl;
struct nvme_zns_id_ns;

namespace zenfs {

// Units: bytes and zones.
struct NamespaceFacts {
  std::uint32_t block_size = 0;       // of the LBA format in use
  std::uint64_t size = 0;             // NSZE
  std::uint64_t zone_size = 0;        // ZSZE
  std::uint32_t max_open = 0;         // MOR + 1; 0: no limit
  std::uint32_t max_active = 0;       // MAR + 1; 0: no limit
  std::uint64_t longest_command = 0;  // MDTS; 0: no limit
  std::uint64_t longest_append = 0;   // ZASL, or MDTS if ZASL is 0; 0: no limit
  bool volatile_cache = true;         // VWC
  // Copies with source ranges in descriptor format 0; both 0 if the drive takes none.
  std::uint64_t longest_copy = 0;        // MCL, or what MSRC + 1 ranges have
  std::uint64_t longest_copy_range = 0;  // MSSRL: of each source range
  // Zone random write areas; all 0 if there are none that can be committed explicitly, or they contradict themselves.
  std::uint64_t random_area = 0;   // ZRWASZ
  std::uint64_t random_unit = 0;   // ZRWAFG
  std::uint32_t random_zones = 0;  // NUMZRWA, which unlike MAR and MOR is not counted from 0
};

struct IdentifyData {
  const nvme_id_ctrl& controller;
  const nvme_id_ns& name_space;
  const nvme_zns_id_ctrl& zoned_controller;
  const nvme_zns_id_ns& zoned_namespace;
};

// Errors: kNotSupported if the blocks have metadata beside or behind their data, or zones have a variable capacity that
// this code can't follow; kCorruption if the data contradicts itself. `name` is for messages.
[[nodiscard]] Result<NamespaceFacts> FactsOf(const std::string& name, const IdentifyData& data);

// Asks the drive. Errors: by errno, such as kPermission; those of FactsOf.
[[nodiscard]] Result<NamespaceFacts> IdentifyNamespace(const std::string& name, int fd, std::uint32_t nsid);

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
