// The part of a check that verifies the extents: each lies in the written part of a zone that may hold data, and overlaps
// no other.
#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "format/superblock.h"
#include "model/state.h"
#include "volume/check_volume.h"
#include "volume/file_names.h"

namespace zenfs {

struct CheckContext {
  ZonedDevice& device;
  const Superblock& superblock;
  std::span<const ZoneId> metadata_zones;
  const State& state;
  std::span<const ZoneInfo> report;
  const FileNames& names;
  CheckReport& out;

  // Calls `text` only if the finding is kept.
  void Add(Severity severity, const std::invocable auto& text, std::optional<ZoneId> zone = std::nullopt,
           std::optional<DeviceOffset> offset = std::nullopt, FileId file = kNoFile) {
    out.findings.Add(severity, [&] {
      FileNames::Paths paths = names.PathsOf(file);
      return Finding{severity, text(), zone, offset, std::move(paths.whole), paths.others};
    });
  }
  void Add(Severity severity, std::string text, std::optional<ZoneId> zone = std::nullopt,
           std::optional<DeviceOffset> offset = std::nullopt, FileId file = kNoFile) {
    Add(severity, [&] { return std::move(text); }, zone, offset, file);
  }
};

void CheckExtents(CheckContext& context);

}  // namespace zenfs
