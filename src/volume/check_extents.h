// The part of a check that verifies the extents: each lies in the written part of a zone that may hold data, and overlaps
// no other.
#pragma once

#include <span>
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

  void Add(Severity severity, std::string text, std::optional<ZoneId> zone = std::nullopt,
           std::optional<DeviceOffset> offset = std::nullopt, FileId file = kNoFile) {
    FileNames::Paths paths = names.PathsOf(file);
    out.findings.Add({severity, std::move(text), zone, offset, std::move(paths.whole), paths.others});
  }
};

void CheckExtents(CheckContext& context);

}  // namespace zenfs
