#include "cli/consent.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdio>
#include <ctime>

#include "base/clock.h"

namespace zenfs {

Result<bool> MayGoOn(Console& console, bool yes, bool json) {
  if (yes) return true;
  if (json || !Terminal::Of(fileno(stdin)).is_terminal) {
    return Fail(Code::kInvalidArgument,
                "nothing was changed: give --yes, or run it on a terminal, which asks first");
  }
  return console.Ask("Go on?");
}

std::string DefaultSaveFile(const Uuid& uuid) {
  return fmt::format("zenfs-metadata-{}-{:%Y%m%dT%H%M%SZ}.zmeta", uuid.ToString(),
                     fmt::gmtime(static_cast<std::time_t>(WallSeconds())));
}

}  // namespace zenfs
