// Rings that the kernel no longer serves, permanently or for a moment. Each test forbids or removes
// something for the rest of its process, so it runs in its own process, with an alarm in case it
// hangs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "backends/host/kernel_queue.h"
#include "backends/host/plain_io.h"
#include "base/unique_fd.h"
#include "testing/device_data.h"
#include "testing/temp_directory.h"

namespace zenfs::ring_stall_test {
namespace {

constexpr unsigned kLimit = 15;  // seconds

// From now on the system call fails with EPERM.
bool Forbid(unsigned call) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),  // the system call number
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = 4, .filter = code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Simulates a program that enters a sandbox after opening its files.
bool ForbidEntering() { return Forbid(SYS_io_uring_enter); }

class FileTarget final : public IoTarget {
 public:
  explicit FileTarget(int fd) : fd_(fd) {}
  Result<IoPlace> Place(const IoRequest& request) override {
    return IoPlace{.fd = fd_, .offset = request.offset.value, .keep = {}};
  }
  Status Settle(const IoRequest& request, const IoOutcome& outcome) override {
    const bool read = request.kind == IoRequest::Kind::kRead;
    if (outcome.Moved(read ? request.read_into.size() : request.write_from.size())) return {};
    return Fail(Code::kIo, "short", outcome.os_errno);
  }

 private:
  const int fd_;
};

class RingStallTest : public testing::Test {
 protected:
  void SetUp() override {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    if (rings_.Acquire(1) == nullptr) GTEST_SKIP() << "this host's kernel refuses io_uring";
  }
  [[noreturn]] static void Leave(bool good) { ::_exit(good ? 0 : 1); }

