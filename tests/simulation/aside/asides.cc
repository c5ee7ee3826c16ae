#include "aside/asides.h"

#include "aside/reader_check.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kReadersOneIn = 6, kBackupOneIn = 4;

std::string AskReaders(const AsideView& view, bool backs_up) {
  view.prepare();
  const auto image = view.device.Image(LossPolicy::KeepAll());
  return WhyNotRead(*image, {.kind = view.readers_show, .expected = view.expected, .backs_up = backs_up});
}

}  // namespace

std::string WhyNotAside(const AsideView& view) {
  Random random(view.seed);
  const bool reads = random.OneIn(kReadersOneIn), backs_up = random.OneIn(kBackupOneIn);
  std::string why;
  if (reads) why = AskReaders(view, backs_up);
  return why;
}

}  // namespace zenfs
