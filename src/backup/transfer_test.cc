#include "backup/transfer.h"

#include <gmock/gmock.h>

#include <cstring>

#include "base/crc32c.h"
#include "testing/refused_threads.h"

namespace zenfs {
namespace {

using testing::UnorderedElementsAre;

class TransferTest : public testing::Test, public TransferObserver {
 protected:
  void OnPath(const std::string& path) override { paths_.push_back(path); }
  void OnNotice(const std::string& line) override { notices_.push_back(line); }
  void OnProgress(std::uint64_t done, std::uint64_t) override { done_ = done; }

  static ReadAhead::Reader Source(const std::string& content) {
    return [&content](std::uint64_t offset, ByteSpan into) -> Result<std::size_t> {
      const std::size_t n =
          std::min(into.size(), content.size() - std::min<std::size_t>(offset, content.size()));
      if (n != 0) std::memcpy(into.data(), content.data() + offset, n);
      return n;
    };
  }
  static std::string Content(std::size_t size) {
    std::string out(size, '\0');
    for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>(i * 31 + (i >> 12));
    return out;
  }

  std::vector<std::string> paths_;
  void ExpectAllIsDoneOnceAndSaid() {
    Transfer transfer(*this, nullptr);
    std::vector<std::atomic<int>> calls(100);
    ASSERT_TRUE(transfer
                    .Run(100, 4,
                         [&](std::size_t i) -> Status {
                           ++calls[i];
                           if (i % 50 == 0) transfer.Say(std::to_string(i));
                           return {};
                         })
                    .ok());
    for (const auto& count : calls) EXPECT_EQ(count, 1);
    EXPECT_THAT(paths_, UnorderedElementsAre("0", "50"));
  }

