#include "aside/asides.h"

#include "aside/reader_check.h"
#include "aside/rot_check.h"
#include "questions.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kReadersOneIn = 6, kBackupOneIn = 4, kRotOneIn = 8;

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

}  // namespace

std::string WhyNotAside(const AsideView& view) {
  Random random(view.seed);
  const bool reads = random.OneIn(kReadersOneIn), backs_up = random.OneIn(kBackupOneIn);
  const bool rots = random.OneIn(kRotOneIn);
  std::string why;
  if (reads) why = AskReaders(view, backs_up);
  if (why.empty() && rots) why = AskRot(view, random);
  return why;
}

}  // namespace zenfs
