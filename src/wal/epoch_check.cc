#include "wal/epoch_check.h"

#include <fmt/format.h>

namespace zenfs {

std::string EpochCheck::Text(std::uint64_t known) const {
  return fmt::format(
      "log zone {} holds what was written in mount epoch {}, and the metadata log knows of none behind {}: "
      "commits "
      "are lost, the one that began that epoch among them",
      zone_.value, epoch_, known);
}

}  // namespace zenfs
