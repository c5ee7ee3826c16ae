// Admits calls into a mounted volume until the unmount, and never in a forked child.
// Threads: any.
#pragma once

#include <fmt/format.h>

#include <string>

#include "base/fork_guard.h"
#include "base/gate.h"
#include "base/status.h"

namespace zenfs {

class MountGate {
 public:
  // `device_name` is for messages.
  explicit MountGate(std::string device_name) : device_name_(std::move(device_name)) {}

  // Errors: kShutdown after Close, and in a forked child.
  [[nodiscard]] Result<Gate::Entry> Enter() const {  // inline: on the way of every append
    if (fork_guard_.InChild()) [[unlikely]]
      return Forked();
    Gate::Entry entry = gate_.Enter();
    if (!entry) [[unlikely]]
      return Unmounted();
    return entry;
  }
  // For a call that has entered before: kShutdown in a forked child.
  [[nodiscard]] Status CheckNotForked() const {
    if (fork_guard_.InChild()) [[unlikely]]
      return Forked();
    return {};
  }
  // Refuses new calls and waits until those inside have ended. In a forked child, or if the gate is already closed, does
  // nothing and returns false: then the caller has nothing to unmount.
  [[nodiscard]] bool Close();
  bool closed() const { return gate_.closed(); }

 private:
  std::unexpected<Error> Forked() const;
  std::unexpected<Error> Unmounted() const;

  const std::string device_name_;
  const ForkGuard fork_guard_;
  mutable Gate gate_;
};

inline std::unexpected<Error> MountGate::Forked() const {
  return Fail(Code::kShutdown,
              fmt::format("{}: this process was forked from the one that mounted it; a forked "
                          "child can't use the volume",
                          device_name_));
}

inline std::unexpected<Error> MountGate::Unmounted() const {
  return Fail(Code::kShutdown, fmt::format("{}: the volume is unmounted", device_name_));
}

inline bool MountGate::Close() {
  if (fork_guard_.InChild() || gate_.closed()) return false;
  gate_.Close();
  return true;
}

}  // namespace zenfs
