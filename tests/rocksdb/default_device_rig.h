// Shared by the tests of default devices: a volume, and a directory of the host as prefix.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>

#include "rocksdb_plugin/default_file_system.h"
#include "test_volume.h"

namespace zenfs {

class DefaultDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(prefix);
    Start();
  }
  void TearDown() override {
    Stop();
    EXPECT_TRUE(volume.CheckIsClean());
  }

  // Begins and ends what is a process for the file system.
  void Start() {
    fs = std::make_unique<DefaultFileSystem>(DefaultDevice{.uri = volume.uri(), .prefixes = prefixes}, host);
  }
  void Stop() { fs.reset(); }
  void Restart() {
    Stop();
    Start();
  }

  std::string At(const std::string& name) const { return prefix + "/" + name; }
  void MakeDirectory(const std::string& name) {
    ASSERT_STATUS_OK(fs->CreateDirIfMissing(At(name), kIo, nullptr));
  }
  IOStatus Write(const std::string& name, const std::string& text) { return WriteWhole(*fs, At(name), text); }
  std::string Read(const std::string& name) { return ReadWhole(*fs, At(name)); }
  bool Exists(const std::string& name) { return fs->FileExists(At(name), kIo, nullptr).ok(); }
  std::set<std::string> Children(const std::string& name) {
    std::vector<std::string> names;
    EXPECT_STATUS_OK(fs->GetChildren(At(name), kIo, &names, nullptr));
    const std::set<std::string> sorted(names.begin(), names.end());
    EXPECT_EQ(sorted.size(), names.size());
    return sorted;
  }
  // What the host itself shows.
  std::set<std::string> OnHost(const std::string& name) const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(At(name)))
      names.insert(entry.path().filename());
    return names;
  }
  // Names in the volume's directory; empty if it is missing. The volume must not be mounted.
  std::set<std::string> InVolume(const std::string& name) const { return AtPathInVolume(At(name)); }
  std::set<std::string> SetAside() const { return AtPathInVolume("/.zenfs-removed"); }
  std::set<std::string> AtPathInVolume(const std::string& path) const {
    const auto direct = volume.Open();
    std::vector<std::string> names;
    if (direct == nullptr || !direct->GetChildren(path, kIo, &names, nullptr).ok()) return {};
    return {names.begin(), names.end()};
  }
  // Each entry has a marker in a directory, or belongs to files that are set aside.
  void ExpectNoLeftovers() {
    Stop();
    std::set<std::string> removed;  // UUID.ID: after a crash two markers count
    for (const auto& entry : std::filesystem::directory_iterator(Registry())) {
      const auto names = std::filesystem::hard_link_count(entry);
      if (names == 1) removed.insert(entry.path().stem());
      EXPECT_LE(names, 2u) << entry;
    }
    EXPECT_EQ(removed.size(), SetAside().size());
    Start();
  }
  std::string Registry() const { return volume.directory() + "/.zenfs." + std::to_string(geteuid()); }

  void PutOnHost(const std::string& name, const std::string& text) const { std::ofstream(At(name)) << text; }
  std::string TextOnHost(const std::string& name) const {
    std::ifstream file(At(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  DefaultDeviceTest() = default;
  explicit DefaultDeviceTest(const EmulatorGeometry& geometry) : volume(geometry) {}

  static EmulatorGeometry Small() {
    EmulatorGeometry geometry;
    geometry.zone_size = geometry.zone_capacity = 1 << 20;
    return geometry;
  }

  TestVolume volume;
  const std::string prefix = volume.directory() + "/host";
  std::vector<std::string> prefixes{prefix};
  const std::shared_ptr<rocksdb::FileSystem> host = rocksdb::FileSystem::Default();
  std::unique_ptr<DefaultFileSystem> fs;
};

}  // namespace zenfs
