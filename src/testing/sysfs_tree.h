// A directory that looks like /sys, with as much of a zoned disk in it as the code under test
// reads.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "testing/temp_directory.h"

namespace zenfs {

class SysfsTree {
 public:
  const std::string& path() const { return directory_.path(); }

  void Put(const std::string& file, const std::string& text) const {
    const std::filesystem::path whole = std::filesystem::path(path()) / file;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text << "\n";
  }

  // Makes a link at `from` to `to`, both below the tree.
  void Link(const std::string& to, const std::string& from) const {
    const std::filesystem::path whole = std::filesystem::path(path()) / from;
    std::filesystem::create_directories(whole.parent_path());
    std::filesystem::create_symlink(std::filesystem::path(path()) / to, whole);
  }

  // A disk with only its number, under devices/, linked as the kernel does. Returns its folder.
  std::string AddDisk(const std::string& name, const std::string& number) const {
    const std::string home = "devices/" + name;
    Put(home + "/dev", number);
    for (const std::string& link : {"block/" + name, "class/block/" + name, "dev/block/" + number})
      Link(home, link);
    return home;
  }

  // A host-managed disk of 64 zones of 16 MiB, made in the same way.
  std::string AddZonedDisk(const std::string& name, const std::string& number,
                           const std::string& model) const {
    const std::string home = AddDisk(name, number);
    Put(home + "/size", "2097152");
    Put(home + "/wwid", "uuid." + name);
    Put(home + "/device/model", model);
    Put(home + "/queue/zoned", "host-managed");
    Put(home + "/queue/chunk_sectors", "32768");
    Put(home + "/queue/nr_zones", "64");
    Put(home + "/queue/max_open_zones", "14");
    Put(home + "/queue/max_active_zones", "14");
    Put(home + "/queue/zone_write_granularity", "4096");
    Put(home + "/queue/write_cache", "write back");
    Put(home + "/queue/scheduler", "[none] mq-deadline");
    return home;
  }

 private:
  TempDirectory directory_;
};

}  // namespace zenfs
