// Seeds of the target metadata: logs written by the production code, at several ages.
#include <fmt/format.h>

#include "metadata_log.h"
#include "metalog/metalog.h"
#include "seeds.h"
#include "testing/edit_walk.h"

namespace zenfs {
namespace {

void WriteLog(SeedWriter& writer, std::uint64_t seed, int commits, int switch_every) {
  const Superblock superblock = MetadataSuperblock();
  ImageDevice device(MetadataGeometry());
  if (!Metalog::Format(device, superblock, {}).ok()) std::abort();
  const auto log = Metalog::Open(device, superblock);
  if (!log) std::abort();
  EditWalk walk(seed);
  for (int i = 0; i < commits; ++i) {
    if (!(*log)->Commit(walk.Next()).ok()) std::abort();
    if (i % switch_every == switch_every - 1 && !(*log)->Switch().ok()) std::abort();
  }
  (*log)->Stop();
  const std::string script = ScriptOf(MetadataScript(superblock), device.Save());
  for (const char mode : {'\0', '\1', '\3'}) {
    writer.Write("metadata", fmt::format("log-{}-{}", seed, static_cast<int>(mode)), mode + script);
  }
}

}  // namespace

void WriteMetadataSeeds(SeedWriter& writer) {
  WriteLog(writer, 1, 0, 1);
  WriteLog(writer, 2, 3, 100);
  WriteLog(writer, 3, 12, 5);
  WriteLog(writer, 4, 30, 9);
  WriteLog(writer, 5, 8, 1);
}

}  // namespace zenfs
