// Shared by the tests of aux directories: a volume with one.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb_plugin/mount_uri.h"
#include "test_volume.h"

namespace zenfs {

class AuxPath : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(aux);
    volume.Format({.aux_path = aux, .force = true});
    Mount();
  }
  void TearDown() override {
    Unmount();
    EXPECT_TRUE(volume.CheckIsClean());
  }
  void Mount(std::string_view options = "") {
    fs = volume.Open(options.empty() ? consent : consent + "," + std::string(options));
    ASSERT_NE(fs, nullptr);
    env = rocksdb::NewCompositeEnv(fs);
  }
  void Unmount() {
    db.reset();
    env.reset();
    fs.reset();
  }
  rocksdb::Options Options() const {
    rocksdb::Options options;
    options.env = env.get();
    options.create_if_missing = true;
    return options;
  }
  rocksdb::Status TryOpenDb(const rocksdb::Options& options) {
    rocksdb::DB* raw = nullptr;
    rocksdb::Status status = rocksdb::DB::Open(options, "/a/db", &raw);
    db.reset(raw);
    return status;
  }
  void OpenDb() {
    ASSERT_STATUS_OK(env->CreateDirIfMissing("/a"));
    ASSERT_STATUS_OK(TryOpenDb(Options()));
  }
  std::vector<std::string> Children(const std::string& directory) const {
    std::vector<std::string> names;
    EXPECT_STATUS_OK(fs->GetChildren(directory, kIo, &names, nullptr));
    return names;
  }
  std::string OnHost(const std::string& path) const {
    std::ifstream file(aux + path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<std::string> HostNames(const std::string& directory) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(aux + directory)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }
  // Writes a file into the volume itself, as programs do that do not know the aux directory.
  void PutIntoVolume(const std::string& path, const std::string& bytes) {
    Unmount();
    {
      const auto mounted = MountUri(volume.uri());
      ASSERT_TRUE(mounted.has_value());
      ASSERT_TRUE((*mounted)->MakeDirectory(path.substr(0, path.rfind('/')), true).ok());
      const auto file = (*mounted)->Create(path);
      ASSERT_TRUE(file.has_value());
      ASSERT_TRUE((*file)->Append(AsBytes(bytes)).ok());
      ASSERT_TRUE((*file)->Close().ok());
    }
    Mount();
  }
  bool IsMissing(const std::string& path) const { return fs->FileExists(path, kIo, nullptr).IsNotFound(); }

  TestVolume volume;
  std::string aux = volume.directory() + "/aux";
  std::string consent = "aux_path:" + aux;
  std::shared_ptr<rocksdb::FileSystem> fs;
  std::unique_ptr<rocksdb::Env> env;
  std::unique_ptr<rocksdb::DB> db;
};

}  // namespace zenfs
