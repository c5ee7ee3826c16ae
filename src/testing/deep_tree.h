// Trees that only an earlier version could make, because their paths are longer than kMaxPathBytes.
#pragma once

#include <string>
#include <vector>

#include "testing/direct_commit.h"

namespace zenfs {

// Adds a chain of directories "NAME/NAME/...", `depth` levels from the root, and empty files in the last one: "file", and `more`
// others. `device` has a volume that is not mounted. Errors: those of the metadata log.
[[nodiscard]] inline Status MakeDeepTree(ZonedDevice& device, std::uint64_t depth,
                                         const std::string& name = "d", std::uint64_t more = 0) {
  return CommitDirectly(device, [&](const State& state) {
    const std::uint64_t first = state.next_id();
    std::vector<Edit> edits{RaiseCounters{first + depth + 1 + more, 0}};
    FileId parent = kRootDirectory;
    for (std::uint64_t i = 0; i < depth; ++i) {
      edits.push_back(CreateDirectory{FileId(first + i), parent, name, 1});
      parent = FileId(first + i);
    }
    edits.push_back(CreateFile{.id = FileId(first + depth)});
    edits.push_back(LinkFile{parent, "file", FileId(first + depth)});
    for (std::uint64_t i = 0; i < more; ++i) {
      const FileId id(first + depth + 1 + i);
      edits.push_back(CreateFile{.id = id});
      edits.push_back(LinkFile{parent, "file-" + std::to_string(i), id});
    }
    return edits;
  });
}

}  // namespace zenfs
