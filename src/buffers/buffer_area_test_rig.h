// Shared by the tests of append buffers: an area in its own directory, and the death of its
// process.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "base/boot_id.h"
#include "base/random.h"
#include "buffers/append_buffer.h"
#include "buffers/buffer_area_place.h"
#include "buffers/live_buffers.h"
#include "buffers/orphaned_buffers.h"

namespace zenfs {

inline constexpr std::uint64_t kBufferBytes = 64 << 10;

class BufferAreaTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_FALSE(DefaultSharedMemoryDirectory().empty()) << "this test needs a tmpfs that can be written to";
    ASSERT_TRUE(std::filesystem::create_directory(directory_));
    area_ = Make();
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::shared_ptr<BufferArea> Make(std::uint64_t epoch = 7, std::uint32_t slots = 2) {
    auto made = BufferArea::Create({.directory = directory_,
                                    .identity = "file:1:2",
                                    .volume = volume_,
                                    .epoch = epoch,
                                    .slots = slots,
                                    .buffer_bytes = kBufferBytes});
    EXPECT_TRUE(made) << made.error().ToString();
    return *std::move(made);
  }
  // Simulates the death of the process: buffers that are not empty vanish.
  void Die(AppendBuffer buffer) {
    {
      const AppendBuffer gone = std::move(buffer);
    }
    area_.reset();
  }
  AppendBuffer Buffer(std::uint64_t owner, std::uint64_t offset, std::string_view text) {
    AppendBuffer buffer;
    buffer.Begin(area_, kBufferBytes, owner, offset);
    EXPECT_EQ(buffer.Append(AsBytes(text), 7), text.size());
    return buffer;
  }
  WhoseBuffers Whose() const { return {place_(), "file:1:2", volume_, 7, BootId(), key_()}; }
  void Overwrite(std::uint64_t at, char byte) {
    std::fstream file(path_(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
  }
  std::string place_() const { return kept_place_.empty() ? area_->place() : kept_place_; }
  std::string path_() const { return BufferAreaPlace::Parse(place_())->path; }
  std::string key_() const { return kept_place_.empty() ? area_->PlaceEdit().key : kept_key_; }
  void KeepPlace() {
    kept_place_ = area_->place();
    kept_key_ = area_->PlaceEdit().key;
  }
  // Puts this key and a valid checksum into the header.
  void ForgeKey(char byte) {
    const auto opened = SharedMemory::Open(path_(), SharedMemory::Access::kRead);
    ASSERT_TRUE(opened);
    BufferAreaHeader header;
    std::memcpy(&header, opened->view().data(), sizeof header);
    std::memset(header.key, byte, sizeof header.key);
    std::string page(kBufferAreaHeaderBytes, '\0');
    SealBufferAreaHeader(std::as_writable_bytes(std::span(page)), header);
    std::fstream(path_(), std::ios::in | std::ios::out | std::ios::binary)
        .write(page.data(), std::ssize(page));
  }

  const std::string directory_ =
      DefaultSharedMemoryDirectory() + "/zenfs-test-" + std::to_string(RandomSeed());
  const Uuid volume_ = Uuid::Generate();
  std::shared_ptr<BufferArea> area_;
  std::string kept_place_;
  std::string kept_key_;
};

inline LiveBuffers Look(const WhoseBuffers& whose) {
  LiveBuffers buffers;
  buffers.Update(whose, Deadline::After(std::chrono::seconds(10)));
  return buffers;
}

inline Code CodeOf(const Result<OrphanedBuffers>& left) {
  return left ? Code::kShutdown : left.error().code();
}

}  // namespace zenfs
