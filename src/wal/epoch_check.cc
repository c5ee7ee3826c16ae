#include "wal/epoch_check.h"

#include <fmt/format.h>

namespace zenfs {

std::string EpochCheck::Text(std::uint64_t known) const {
  return fmt::format(
      "log zone {} has frames of mount epoch {}, but the last epoch in the metadata log is {}: commits are "
      "lost, including the one that began epoch {}",
      zone_.value, epoch_, known, epoch_);
}

}  // namespace zenfs
