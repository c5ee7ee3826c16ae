// Trees that only an earlier version could make, because their paths are longer than kMaxPathBytes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "metalog/metalog.h"
#include "metalog/probe.h"

namespace zenfs {

// Adds a chain of directories "NAME/NAME/...", `depth` levels from the root, and an empty file "file" in the last one. `device`
// has a volume that is not mounted. Errors: those of the metadata log.
[[nodiscard]] inline Status MakeDeepTree(ZonedDevice& device, std::uint64_t depth,
                                         const std::string& name = "d") {
  ZENFS_ASSIGN_OR_RETURN(const Superblock superblock, ProbeSuperblock(device));
  ZENFS_ASSIGN_OR_RETURN(const auto log, Metalog::Open(device, superblock));
  const std::uint64_t first = log->recovered().next_id();
  std::vector<Edit> edits{RaiseCounters{first + depth + 1, 0}};
  FileId parent = kRootDirectory;
  for (std::uint64_t i = 0; i < depth; ++i) {
    edits.push_back(CreateDirectory{FileId(first + i), parent, name, 1});
    parent = FileId(first + i);
  }
  edits.push_back(CreateFile{.id = FileId(first + depth)});
  edits.push_back(LinkFile{parent, "file", FileId(first + depth)});
  Status committed = log->Commit(std::move(edits));
  log->Stop();
  return committed;
}

}  // namespace zenfs
