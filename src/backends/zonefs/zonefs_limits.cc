#include "backends/zonefs/zonefs_limits.h"

#include <fstream>

namespace zenfs {
namespace {

std::optional<std::uint32_t> ReadNumber(const std::string& disk, const std::string& file,
                                        const std::string& sysfs) {
  std::ifstream text(sysfs + "/fs/zonefs/" + disk + "/" + file);
  std::uint32_t number = 0;
  if (text >> number) return number;
  return std::nullopt;
}

}  // namespace

ZonefsLimits ReadZonefsLimits(const std::string& disk, const BlockFacts* facts, const std::string& sysfs) {
  const auto open = ReadNumber(disk, "max_wro_seq_files", sysfs);
  const auto active = ReadNumber(disk, "max_active_seq_files", sysfs);
  if (open && active) {
    // Older kernels report 0 for a disk over others; host/block_facts.h then has the limits of the
    // disks below.
    const auto known = [](std::uint32_t said, std::uint32_t found) { return said != 0 ? said : found; };
    return {.max_open = known(*open, facts == nullptr ? 0 : facts->max_open),
            .max_active = known(*active, facts == nullptr ? 0 : facts->max_active),
            .known = true,
            .kept_by_zonefs = *open != 0 || *active != 0};
  }
  if (facts != nullptr && facts->model != ZonedModel::kNotZoned) {
    return {.max_open = facts->max_open, .max_active = facts->max_active, .known = true};
  }
  return {};
}

std::optional<std::uint32_t> ActiveZoneFiles(const std::string& disk, const std::string& sysfs) {
  return ReadNumber(disk, "nr_active_seq_files", sysfs);
}

}  // namespace zenfs
