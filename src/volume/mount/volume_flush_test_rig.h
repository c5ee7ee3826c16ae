// Shared by the tests of Flush: a volume with its own append buffers, on a device that can stop at any command.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/random.h"
#include "base/shared_memory.h"
#include "testing/crash_device.h"
#include "volume/fsck/check_volume.h"
#include "volume/volume_test_util.h"

namespace zenfs {

inline EmulatorGeometry FlushGeometry() {
  return {.zones = 24, .zone_size = 1 << 20, .zone_capacity = 768 << 10, .max_open = 14, .max_active = 14};
}

class VolumeFlushTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_FALSE(DefaultSharedMemoryDirectory().empty()) << "this test needs a writable tmpfs";
    ASSERT_TRUE(std::filesystem::create_directory(directory_));
    Use(std::make_unique<CrashDevice>(FlushGeometry()));
    ASSERT_TRUE(IsOk(FormatVolume(*device_, {})));
    ASSERT_TRUE(Mount());
  }
  void TearDown() override {
    file_.reset();
    volume_.reset();
    std::filesystem::remove_all(directory_);
  }

  void Use(std::unique_ptr<CrashDevice> device) {
    device_ = std::move(device);
    device_->SetIdentity("crash:1");
  }
  MountOptions Options() const {
    MountOptions options;
    options.flush_directory = directory_;
    options.wal_buffer_bytes = wal_buffer_bytes_;
    options.discard_unsynced = discard_;
    options.space_wait = space_wait_;
    return options;
  }
  testing::AssertionResult Mount() {
    mounted_ = Volume::Mount(Borrow(*device_), Options());
    if (mounted_) volume_ = *mounted_;
    return IsOk(mounted_);
  }
  // The process dies: nothing more reaches the device, and the device keeps all completed commands.
  void Die() {
    End();
    Use(device_->Image(LossPolicy::KeepAll()));
  }
  // Writes a table of which `synced` bytes are synced and the others are flushed. The process dies while it truncates the table:
  // after the commit, and before it empties the append buffer.
  void DieInATruncation(const std::string& path, const std::string& text, std::size_t synced,
                        std::uint64_t size) {
    Open(path);
    ASSERT_TRUE(IsOk(file_->Append(AsBytes(text.substr(0, synced)))));
    ASSERT_TRUE(IsOk(file_->Sync()));
    ASSERT_TRUE(IsOk(AppendAndFlush(text.substr(synced))));
    ASSERT_EQ(Buffers().size(), 1u);
    const std::string buffers = Buffers().front();
    std::ostringstream before;
    before << std::ifstream(buffers, std::ios::binary).rdbuf();
    ASSERT_TRUE(IsOk(file_->Truncate(size)));
    Die();
    std::ofstream(buffers, std::ios::binary) << before.str();
  }
  // The power is lost, and the tmpfs with it.
  void LosePower(LossPolicy policy) {
    End();
    for (const std::string& path : Buffers()) std::filesystem::remove(path);
    Use(device_->Image(policy));
  }
  void End() {
    device_->StopAfter(0);
    file_.reset();
    volume_.reset();
    mounted_ = Fail(Code::kShutdown, "dead");
  }
  void Open(const std::string& path) {
    auto opened = volume_->OpenForAppend(path, true);
    ASSERT_TRUE(IsOk(opened));
    file_ = *std::move(opened);
  }
  Status AppendAndFlush(std::string_view text) {
    ZENFS_RETURN_IF_ERROR(file_->Append(AsBytes(text)));
    return file_->Flush();
  }
  std::string Get(const std::string& path) {
    const Result<std::string> content = GetFile(*volume_, path);
    EXPECT_TRUE(IsOk(content)) << path;
    return content.value_or("<missing>");
  }
  // A table whose flushed bytes follow committed extents, and one with flushed extents from the second zone on.
  struct FlushedTable {
    std::size_t synced;
    std::size_t size;
  };
  static constexpr FlushedTable kFlushedTables[] = {{6000, 7000}, {1'000'000, 1'400'000}};
  // Letters that differ from block to block.
  static std::string Text(std::size_t bytes, unsigned seed = 0) {
    std::string text(bytes, ' ');
    for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>('a' + (i / 100 + i % 7 + seed) % 26);
    return text;
  }
  void ExpectSound() { zenfs::ExpectSound(*device_, {.read_data = true, .progress = {}}); }
  std::vector<std::string> Buffers() const { return ListSharedMemory(directory_, "zenfs-"); }
  std::uint64_t Commands() const { return device_->commands(); }

  const std::string directory_ =
      DefaultSharedMemoryDirectory() + "/zenfs-test-" + std::to_string(RandomSeed());
  std::unique_ptr<CrashDevice> device_;
  Result<std::shared_ptr<Volume>> mounted_ = Fail(Code::kShutdown, "not mounted yet");
  std::shared_ptr<Volume> volume_;
  std::unique_ptr<FileHandle> file_;
  std::optional<std::uint64_t> wal_buffer_bytes_;
  bool discard_ = false;
  std::chrono::seconds space_wait_ = MountOptions().space_wait;
};

}  // namespace zenfs
