#include "workload.h"

#include "leveled_tree.h"
#include "overwrites.h"

namespace zenfs::space {

std::unique_ptr<TraceSource> MakeWorkload(std::string_view name, const WorkloadOptions& options) {
  if (name == "leveled") return std::make_unique<LeveledTree>(options);
  if (name == "uniform") return std::make_unique<Overwrites>(Overwrites::Pattern::kUniform, options);
  if (name == "zipf") return std::make_unique<Overwrites>(Overwrites::Pattern::kZipf, options);
  return nullptr;
}

}  // namespace zenfs::space
