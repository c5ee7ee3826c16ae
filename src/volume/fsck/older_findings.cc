#include "volume/fsck/older_findings.h"

#include <utility>

namespace zenfs {

void AddOlderFindings(const ZonedDevice& device, const Superblock& superblock,
                      const std::vector<OlderFlaw>& flaws, Findings& findings) {
  findings.Add({.severity = Severity::kNote, .text = OlderVolumeText(device.name(), superblock)});
  for (const OlderFlaw& flaw : flaws) {
    Finding finding{.severity = flaw.loss ? Severity::kError : Severity::kNote, .text = flaw.text};
    if (flaw.zone) {
      finding.zone = *flaw.zone;
      finding.offset = device.geometry().ZoneStart(*flaw.zone) + flaw.at;
    }
    findings.Add(std::move(finding));
  }
}

}  // namespace zenfs
