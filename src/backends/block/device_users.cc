#include "backends/block/device_users.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace zenfs {
namespace {

namespace fs = std::filesystem;

std::string Mount(const std::string& root, const std::string& disk) {
  std::ifstream mounts(root + "/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string source, place;
    words >> source >> place;
    if (source == "/dev/" + disk) return "mounted at " + place;
  }
  return "";
}

bool HasOpen(const fs::path& process, const fs::path& node) {
  std::error_code none;
  for (const auto& fd : fs::directory_iterator(process / "fd", none)) {
    if (fs::read_symlink(fd.path(), none) == node) return true;
  }
  return false;
}

std::string Process(const std::string& root, const std::string& disk) {
  std::error_code none;
  for (const auto& process : fs::directory_iterator(root + "/proc", none)) {
    const std::string pid = process.path().filename();
    if (!std::all_of(pid.begin(), pid.end(), [](char c) { return c >= '0' && c <= '9'; })) continue;
    if (!HasOpen(process.path(), "/dev/" + disk)) continue;
    std::ifstream file(process.path() / "comm");
    std::string command;
    std::getline(file, command);
    return fmt::format("open in process {} ({})", pid, command);
  }
  return "";
}

}  // namespace

std::string DescribeDeviceUsers(const BlockFacts& facts, const std::string& root) {
  if (!facts.holders.empty()) return "part of " + facts.holders.front();
  std::string user = Mount(root, facts.name);
  if (user.empty()) user = Process(root, facts.name);
  return user;
}

}  // namespace zenfs
