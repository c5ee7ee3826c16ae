#include "aside/asides.h"

#include "aside/copy_check.h"
#include "aside/dead_zone_check.h"
#include "aside/reader_check.h"
#include "aside/rot_check.h"
#include "questions.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kReadersOneIn = 6, kBackupOneIn = 4, kRotOneIn = 8, kDeadOneIn = 8;

std::string AskReaders(const AsideView& view, bool backs_up) {
  view.prepare();
  const auto image = view.device.Image(LossPolicy::KeepAll());
  return WhyNotRead(*image, {.kind = view.readers_show, .expected = view.expected, .backs_up = backs_up});
}

std::string AskRot(const AsideView& view, Random& random) {
  std::vector<RotAct> acts = {RotAct::kMove};
  if (Asks(Question::kRotInLogs)) acts.push_back(RotAct::kClean);
  if (Asks(Question::kRotInReopened)) acts.push_back(RotAct::kReopen);
  if (Asks(Question::kRotInTruncated)) acts.push_back(RotAct::kTruncate);
  if (Asks(Question::kRotInBackups)) acts.push_back(RotAct::kBackUp);
  view.prepare();
  const auto image = view.device.Image(LossPolicy::KeepAll());
  return WhyNotFoundRotten(*image, view.mount, acts, random);
}

std::string AskDeadZones(const AsideView& view, Random& random) {
  DeadZoneCheck check{.mount = view.mount,
                      .kind = CrashKind::kProcessDied,
                      .expected = view.expected,
                      .metadata_zones = {},
                      .log_zones = Asks(Question::kDeadLogZone) && view.shared_memory};
  if (Asks(Question::kDeadMetadataZone)) check.metadata_zones = view.metadata_zones;
  std::string why = WhyNotWithoutAZone(view.device, check, view.prepare, random);
  if (!why.empty() || !Asks(Question::kRottenMetadata) || view.metadata_zones.empty()) return why;
  check.metadata_zones = view.metadata_zones;
  return WhyNotWithRottenMetadata(view.device, check, view.prepare, random);
}

std::string AskCopies(const AsideView& view) {
  const CopyCheck check{.mount = view.mount, .expected = view.expected};
  view.prepare();
  std::string why;
  if (Asks(Question::kStaleLogDevice))
    why = WhyNotOfDifferentTimes(view.device, *view.copy, check, "an earlier copy of the log device");
  if (why.empty() && Asks(Question::kStaleMainDevice))
    why = WhyNotOfDifferentTimes(*view.copy, view.device, check, "an earlier copy of the main device");
  if (why.empty() && Asks(Question::kCopyBesideOriginal)) why = WhyNotBesideOriginal(view.device, check);
  return why;
}

}  // namespace

std::string WhyNotAside(const AsideView& view) {
  Random random(view.seed);
  const bool reads = random.OneIn(kReadersOneIn), backs_up = random.OneIn(kBackupOneIn);
  const bool rots = random.OneIn(kRotOneIn), dies = random.OneIn(kDeadOneIn);
  std::string why;
  if (reads) why = AskReaders(view, backs_up);
  if (why.empty() && rots) why = AskRot(view, random);
  if (why.empty() && dies) why = AskDeadZones(view, random);
  // A copy would take the buffers of the original for its own.
  if (why.empty() && view.copy != nullptr && !view.shared_memory) why = AskCopies(view);
  return why;
}

}  // namespace zenfs
