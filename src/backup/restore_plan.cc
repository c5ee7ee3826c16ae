#include "backup/restore_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "backup/path_text.h"
#include "backup/volume_tree.h"
#include "base/free_bytes.h"
#include "base/saturating.h"
#include "base/short_bytes.h"
#include "catalog/path.h"
#include "volume/aux_directory/aux_directory.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kNamedAtMost = 3;

// Returns nothing if there is no such name.
Result<std::optional<FileStat>> Look(const Volume& volume, const std::string& path) {
  auto stat = volume.Stat(path);
  if (stat) return *stat;
  if (stat.error().code() == Code::kNotFound) return std::nullopt;
  return Fail(stat.error());  // kNotADirectory, among others
}

// Existing files that a restore would replace.
struct Collisions {
  std::uint64_t count = 0;
  std::string named;

  void Add(const std::string& path) {
    if (count < kNamedAtMost) named += (count == 0 ? "" : ", ") + path;
    ++count;
  }
};

Status RefuseCollisions(const Collisions& collisions) {
  if (collisions.count == 0) return {};
  const std::uint64_t more = collisions.count - std::min(collisions.count, kNamedAtMost);
  return Fail(
      Code::kExists,
      fmt::format(
          "{}{} {} there already ({} in all); nothing was changed; --force replaces files that differ",
          collisions.named, more == 0 ? "" : fmt::format(" and {} more", more),
          collisions.count == 1 ? "is" : "are", collisions.count));
}

// Bytes of files to restore in one place, and of the files that they replace.
struct Demand {
  std::uint64_t needed = 0;
  std::uint64_t replaced = 0;
};

Status CheckDevice(const Volume& volume, const Demand& demand) {
  // An optimistic check: garbage may be freed meanwhile, and log zones have room for files that are
  // logs.
  const SpaceReport space = volume.Space();
  const std::uint64_t room = SaturatingSum(space.free + space.garbage + space.log, demand.replaced);
  if (demand.needed <= room) return {};
  return Fail(Code::kNoSpace,
              fmt::format("{} has room for {}, and {} are to be restored; nothing was changed",
                          volume.info().device_name, ShortBytes(room), ShortBytes(demand.needed)));
}

Status CheckAuxDirectory(const AuxDirectory& aux, const Demand& demand) {
  if (demand.needed == 0) return {};
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory directory, aux.Enter());
  const auto free = FreeBytes(directory.descriptor());
  if (!free) return {};  // a lack of space will show when writing
  const std::uint64_t room = SaturatingSum(*free, demand.replaced);
  if (demand.needed <= room) return {};
  return Fail(
      Code::kNoSpace,
      fmt::format(
          "the aux directory {} has room for {}, and {} are to be restored there; nothing was changed",
          aux.host_path(), ShortBytes(room), ShortBytes(demand.needed)));
}

}  // namespace

Result<RestorePlan> PlanRestore(const Volume& volume, const RestoreSource& source,
                                const RestoreRecord& record, bool force) {
  RestorePlan plan;
  const std::string& top = source.into;
  if (const Status fits = CheckPathLimits(top); !fits.ok()) {
    return Fail(fits.error().With("the directory to restore into"));
  }
  if (IsRestoresOwn(top.substr(0, top.find('/')))) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: restores use this name in the volume for themselves", top));
  }
  const auto check_directory = [&](const std::string& directory) -> Status {
    ZENFS_ASSIGN_OR_RETURN(const auto stat, Look(volume, directory));
    if (!stat || stat->is_directory) return {};
    return Fail(Code::kNotADirectory,
                fmt::format("{} is a file in the volume, and a directory is needed there", directory));
  };
  if (!top.empty()) ZENFS_RETURN_IF_ERROR(check_directory(top));
  for (const PathNode directory : source.directories) {
    ZENFS_RETURN_IF_ERROR(check_directory(source.Destination(directory)));
  }
  Collisions collisions;
  const AuxDirectory* const aux = volume.aux_directory();
  Demand of_device;
  Demand of_host;
  for (const RestoreItem& item : source.items) {
    const std::string destination = source.Destination(item.node);
    if (record.Has(item, destination)) {
      ++plan.already_there;
      continue;
    }
    ZENFS_ASSIGN_OR_RETURN(const auto stat, Look(volume, destination));
    if (stat && stat->is_directory) {
      return Fail(
          Code::kIsADirectory,
          fmt::format("{} is a directory in the volume, and a file is to be restored there", destination));
    }
    if (stat) collisions.Add(destination);
    if (aux != nullptr && AuxDirectory::Keeps(destination)) {
      ZENFS_ASSIGN_OR_RETURN(const HostStat there, aux->Find(destination));
      of_host.needed = SaturatingSum(of_host.needed, item.size);
      of_host.replaced = SaturatingSum(of_host.replaced, there.size);
    } else {
      of_device.needed = SaturatingSum(of_device.needed, item.size);
      of_device.replaced = SaturatingSum(of_device.replaced, stat ? stat->size : 0);
    }
    plan.work.push_back(&item);
  }
  if (!force) ZENFS_RETURN_IF_ERROR(RefuseCollisions(collisions));
  ZENFS_RETURN_IF_ERROR(CheckDevice(volume, of_device));
  if (aux != nullptr) ZENFS_RETURN_IF_ERROR(CheckAuxDirectory(*aux, of_host));
  return plan;
}

}  // namespace zenfs
