// Who may change every byte of a device: those who may write to its node or file.
//
// Threads: functions on values.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <optional>

namespace zenfs {

struct DeviceOwner {
  std::uint32_t user = 0;
  // A group that may write to the file. The group of a node is the system's (udev: disk), whose members may write to all disks,
  // so it does not count.
  std::optional<std::uint32_t> group{};
  bool everybody = false;

  static DeviceOwner Of(const struct stat& status) {
    DeviceOwner owner{.user = status.st_uid, .everybody = (status.st_mode & S_IWOTH) != 0};
    if (S_ISREG(status.st_mode) && (status.st_mode & S_IWGRP) != 0) owner.group = status.st_gid;
    return owner;
  }
  // True if only root and the user of this process may change it.
  bool IsTrusted() const {
    return !everybody && (user == 0 || user == ::geteuid()) && (!group || *group == ::getegid());
  }
  friend bool operator==(const DeviceOwner&, const DeviceOwner&) = default;
};

}  // namespace zenfs