  TempDirectory directory_;
  UniqueFd file_{::open(directory_.File("data").c_str(), O_RDWR | O_CREAT, 0600)};
  AlignedBuffer data_ = Pattern(4096, 1);
  RingPool rings_;
};

bool FileHolds(int fd, ByteView data) {
  std::vector<std::byte> found(data.size());
  return ReadPlainly(fd, 0, found).Moved(found.size()) && SameBytes(found, data);
}

TEST_F(RingStallTest, WriteContinuesBySystemCallsIfRingsAreForbidden) {
  const auto run = [&] {
    ::alarm(kLimit);
    const ByteView piece = data_.View();
    if (!ForbidEntering()) Leave(false);
    const bool written = WriteByRing(rings_, file_.get(), 0, std::span(&piece, 1)).Moved(piece.size());
    Leave(written && FileHolds(file_.get(), piece) && rings_.Acquire(1) == nullptr);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST_F(RingStallTest, ReadContinuesBySystemCallsIfRingsAreForbidden) {
  const auto run = [&] {
    ::alarm(kLimit);
    const ByteView piece = data_.View();
    if (!WritePlainly(file_.get(), 0, std::span(&piece, 1)).Moved(piece.size())) Leave(false);
    std::vector<std::byte> found(piece.size());
    if (!ReadByRing(rings_, file_.get(), 0, found).Moved(found.size()) || !ForbidEntering()) Leave(false);
    std::ranges::fill(found, std::byte{0});
    const bool read = ReadByRing(rings_, file_.get(), 0, found).Moved(found.size());
    Leave(read && SameBytes(found, piece) && rings_.Acquire(1) == nullptr);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

// seccomp, as in containers. kernel.io_uring_disabled gives the same error.
TEST_F(RingStallTest, WriteUsesSystemCallsIfNoRingCanBeCreated) {
  const auto run = [&] {
    ::alarm(kLimit);
    const ByteView piece = data_.View();
    if (!Forbid(SYS_io_uring_setup)) Leave(false);
    RingPool rings;
    const bool written = WriteByRing(rings, file_.get(), 0, std::span(&piece, 1)).Moved(piece.size());
    FileTarget target(file_.get());
    AlignedBuffer found(piece.size());
    found.Resize(piece.size());
    IoRequest request{.offset = DeviceOffset(0), .read_into = found.Span()};
    const auto queue = CreateKernelQueue(target, rings, 1);
    queue->Submit(&request);
    std::vector<IoRequest*> done;
    queue->Reap(1, done);
    const std::vector<std::string> notices = WithRefusal({"first"}, rings, "dev:x");
    const bool told =
        notices.size() == 2 && notices[1].starts_with("dev:x: the kernel refuses io_uring (Operation");
    Leave(written && request.status.ok() && SameBytes(found.View(), piece) && rings.Acquire(1) == nullptr &&
          !queue->overlaps() && told && !RingPool(RingPool::Use::kForbidden).Refusal("dev:x"));
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

// Kernels before 5.12 count a ring's memory as locked memory. The limit applies to unprivileged
// users.
TEST_F(RingStallTest, WriteSucceedsWithoutLockedMemory) {
  const auto run = [&] {
    ::alarm(kLimit);
    const ByteView piece = data_.View();
    const rlimit none{.rlim_cur = 0, .rlim_max = 0};
    constexpr uid_t kNobody = 65534;
    if (::setrlimit(RLIMIT_MEMLOCK, &none) != 0 || (::geteuid() == 0 && ::setuid(kNobody) != 0)) Leave(false);
    RingPool rings;
    const bool written = WriteByRing(rings, file_.get(), 0, std::span(&piece, 1)).Moved(piece.size());
    Leave(written && FileHolds(file_.get(), piece));
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST_F(RingStallTest, WriteThatNeedsARingFailsWithoutOne) {
  const auto run = [&] {
    ::alarm(kLimit);
    const ByteView piece = data_.View();
    RingPool rings(RingPool::Use::kNeeded);
    const bool lent = rings.Acquire(1) != nullptr;
    if (!ForbidEntering()) Leave(false);
    const IoOutcome outcome = WriteByRing(rings, file_.get(), 0, std::span(&piece, 1));
    FileTarget target(file_.get());
    IoRequest request{.kind = IoRequest::Kind::kWrite, .offset = DeviceOffset(0), .write_from = piece};
    const auto queue = CreateKernelQueue(target, rings, 1);
    queue->Submit(&request);
    std::vector<IoRequest*> done;
    queue->Reap(1, done);
    Leave(lent && outcome.os_errno == EAGAIN && outcome.bytes == 0 && !request.status.ok() &&
          request.status.error().os_errno() == EAGAIN && ::lseek(file_.get(), 0, SEEK_END) == 0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST_F(RingStallTest, QueueCompletesAllRequestsIfRingsAreForbidden) {
  const auto run = [&] {
    ::alarm(kLimit);
    FileTarget target(file_.get());
    std::vector<IoRequest> requests(9);
    for (IoRequest& request : requests) {
      request = {.kind = IoRequest::Kind::kWrite, .offset = DeviceOffset(0), .write_from = data_.View()};
    }
    std::vector<IoRequest*> done;
    bool good = true;
    {
      const auto queue = CreateKernelQueue(target, rings_, 4);
      for (std::size_t i = 0; i < 6; ++i) queue->Submit(&requests[i]);
      if (!ForbidEntering()) Leave(false);
      queue->Reap(6, done);
      good = done.size() == 6 && queue->in_flight() == 0;
      for (std::size_t i = 6; i < 9; ++i) queue->Submit(&requests[i]);
    }  // the destructor waits for the rest
    for (const IoRequest& request : requests) good = good && request.status.ok();
    Leave(good && FileHolds(file_.get(), data_.View()) && rings_.Acquire(1) == nullptr);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST(RingPatienceTest, CommandIsNotRepeatedForever) {
  RingStall stall;
  const SteadyTime begin = SteadyNow();
  EXPECT_TRUE(stall.TryAgain(-EAGAIN));
  while (stall.TryAgain(-EINTR)) ASSERT_LT(SteadyNow(), begin + 10 * RingStall::kPatience);
  EXPECT_GE(SteadyNow(), begin + RingStall::kPatience);
  EXPECT_FALSE(RingStall().TryAgain(-EPERM));
}

TEST_F(RingStallTest, ShortageOfDescriptorsRefusesRingsTemporarily) {
  const auto run = [&] {
    ::alarm(kLimit);
    const auto busy = rings_.Acquire(1);  // takes the idle ring
    rlimit before{};
    if (::getrlimit(RLIMIT_NOFILE, &before) != 0) Leave(false);
    const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &none) != 0) Leave(false);
    const bool refused = rings_.Acquire(1) == nullptr;
    if (::setrlimit(RLIMIT_NOFILE, &before) != 0) Leave(false);
    Leave(busy != nullptr && refused && rings_.Acquire(1) != nullptr);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace zenfs::ring_stall_test
