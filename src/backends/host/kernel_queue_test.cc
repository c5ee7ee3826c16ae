// Tests the queue on a plain file, with io_uring and without it.
#include "backends/host/kernel_queue.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "backends/host/plain_io.h"
#include "base/unique_fd.h"
#include "testing/device_data.h"
#include "testing/temp_directory.h"

namespace zenfs {
namespace {

// Requests go to the file at their own offsets; the target refuses those at kRefused.
class FileTarget final : public IoTarget {
 public:
  static constexpr std::uint64_t kRefused = 1'000'000;

  explicit FileTarget(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_CREAT, 0600)) {}

  Result<IoPlace> Place(const IoRequest& request) override {
    if (request.offset.value >= kRefused) return Fail(Code::kInvalidArgument, "refused");
    return IoPlace{
        .fd = request.offset.value == 999 ? -1 : fd_.get(), .offset = request.offset.value, .keep = kept};
  }
  Status Settle(const IoRequest& request, const IoOutcome& outcome) override {
    const bool read = request.kind == IoRequest::Kind::kRead;
    if (outcome.Moved(read ? request.read_into.size() : request.write_from.size())) return {};
    return Fail(Code::kIo, fmt::format("{} bytes", outcome.bytes), outcome.os_errno);
  }
  int fd() const { return fd_.get(); }

  std::shared_ptr<int> kept = std::make_shared<int>(0);

 private:
  const UniqueFd fd_;
};

class KernelQueueTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && rings_.Acquire(1) == nullptr) GTEST_SKIP() << "this host's kernel refuses io_uring";
  }
  void Fill(std::size_t bytes) {
    content_ = Pattern(bytes, 7);
    const ByteView view = content_.View();
    ASSERT_TRUE(WritePlainly(target_.fd(), 0, std::span(&view, 1)).Moved(bytes));
  }
  void ReapAll(IoQueue& queue) {
    while (queue.in_flight() != 0) queue.Reap(1, done_);
  }

  TempDirectory directory_;
  FileTarget target_{directory_.File("data")};
  RingPool rings_{GetParam() ? RingPool::Use::kAllowed : RingPool::Use::kForbidden};
  AlignedBuffer content_;
  std::vector<IoRequest*> done_;
};

TEST_P(KernelQueueTest, MoreRequestsThanTheDepthAllComeBack) {
  Fill(200 * 512);
  const auto queue = CreateKernelQueue(target_, rings_, 4);
  std::vector<std::vector<std::byte>> buffers(200, std::vector<std::byte>(512));
  std::vector<IoRequest> requests(200);
  for (std::uint64_t i = 0; i < requests.size(); ++i) {
    requests[i].offset = DeviceOffset(i * 512);
    requests[i].read_into = buffers[i];
    queue->Submit(&requests[i]);
  }
  EXPECT_EQ(queue->in_flight(), 200u);
  ReapAll(*queue);
  EXPECT_EQ(done_.size(), 200u);
  for (std::uint64_t i = 0; i < requests.size(); ++i) {
    EXPECT_TRUE(requests[i].status.ok());
    EXPECT_TRUE(SameBytes(buffers[i], content_.View(i * 512, 512))) << i;
  }
}

TEST_P(KernelQueueTest, RefusedRequestsDoNotStopThoseBehindThem) {
  Fill(512);
  const auto queue = CreateKernelQueue(target_, rings_, 1);
  std::vector<std::byte> buffer(512);
  std::vector<IoRequest> requests(9);
  for (std::uint64_t i = 0; i < requests.size(); ++i) {
    requests[i].offset = DeviceOffset(i % 4 == 0 ? 0 : FileTarget::kRefused);
    requests[i].read_into = buffer;
    queue->Submit(&requests[i]);
  }
  ReapAll(*queue);
  EXPECT_EQ(done_.size(), 9u);
  for (std::uint64_t i = 0; i < requests.size(); ++i) EXPECT_EQ(requests[i].status.ok(), i % 4 == 0) << i;
}