  std::vector<std::string> notices_;
  std::uint64_t done_ = 0;
};

TEST_F(TransferTest, EveryPieceOfWorkIsDoneOnceAndSaid) { ExpectAllIsDoneOnceAndSaid(); }

TEST_F(TransferTest, AnObserverThatIsSlowerThanTheWorkDoesNotMakeLinesPileUp) {
  std::atomic<std::int64_t> said{0};
  std::int64_t most = 0;
  struct SlowObserver : TransferObserver {
    void OnPath(const std::string&) override { most = std::max(most, said.load() - ++shown); }
    void OnNotice(const std::string&) override {}
    void OnProgress(std::uint64_t, std::uint64_t) override {}
    SlowObserver(std::atomic<std::int64_t>& s, std::int64_t& m) : said(s), most(m) {}
    std::atomic<std::int64_t>& said;
    std::int64_t& most;
    std::int64_t shown = 0;
  } observer(said, most);
  Transfer transfer(observer, nullptr);
  ASSERT_TRUE(transfer
                  .Run(100'000, 4,
                       [&](std::size_t i) -> Status {
                         transfer.Say(std::to_string(i));
                         ++said;
                         return {};
                       })
                  .ok());
  EXPECT_EQ(observer.shown, 100'000);
  EXPECT_LT(most, 1'000);
}

TEST_F(TransferTest, AnObserverThatThrowsLeavesNoThreadWaiting) {
  struct ThrowingObserver : TransferObserver {
    void OnPath(const std::string&) override { throw std::bad_alloc(); }
    void OnNotice(const std::string&) override {}
    void OnProgress(std::uint64_t, std::uint64_t) override {}
  } observer;
  Transfer transfer(observer, nullptr);
  EXPECT_THROW(static_cast<void>(transfer.Run(10'000, 4,
                                              [&](std::size_t i) -> Status {
                                                transfer.Say(std::to_string(i));
                                                return {};
                                              })),
               std::bad_alloc);
}

TEST_F(TransferTest, AllWorkIsDoneByTheThreadsThatTheHostAllows) {
  for (int first = 1; first <= 5; ++first) {
    const RefusedThreads refused(first, RefusedThreads::kForEver);
    paths_.clear();
    ExpectAllIsDoneOnceAndSaid();
  }
}

TEST_F(TransferTest, WorkThatFindsNoMemoryIsAnError) {
  Transfer transfer(*this, nullptr);
  const Status status = transfer.Run(3, 2, [](std::size_t) -> Status { throw std::bad_alloc(); });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().text(), "out of memory");
  const ReadAhead::Reader no_memory = [](std::uint64_t, ByteSpan) -> Result<std::size_t> {
    throw std::bad_alloc();
  };
  const auto crc = transfer.Pump(no_memory, 5 * ReadAhead::kChunk, "x", {});
  ASSERT_FALSE(crc);
}

TEST_F(TransferTest, FileIsReadWithoutAThreadThatReadsAhead) {
  const RefusedThreads refused(1, RefusedThreads::kForEver);
  Transfer transfer(*this, nullptr);
  const std::string content = Content(5 * ReadAhead::kChunk + 3);
  std::string out;
  const auto crc = transfer.Pump(Source(content), content.size(), "x", [&](ByteView chunk) -> Status {
    out += AsText(chunk);
    return {};
  });
  ASSERT_TRUE(crc);
  EXPECT_EQ(*crc, Crc32c(AsBytes(content)));
  EXPECT_EQ(out, content);
}

TEST_F(TransferTest, TheFirstErrorEndsTheWork) {
  Transfer transfer(*this, nullptr);
  std::atomic<int> calls{0};
  const Status status = transfer.Run(1'000'000, 3, [&](std::size_t i) -> Status {
    ++calls;
    if (i == 5) return Fail(Code::kIo, "five");
    return transfer.CheckGoingOn();
  });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().text(), "five");
  EXPECT_LT(calls, 1'000'000);
}

TEST_F(TransferTest, NoWorkIsDoneWhenItWasStoppedBefore) {
  const std::atomic<bool> stop{true};
  Transfer transfer(*this, &stop);
  const Status status = transfer.Run(3, 2, [](std::size_t) -> Status { return Fail(Code::kIo, "called"); });
  EXPECT_EQ(status.error().code(), Code::kShutdown);
  EXPECT_EQ(status.error().text(), "interrupted");
}

TEST_F(TransferTest, PumpHandsOutAllBytesInOrderWithTheirChecksum) {
  Transfer transfer(*this, nullptr);
  constexpr std::size_t kChunk = ReadAhead::kChunk;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, kChunk - 1, kChunk, kChunk + 1, 2 * kChunk, 5 * kChunk + 3}) {
    const std::string content = Content(size);
    std::string out;
    const auto crc = transfer.Pump(Source(content), size, "x", [&](ByteView chunk) -> Status {
      out += AsText(chunk);
      return {};
    });
    ASSERT_TRUE(crc.has_value());
    EXPECT_TRUE(out == content) << size;
    EXPECT_EQ(*crc, Crc32c(AsBytes(content))) << size;
  }
}

// R12 in docs/internals/failures.md.
TEST_F(TransferTest, AFileThatBecameShorterIsAnError) {
  Transfer transfer(*this, nullptr);
  for (const std::size_t size : {std::size_t{10}, 3 * ReadAhead::kChunk}) {
    const std::string content = Content(size - 1);
    const auto crc = transfer.Pump(Source(content), size, "cut", {});
    ASSERT_FALSE(crc.has_value());
    EXPECT_EQ(crc.error().code(), Code::kIo);
    EXPECT_THAT(crc.error().text(), testing::HasSubstr("cut ends at"));
  }
}

TEST_F(TransferTest, ErrorsOfReadingAndWritingComeThrough) {
  Transfer transfer(*this, nullptr);
  const auto failing = [](std::uint64_t offset, ByteSpan into) -> Result<std::size_t> {
    if (offset == 0) return into.size();
    return Fail(Code::kCorruption, "second");
  };
  EXPECT_EQ(transfer.Pump(failing, 4 * ReadAhead::kChunk, "x", {}).error().text(), "second");
  const std::string content = Content(4 * ReadAhead::kChunk);
  const auto full = [](ByteView) -> Status { return Fail(Code::kNoSpace, "full"); };
  EXPECT_EQ(transfer.Pump(Source(content), content.size(), "x", full).error().text(), "full");
}

}  // namespace
}  // namespace zenfs
