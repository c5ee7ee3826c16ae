#include "cli/local_time.h"

#include <ctime>

namespace zenfs {

std::string FormatTime(std::uint64_t seconds) {
  if (seconds == 0) return "-";
  const auto when = static_cast<std::time_t>(seconds);
  std::tm local{};
  char text[64];
  if (localtime_r(&when, &local) == nullptr) return "-";
  return std::string(text, std::strftime(text, sizeof(text), "%b %d %Y %H:%M:%S", &local));
}

}  // namespace zenfs
