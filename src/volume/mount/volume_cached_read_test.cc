// Who is answered by the host's cache, and who only by the device.
#include <gmock/gmock.h>

#include "device/forwarding_device.h"
#include "volume/fsck/scrub.h"
#include "volume/volume_test_util.h"

namespace zenfs {
namespace {

// A device whose cache lies, and fails if it shall.
class LyingCache final : public ForwardingDevice, private HostCache {
 public:
  using ForwardingDevice::ForwardingDevice;
  using ForwardingDevice::Read;

  HostCache* host_cache() override { return this; }
  void FailReads() { fails_ = true; }
  std::uint64_t advised() const { return advised_; }

 private:
  void Read(std::span<CachedRead> reads) override {
    for (CachedRead& read : reads) {
      std::ranges::fill(read.into, std::byte{'L'});
      read.status = fails_ ? Fail(Code::kIo, "the cache fails") : Status();
    }
  }
  void Advise(DeviceOffset, std::uint64_t length, CacheAdvice) override { advised_ += length; }

  bool fails_ = false;
  std::uint64_t advised_ = 0;
};

class CachedReadTest : public VolumeTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(IsOk(volume_->Unmount()));
    auto lying = std::make_unique<LyingCache>(*device_);
    cache_ = lying.get();
    auto mounted = Volume::Mount(std::move(lying), {});
    ASSERT_TRUE(IsOk(mounted));
    volume_ = *std::move(mounted);
    Put("a.sst", text_);
    Put("b.log", text_);
  }
  std::string Read(const std::string& path, ReadSource source) {
    const auto file = volume_->OpenForRead(path);
    std::string found(text_.size(), '?');
    const auto n = (*file)->Read(0, std::as_writable_bytes(std::span(found)), source);
    return n ? found.substr(0, *n) : n.error().ToString();
  }
  std::string ReadMany(const std::string& path, ReadSource source) {
    const auto file = volume_->OpenForRead(path);
    std::string found(text_.size(), '?');
    const ByteSpan bytes = std::as_writable_bytes(std::span(found));
    ReadRequest requests[] = {{0, bytes.first(100), {}}, {100, bytes.subspan(100), {}}};
    (*file)->ReadMany(requests, source);
    for (const ReadRequest& request : requests) EXPECT_TRUE(IsOk(request.status));
    return found;
  }

  const std::string text_ = std::string(100'000, 't');
  LyingCache* cache_ = nullptr;
};

TEST_F(CachedReadTest, OnlyBufferedReadsOfTablesAreAnsweredByTheCache) {
  const std::string lies(text_.size(), 'L');
  EXPECT_EQ(Read("a.sst", ReadSource::kCache), lies);
  EXPECT_EQ(ReadMany("a.sst", ReadSource::kCache), lies);
  EXPECT_EQ(Read("a.sst", ReadSource::kDevice), text_);
  EXPECT_EQ(ReadMany("a.sst", ReadSource::kDevice), text_);
  EXPECT_EQ(Read("b.log", ReadSource::kCache), text_);
}

TEST_F(CachedReadTest, WhatTheCacheCannotReadTheDeviceDoes) {
  cache_->FailReads();
  EXPECT_EQ(Read("a.sst", ReadSource::kCache), text_);
  EXPECT_EQ(ReadMany("a.sst", ReadSource::kCache), text_);
}

// Truncation proves the part that stays, and a mount reads its logs.
TEST_F(CachedReadTest, WhatProvesOrMovesBytesAsksTheDevice) {
  EXPECT_EQ(*ContentOf(**volume_->OpenForRead("a.sst")), text_);
  EXPECT_TRUE(IsOk(TruncateFile(*volume_, "a.sst", 50'001)));
  EXPECT_EQ(Read("a.sst", ReadSource::kDevice), text_.substr(0, 50'001));
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  LyingCache lying(*device_);
  const auto scrubbed = ScrubVolume(lying, {});
  ASSERT_TRUE(IsOk(scrubbed));
  EXPECT_TRUE(scrubbed->findings.empty());
  const auto checked = CheckVolume(lying, {.read_data = true, .progress = {}});
  ASSERT_TRUE(IsOk(checked));
  EXPECT_TRUE(checked->clean());
  volume_.reset();
  Mount();
  EXPECT_EQ(*GetFile(*volume_, "b.log"), text_);
}

TEST_F(CachedReadTest, AdviceIsAboutBytesOnTheDevice) {
  const auto file = volume_->OpenForRead("a.sst");
  (*file)->Advise(1000, 5000, CacheAdvice::kWillNeed);
  EXPECT_EQ(cache_->advised(), 5000u);
  (*file)->Advise(99'000, 5000, CacheAdvice::kWillNeed);
  EXPECT_EQ(cache_->advised(), 6000u) << "not beyond the file";
  (*volume_->OpenForRead("b.log"))->Advise(0, 5000, CacheAdvice::kWillNeed);
  EXPECT_EQ(cache_->advised(), 6000u) << "logs are not read through the cache";
}

}  // namespace
}  // namespace zenfs