TEST_P(KernelQueueTest, ReadPastTheEndFailsWithTheNumberOfBytesRead) {
  Fill(512);
  const auto queue = CreateKernelQueue(target_, rings_, 1);
  std::vector<std::byte> buffer(1024);
  IoRequest request{.offset = DeviceOffset(0), .read_into = buffer};
  queue->Submit(&request);
  ReapAll(*queue);
  ASSERT_FALSE(request.status.ok());
  EXPECT_EQ(request.status.error().text(), "512 bytes");
  EXPECT_EQ(request.status.error().os_errno(), 0);
}

TEST_P(KernelQueueTest, ErrnoOfTheKernelReachesTheRequest) {
  const auto queue = CreateKernelQueue(target_, rings_, 1);
  std::vector<std::byte> buffer(512);
  IoRequest request{.offset = DeviceOffset(999), .read_into = buffer};
  queue->Submit(&request);
  ReapAll(*queue);
  ASSERT_FALSE(request.status.ok());
  EXPECT_EQ(request.status.error().os_errno(), EBADF);
}

TEST_P(KernelQueueTest, PollStartsSubmittedRequests) {
  const auto queue = CreateKernelQueue(target_, rings_, 1);
  const AlignedBuffer data = Pattern(512, 3);
  IoRequest request{.kind = IoRequest::Kind::kWrite, .offset = DeviceOffset(0), .write_from = data.View()};
  queue->Submit(&request);
  while (done_.empty()) queue->Reap(0, done_);
  EXPECT_TRUE(request.status.ok());
  std::vector<std::byte> found(512);
  EXPECT_TRUE(ReadPlainly(target_.fd(), 0, found).Moved(512));
  EXPECT_TRUE(SameBytes(found, data.View()));
}

TEST_P(KernelQueueTest, PlaceIsKeptUntilTheRequestIsDoneAndNoLonger) {
  Fill(512);
  const auto queue = CreateKernelQueue(target_, rings_, 2);
  std::vector<std::byte> buffer(512);
  IoRequest request{.offset = DeviceOffset(0), .read_into = buffer};
  queue->Submit(&request);
  ReapAll(*queue);
  EXPECT_EQ(target_.kept.use_count(), 1);
}

TEST_P(KernelQueueTest, RingIsReturnedToThePool) {
  Fill(512);
  for (int i = 0; i < 100; ++i) {
    const auto queue = CreateKernelQueue(target_, rings_, 8);
    std::vector<std::byte> buffer(512);
    IoRequest request{.offset = DeviceOffset(0), .read_into = buffer};
    queue->Submit(&request);
    ReapAll(*queue);
    ASSERT_TRUE(request.status.ok());
  }
}

INSTANTIATE_TEST_SUITE_P(Io, KernelQueueTest, testing::Bool(),
                         [](const auto& allowed) { return allowed.param ? "Ring" : "Plain"; });

TEST(WriteTest, ManyPiecesAreWrittenOneBehindTheOtherByBoth) {
  TempDirectory directory;
  std::vector<AlignedBuffer> buffers;
  std::vector<ByteView> pieces;
  std::vector<std::byte> expected;
  for (std::uint64_t i = 0; i < 150; ++i) {  // more than fit into one system call
    buffers.push_back(Pattern(i % 5 == 0 ? 0 : 512, i));
    pieces.push_back(buffers.back().View());
    expected.insert(expected.end(), pieces.back().begin(), pieces.back().end());
  }
  RingPool rings;
  for (const bool by_ring : {false, true}) {
    const UniqueFd fd(::open(directory.File(by_ring ? "ring" : "plain").c_str(), O_RDWR | O_CREAT, 0600));
    const IoOutcome outcome =
        by_ring ? WriteByRing(rings, fd.get(), 0, pieces) : WritePlainly(fd.get(), 0, pieces);
    EXPECT_TRUE(outcome.Moved(expected.size())) << outcome.bytes << " " << outcome.os_errno;
    std::vector<std::byte> found(expected.size());
    EXPECT_TRUE(ReadPlainly(fd.get(), 0, found).Moved(found.size()));
    EXPECT_TRUE(SameBytes(found, expected));
  }
}

