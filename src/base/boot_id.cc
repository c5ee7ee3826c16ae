#include "base/boot_id.h"

#include <fstream>

namespace zenfs {

std::string BootId() {
  static const std::string boot = [] {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    return file >> id ? id : "unknown";
  }();
  return boot;
}

}  // namespace zenfs
