#include "test_volume.h"

#include <cstdlib>

#include "discovery/volume_device.h"
#include "rocksdb/convenience.h"
#include "volume/fsck/check_volume.h"
#include "volume/mkfs.h"

namespace zenfs {

namespace {

EmulatorGeometry DefaultGeometry() {
  EmulatorGeometry geometry;
  geometry.zone_capacity = 12u << 20;
  return geometry;
}

}  // namespace

TestVolume::TestVolume() : TestVolume(DefaultGeometry()) {}

TestVolume::TestVolume(const EmulatorGeometry& geometry) {
  std::string pattern = std::filesystem::temp_directory_path() / "zenfs-rocksdb-test-XXXXXX";
  directory_ = mkdtemp(pattern.data());
  const Status created = CreateEmulatedFile(device_path(), geometry, /*overwrite=*/false);
  EXPECT_TRUE(created.ok()) << created.error().ToString();
  Format(FormatOptions{});
}

TestVolume::TestVolume(LogDevice) : TestVolume() {
  const std::string logs_path = directory_ / "logs.img";
  EXPECT_TRUE(CreateEmulatedFile(logs_path, {.zones = 16, .zone_size = 1 << 20}, false).ok());
  const auto main = OpenEmulatedFile(device_path(), OpenMode::kExclusive);
  const auto logs = OpenEmulatedFile(logs_path, OpenMode::kExclusive);
  const auto formatted = FormatTwoDevices(
      {.main = **main, .logs = **logs, .main_name = "emu:" + device_path(), .logs_name = "emu:" + logs_path},
      {.force = true});
  EXPECT_TRUE(formatted) << formatted.error().ToString();
}

void TestVolume::Format(const FormatOptions& options) const {
  auto device = OpenEmulatedFile(device_path(), OpenMode::kExclusive);
  EXPECT_TRUE(device) << device.error().ToString();
  const auto formatted = FormatVolume(**device, options);
  EXPECT_TRUE(formatted) << formatted.error().ToString();
}

TestVolume::~TestVolume() {
  std::error_code error;
  std::filesystem::remove_all(directory_, error);
}

std::string TestVolume::uri(std::string_view options) const {
  std::string uri = "zenfs://emu:" + device_path();
  return options.empty() ? uri : uri + "?" + std::string(options);
}

rocksdb::Status TestVolume::TryOpen(const std::string& uri,
                                    std::shared_ptr<rocksdb::FileSystem>* result) const {
  rocksdb::ConfigOptions config;
  return rocksdb::FileSystem::CreateFromString(config, uri, result);
}

std::shared_ptr<rocksdb::FileSystem> TestVolume::Open(std::string_view options) const {
  std::shared_ptr<rocksdb::FileSystem> fs;
  EXPECT_STATUS_OK(TryOpen(uri(options), &fs));
  return fs;
}

::testing::AssertionResult TestVolume::CheckIsClean() const {
  DeviceOptions none;
  auto device = OpenVolumeDevice(DeviceUri{.kind = "emu", .target = device_path(), .options = {}},
                                 OpenMode::kReadOnly, &none);
  if (!device) return ::testing::AssertionFailure() << device.error().ToString();
  const auto report = CheckVolume(**device, CheckOptions{.read_data = true, .progress = {}});
  if (!report) return ::testing::AssertionFailure() << report.error().ToString();
  if (report->clean()) return ::testing::AssertionSuccess();
  auto failure = ::testing::AssertionFailure();
  for (const Finding& finding : report->findings) failure << finding.text << "\n";
  return failure;
}

std::string ReadWhole(rocksdb::FileSystem& fs, const std::string& path) {
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  IOStatus status = fs.NewSequentialFile(path, FileOptions(), &file, nullptr);
  std::string all;
  std::string scratch(64 << 10, '\0');
  while (status.ok()) {
    Slice piece;
    status = file->Read(scratch.size(), IOOptions(), &piece, scratch.data(), nullptr);
    if (status.ok() && piece.empty()) return all;
    all.append(piece.data(), piece.size());
  }
  return status.ToString();
}

IOStatus WriteWhole(rocksdb::FileSystem& fs, const std::string& path, const std::string& bytes, bool sync) {
  std::unique_ptr<rocksdb::FSWritableFile> file;
  IOStatus status = fs.NewWritableFile(path, FileOptions(), &file, nullptr);
  if (status.ok()) status = file->Append(bytes, IOOptions(), nullptr);
  if (status.ok() && sync) status = file->Sync(IOOptions(), nullptr);
  if (status.ok()) status = file->Close(IOOptions(), nullptr);
  return status;
}

}  // namespace zenfs
