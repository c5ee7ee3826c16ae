#include "volume/mount_gate.h"

#include <fmt/format.h>

namespace zenfs {

Result<Gate::Entry> MountGate::Enter() const {
  if (fork_guard_.InChild()) {
    return Fail(Code::kShutdown,
                fmt::format("{}: this process was forked from the one that mounted it; a forked "
                            "child can't use the volume",
                            device_name_));
  }
  Gate::Entry entry = gate_.Enter();
  if (!entry) return Fail(Code::kShutdown, fmt::format("{}: the volume is unmounted", device_name_));
  return entry;
}

bool MountGate::Close() {
  if (fork_guard_.InChild() || gate_.closed()) return false;
  gate_.Close();
  return true;
}

}  // namespace zenfs
