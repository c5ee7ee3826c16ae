#include "volume/mount/mount_gate.h"

#include <fmt/format.h>

namespace zenfs {

std::unexpected<Error> MountGate::Forked() const {
  return Fail(Code::kShutdown,
              fmt::format("{}: this process was forked from the one that mounted it; a forked "
                          "child can't use the volume",
                          device_name_));
}

std::unexpected<Error> MountGate::Unmounted() const {
  return Fail(Code::kShutdown, fmt::format("{}: the volume is unmounted", device_name_));
}

bool MountGate::Close() {
  if (fork_guard_.InChild() || gate_.closed()) return false;
  gate_.Close();
  return true;
}

}  // namespace zenfs