TEST(ReadTest, RingReadsWhatSystemCallsRead) {
  TempDirectory directory;
  const UniqueFd fd(::open(directory.File("data").c_str(), O_RDWR | O_CREAT, 0600));
  const AlignedBuffer data = Pattern(8 * 512, 1);
  const ByteView piece = data.View();
  ASSERT_TRUE(WritePlainly(fd.get(), 0, std::span(&piece, 1)).Moved(piece.size()));
  for (const auto use : {RingPool::Use::kAllowed, RingPool::Use::kForbidden}) {
    for (const auto entries : {RingPool::Entries::kSmall, RingPool::Entries::kBig}) {
      RingPool rings(use, entries);
      for (int again = 0; again < 3; ++again) {  // by one ring, which nothing of the last read may be left in
        std::vector<std::byte> found(3 * 512);
        EXPECT_TRUE(ReadByRing(rings, fd.get(), 512, found).Moved(found.size()));
        EXPECT_TRUE(SameBytes(found, piece.subspan(512, found.size())));
        const IoOutcome at_end = ReadByRing(rings, fd.get(), 6 * 512, found);
        EXPECT_EQ(at_end.bytes, 2 * 512U);
        EXPECT_EQ(at_end.os_errno, 0);
        EXPECT_EQ(ReadByRing(rings, -1, 0, found).os_errno, EBADF);
        EXPECT_TRUE(ReadByRing(rings, fd.get(), 0, {}).Moved(0));
      }
    }
  }
}

TEST(WriteTest, ErrorSaysHowMuchWasWrittenBefore) {
  RingPool rings;
  const AlignedBuffer data = Pattern(512, 1);
  const ByteView piece = data.View();
  EXPECT_EQ(WritePlainly(-1, 0, std::span(&piece, 1)).os_errno, EBADF);
  EXPECT_EQ(WriteByRing(rings, -1, 0, std::span(&piece, 1)).os_errno, EBADF);
  EXPECT_EQ(WriteByRing(rings, -1, 0, std::span(&piece, 1)).bytes, 0u);
}

// The number of write system calls of this process; nothing if the kernel does not count them. Uses
// no streams: the undefined behaviour sanitizer checks objects with virtual functions by write
// calls.
std::optional<std::uint64_t> WritingCalls() {
  const UniqueFd fd(::open("/proc/self/io", O_RDONLY | O_CLOEXEC));
  std::array<char, 512> text{};
  if (fd.get() < 0 || ::read(fd.get(), text.data(), text.size() - 1) <= 0) return std::nullopt;
  constexpr std::string_view kKey = "syscw: ";
  const char* const found = std::strstr(text.data(), kKey.data());
  if (found == nullptr) return std::nullopt;
  return std::strtoull(found + kKey.size(), nullptr, 10);
}

TEST(WriteTest, LongWriteIsSentInPartsNoLongerThanAsked) {
  TempDirectory directory;
  const UniqueFd fd(::open(directory.File("data").c_str(), O_RDWR | O_CREAT, 0600));
  const AlignedBuffer data = Pattern(8 * 512, 1);
  const ByteView piece = data.View();
  const auto before = WritingCalls();
  if (!before) GTEST_SKIP() << "the kernel does not count the calls of a process (/proc/self/io)";
  EXPECT_TRUE(WritePlainly(fd.get(), 0, std::span(&piece, 1), 1024).Moved(8 * 512));
  EXPECT_EQ(WritingCalls(), *before + 4);
  std::vector<std::byte> found(8 * 512);
  EXPECT_TRUE(ReadPlainly(fd.get(), 0, found).Moved(found.size()));
  EXPECT_TRUE(SameBytes(found, data.View()));
}

}  // namespace
}  // namespace zenfs
