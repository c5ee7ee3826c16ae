// The cost of a batch of direct reads through the queue of the kernel's devices: with a ring from
// the pool, with a new ring, and read by read. The file is in ZENFS_BENCH_DIR, which should be on a
// file system with O_DIRECT; otherwise the benchmark reports that.
#include <benchmark/benchmark.h>
#include <fcntl.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "backends/host/kernel_queue.h"
#include "backends/host/plain_io.h"
#include "base/aligned_buffer.h"
#include "base/random.h"
#include "base/unique_fd.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kFileBytes = 64ull << 20;
constexpr std::size_t kBlock = 4096;

class FileTarget final : public IoTarget {
 public:
  FileTarget() {
    const char* folder = std::getenv("ZENFS_BENCH_DIR");
    std::string path = std::string(folder == nullptr ? "/var/tmp" : folder) + "/zenfs-host-io-XXXXXX";
    UniqueFd made(::mkstemp(path.data()));
    AlignedBuffer data(1 << 20);
    data.PadTo(data.capacity());
    data.Resize(data.capacity());
    for (std::uint64_t at = 0; at < kFileBytes; at += data.size()) {
      const ByteView view = data.View();
      ok_ = WritePlainly(made.get(), at, std::span(&view, 1)).Moved(data.size());
    }
    ::fsync(made.get());
    fd_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
    ::unlink(path.c_str());
  }
  bool usable() const { return ok_ && fd_.valid(); }

  Result<IoPlace> Place(const IoRequest& request) override {
    return IoPlace{.fd = fd_.get(), .offset = request.offset.value, .keep = {}};
  }
  Status Settle(const IoRequest& request, const IoOutcome& outcome) override {
    if (outcome.Moved(request.read_into.size())) return {};
    return Fail(Code::kIo, "read failed", outcome.os_errno);
  }

 private:
  bool ok_ = false;
  UniqueFd fd_;
};

enum class How { kPooledRing, kFreshRing, kReadByRead };

void BatchOfReads(benchmark::State& state, How how) {
  static FileTarget target;
  if (!target.usable()) {
    state.SkipWithError("ZENFS_BENCH_DIR takes no O_DIRECT");
    return;
  }
  const auto depth = static_cast<std::size_t>(state.range(0));
  const auto use = [how](How wanted) {
    return how == wanted ? RingPool::Use::kAllowed : RingPool::Use::kForbidden;
  };
  RingPool pool(use(How::kPooledRing));
  AlignedBuffer memory(depth * kBlock);
  memory.Resize(memory.capacity());
  Random random(1);
  std::vector<IoRequest> requests(depth);
  std::vector<IoRequest*> done;
  for (auto _ : state) {
    RingPool own(use(How::kFreshRing));
    const auto queue = CreateKernelQueue(target, how == How::kFreshRing ? own : pool, depth);
    for (std::size_t i = 0; i < depth; ++i) {
      requests[i] = {.offset = DeviceOffset(random.Below(kFileBytes / kBlock) * kBlock),
                     .read_into = memory.Span().subspan(i * kBlock, kBlock)};
      queue->Submit(&requests[i]);
    }
    done.clear();
    while (queue->in_flight() != 0) queue->Reap(queue->in_flight(), done);
    for (const IoRequest& request : requests) {
      if (!request.status.ok()) state.SkipWithError("a read failed");
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(depth));
}

BENCHMARK_CAPTURE(BatchOfReads, pooled_ring, How::kPooledRing)->Arg(1)->Arg(8)->Arg(32)->UseRealTime();
BENCHMARK_CAPTURE(BatchOfReads, fresh_ring, How::kFreshRing)->Arg(1)->Arg(8)->Arg(32)->UseRealTime();
BENCHMARK_CAPTURE(BatchOfReads, read_by_read, How::kReadByRead)->Arg(1)->Arg(8)->Arg(32)->UseRealTime();

}  // namespace
}  // namespace zenfs
