#include "volume/check_metadata.h"

#include <fmt/format.h>

#include <algorithm>

#include "metalog/log_survey.h"
#include "metalog/probe.h"
#include "metalog/reconstruct.h"

namespace zenfs {
namespace {

void Add(CheckReport& out, Severity severity, std::string text, ZoneId zone, DeviceOffset offset) {
  out.findings.push_back({severity, std::move(text), zone, offset, ""});
}

}  // namespace

Status CheckMetadataZones(ZonedDevice& device, const Superblock& superblock, std::span<const ZoneId> chain,
                          CheckReport& out) {
  ZENFS_ASSIGN_OR_RETURN(const LogSurvey survey, SurveyLog(device, superblock));
  for (const MetadataFlaw& flaw : survey.flaws) {
    const DeviceOffset offset = device.geometry().ZoneStart(flaw.zone) + flaw.at;
    const bool in_use = std::ranges::find(chain, flaw.zone) != chain.end();
    if (flaw.kind == MetadataFlaw::Kind::kOffline) {
      Add(out, Severity::kWarning, FlawText(flaw), flaw.zone, offset);
    } else if (!in_use) {
      // A roll that a loss of power cut off leaves such; so does the reset of an old generation.
      Add(out, Severity::kNote, FlawText(flaw) + "; nothing in use stands there", flaw.zone, offset);
    } else if (flaw.kind == MetadataFlaw::Kind::kTail) {
      if (flaw.zone == chain.back()) Add(out, Severity::kWarning, FlawText(flaw), flaw.zone, offset);
    } else {
      const bool copy = flaw.kind == MetadataFlaw::Kind::kSuperblock;
      Add(out, Severity::kError,
          FlawText(flaw) + (copy ? "; zenfs check --repair writes all copies anew" : ""), flaw.zone, offset);
    }
  }
  return {};
}

Status ExplainLog(ZonedDevice& device, const Superblock& superblock, const Error& error, CheckReport& out) {
  ZENFS_ASSIGN_OR_RETURN(const LogSurvey survey, SurveyLog(device, superblock));
  out.findings.push_back({Severity::kError, error.ToString(), std::nullopt, std::nullopt, ""});
  for (const MetadataFlaw& flaw : survey.flaws) {
    Add(out, flaw.kind == MetadataFlaw::Kind::kTail ? Severity::kWarning : Severity::kError, FlawText(flaw),
        flaw.zone, device.geometry().ZoneStart(flaw.zone) + flaw.at);
  }
  const Result<Reconstructed> found = Reconstruct(device, superblock, survey);
  if (!found && found.error().code() == Code::kNotSupported) return Fail(found.error());
  std::string hope = found ? fmt::format("of the metadata log, {}: zenfs check --repair does that",
                                         ReconstructionText(*found))
                           : found.error().ToString();
  out.findings.push_back({Severity::kError, std::move(hope), std::nullopt, std::nullopt, ""});
  return {};
}

Result<CheckReport> ExplainSuperblocks(ZonedDevice& device, const Error& error) {
  CheckReport out;
  ZENFS_ASSIGN_OR_RETURN(const std::vector<SuperblockCopy> copies, SurveySuperblocks(device));
  for (const SuperblockCopy& copy : copies) {
    // Zones of data and of logs hold no copy, and don't look like one.
    if (copy.superblock || copy.superblock.error().code() == Code::kNotFound) continue;
    Add(out, Severity::kError,
        fmt::format("metadata zone {}, byte 0: {}", copy.zone.value, copy.superblock.error().ToString()),
        copy.zone, device.geometry().ZoneStart(copy.zone));
  }
  out.findings.push_back(
      {Severity::kError,
       fmt::format("no copy of the superblock is valid ({}): nothing on the device can be told from "
                   "chance without it; restore from a backup",
                   error.ToString()),
       std::nullopt, std::nullopt, ""});
  return out;
}

}  // namespace zenfs
