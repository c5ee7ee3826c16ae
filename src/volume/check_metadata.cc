#include "volume/check_metadata.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>

#include "metalog/metadata_scan.h"
#include "metalog/metazones.h"
#include "metalog/probe.h"
#include "metalog/reconstruct.h"
#include "metalog/replay.h"

namespace zenfs {
namespace {

void Add(CheckReport& out, Severity severity, std::string text, ZoneId zone, DeviceOffset offset) {
  out.findings.Add({severity, std::move(text), zone, offset});
}

// A generation newer than the replayed one may exist and be unreadable, or may be gone.
Status AddDoubt(ZonedDevice& device, const Superblock& superblock, const MetadataScan& scan,
                std::uint64_t generation, CheckReport& out) {
  const Geometry& geometry = device.geometry();
  const Result<Replayed> replayed =
      scan.flaws.empty() ? Fail(Code::kNotFound, "") : Replay(device, superblock);
  if (replayed && replayed->doubt) {
    Add(out, Severity::kError, *replayed->doubt + ", or discard those commits with zenfs check --repair",
        replayed->doubtful_zone, geometry.ZoneStart(replayed->doubtful_zone));
  } else if (scan.EndsInSwitch(generation)) {
    const MetadataFrame& last =
        std::ranges::find(scan.generations, generation, &ScannedGeneration::generation)->frames.back();
    Add(out, Severity::kWarning,
        fmt::format(
            "metadata zone {}, byte {}: a log switch began after commit {}, but the next generation is "
            "missing: it was never written, or it is lost",
            last.zone.value, last.at, last.last_sequence),
        last.zone, geometry.ZoneStart(last.zone) + last.at);
  }
  return {};
}

}  // namespace

Status CheckMetadataZones(ZonedDevice& device, const Superblock& superblock, std::uint64_t generation,
                          std::span<const ZoneId> chain, std::uint32_t copies, CheckReport& out) {
  if (copies < CopiesOf(superblock, device.geometry())) {
    Add(out, Severity::kWarning,
        fmt::format(
            "the metadata log has one copy: too few metadata zones were good for a second one; the loss of "
            "metadata zone {} would cost the volume",
            fmt::join(chain | std::views::transform(&ZoneId::value), ", ")),
        chain.front(), device.geometry().ZoneStart(chain.front()));
  }
  ZENFS_ASSIGN_OR_RETURN(const MetadataScan scan, ScanMetadata(device, superblock));
  ZENFS_RETURN_IF_ERROR(AddDoubt(device, superblock, scan, generation, out));
  for (const MetadataFlaw& flaw : scan.flaws) {
    const DeviceOffset offset = device.geometry().ZoneStart(flaw.zone) + flaw.at;
    const bool in_use = std::ranges::find(chain, flaw.zone) != chain.end();
    if (flaw.whole_in && std::ranges::find(chain, *flaw.whole_in) != chain.end()) {
      Add(out, Severity::kWarning,
          FlawText(flaw) + "; the next read-write mount writes both copies anew, if other zones are good",
          flaw.zone, offset);
    } else if (flaw.kind == MetadataFlaw::Kind::kOffline) {
      Add(out, Severity::kWarning, FlawText(flaw), flaw.zone, offset);
    } else if (!in_use) {
      // A log switch that was interrupted by a power loss leaves such zones; so does the reset of an old generation.
      Add(out, Severity::kNote, FlawText(flaw) + "; the zone is not in use", flaw.zone, offset);
    } else if (flaw.kind == MetadataFlaw::Kind::kTail) {
      Add(out, Severity::kWarning, FlawText(flaw), flaw.zone, offset);
    } else {
      const bool copy = flaw.kind == MetadataFlaw::Kind::kSuperblock;
      Add(out, Severity::kError, FlawText(flaw) + (copy ? "; zenfs check --repair rewrites all copies" : ""),
          flaw.zone, offset);
    }
  }
  return {};
}

Status ExplainLog(ZonedDevice& device, const Superblock& superblock, const Error& error, CheckReport& out) {
  ZENFS_ASSIGN_OR_RETURN(const MetadataScan scan, ScanMetadata(device, superblock));
  Finding whole{Severity::kError, error.ToString()};
  const auto first = std::ranges::find_if(
      scan.flaws, [](const MetadataFlaw& flaw) { return flaw.kind != MetadataFlaw::Kind::kTail; });
  if (first != scan.flaws.end()) {
    whole.zone = first->zone;
    whole.offset = device.geometry().ZoneStart(first->zone) + first->at;
  }
  out.findings.Add(std::move(whole));
  for (const MetadataFlaw& flaw : scan.flaws) {
    Add(out, flaw.kind == MetadataFlaw::Kind::kTail ? Severity::kWarning : Severity::kError, FlawText(flaw),
        flaw.zone, device.geometry().ZoneStart(flaw.zone) + flaw.at);
  }
  const Result<Reconstructed> found = Reconstruct(device, superblock, scan);
  if (!found && found.error().code() == Code::kNotSupported) return Fail(found.error());
  if (found) {
    out.findings.Add({Severity::kNote,
                      fmt::format("zenfs check --repair can repair this: {}", ReconstructionText(*found))});
  } else {
    out.findings.Add({Severity::kError, found.error().ToString()});
  }
  out.has_state = false;
  return {};
}

Result<CheckReport> ExplainSuperblocks(ZonedDevice& device, const Error& error) {
  CheckReport out;
  out.has_state = false;
  ZENFS_ASSIGN_OR_RETURN(const std::vector<SuperblockCopy> copies, ScanSuperblocks(device));
  for (const SuperblockCopy& copy : copies) {
    // Data zones and log zones hold no copy: their first block has no superblock magic.
    if (copy.superblock || copy.superblock.error().code() == Code::kNotFound) continue;
    Add(out, Severity::kError,
        fmt::format("metadata zone {}, byte 0: {}", copy.zone.value, copy.superblock.error().ToString()),
        copy.zone, device.geometry().ZoneStart(copy.zone));
  }
  if (const Result<SuperblockCopy> corrected = CorrectedSuperblock(device)) {
    Add(out, Severity::kError,
        fmt::format(
            "no copy of the superblock is valid, but the one in metadata zone {} has a single flipped "
            "bit: zenfs check --repair corrects it",
            corrected->zone.value),
        corrected->zone, device.geometry().ZoneStart(corrected->zone));
    return out;
  }
  out.findings.Add(
      {Severity::kError,
       fmt::format("no copy of the superblock is valid ({}): without one, no data on the device can be "
                   "verified; restore from a backup",
                   error.ToString())});
  return out;
}

}  // namespace zenfs
