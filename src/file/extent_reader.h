// Reads file bytes through a list of extents: one read, several at once (ReadBatch, ReadPool), or one that ends later
// (PendingRead).
//
// Requests need no alignment. The parts that are aligned on the device and in memory are read in place, the others
// through a bounce buffer. Through the host's cache all are read in place. No lock of a file is taken.
#pragma once

#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/mutex.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "model/file_record.h"

namespace zenfs {

// Who may answer a read.
enum class ReadSource {
  kDevice,  // only the device, as for all that proves something
  kCache,  // also the host's cache, where there is one (HostCache). What it can't read is read from the device
};

struct ReadRequest {
  std::uint64_t offset = 0;
  ByteSpan into;
  Status status;
};

// Fills `into` with the file's bytes from `offset` on. Errors: those of the device, with file offset, zone and
// device offset in the text; kCorruption if the extents do not cover [offset, offset + into.size()).
[[nodiscard]] Status ReadExtents(ZonedDevice& device, std::span<const Extent> extents, std::uint64_t offset,
                                 ByteSpan into, ReadSource source = ReadSource::kDevice);

// Executes several reads with all device commands in flight at the same time. Each request gets its own status. A
// caller that reads often uses a ReadPool.
void ReadExtentsMany(ZonedDevice& device, std::span<const Extent> extents, std::span<ReadRequest> requests,
                     ReadSource source = ReadSource::kDevice);

// Advises the host's cache about the part of [offset, offset + length) that the extents cover. Nothing without a cache.
void AdviseExtents(ZonedDevice& device, std::span<const Extent> extents, std::uint64_t offset,
                   std::uint64_t length, CacheAdvice advice);

// Reads whose device commands are in flight together. A batch keeps its queue and its memory for the next reads: on a
// kernel's device a queue has a ring, which costs several system calls.
//
// Threads: one at a time.
class ReadBatch {
 public:
  // `device` outlives it.
  explicit ReadBatch(ZonedDevice& device) : device_(device) {}
  // Waits for the commands in flight.
  ~ReadBatch() = default;
  ReadBatch(const ReadBatch&) = delete;
  ReadBatch& operator=(const ReadBatch&) = delete;

  // As ReadExtentsMany.
  void Read(std::span<const Extent> extents, std::span<ReadRequest> requests, ReadSource source);

  // Sends the device commands for `requests`, which stay in place until Finish. The device reads into memory of the batch, so
  // that nobody must wait for a read that is given up.
  void Start(std::span<const Extent> extents, std::span<ReadRequest> requests);
  // Waits for the commands and copies the bytes; each request then has its status.
  void Finish();
  // Forgets what was started and not finished. Returns true if no command is in flight any more: only then, the batch can be
  // used again. Otherwise call it again later.
  [[nodiscard]] bool TryAbandon();

  // Whether the device reads while the caller does something else.
  [[nodiscard]] bool Overlaps() { return Queue(kKeptDepth).overlaps(); }

 private:
  // Commands in flight on the queue that is kept: more than RocksDB reads at once (MultiGetContext::MAX_BATCH_SIZE).
  static constexpr std::size_t kKeptDepth = 64;
  static constexpr std::size_t kKeptBounceBytes = 256 << 10;
  // Extents may be a byte each, with a block of up to 64 KiB to read for it. So a read is carried out in rounds of about so much.
  static constexpr std::size_t kRoundBounceBytes = 1 << 20;
  static constexpr std::size_t kRoundCommands = 256;
  // A read that is started is one round. If that took more than this beside what is asked for, it is carried out at once.
  static constexpr std::size_t kStartedBounceMax = 16 << 20;
  static constexpr std::size_t kStartedCommandsMax = 4096;
  static constexpr std::size_t kInPlace = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t kOwnBlocks = std::numeric_limits<std::size_t>::max();
  // A command may copy from the blocks that one of so many commands before it reads.
  static constexpr std::size_t kSharedAmong = 8;

  // One device read. If it is not in place, whole blocks go to bounce_, and their bytes from `skip` on are copied to `copy_to`.
  // A command with the `blocks` of another one reads nothing: many extents may be in one block.
  struct Command {
    IoRequest io;
    ReadRequest* owner = nullptr;
    std::uint64_t file_offset = 0;
    std::size_t length = 0;
    std::size_t bounce_at = kInPlace;
    std::size_t skip = 0;
    ByteSpan copy_to;
    std::size_t blocks = kOwnBlocks;  // index in commands_ of the command that reads them
  };

  enum class Into { kCaller, kBatch };  // where the device reads to, if the bytes are aligned

  // Adds the device commands of the requests to commands_; none of a request that the extents do not cover, but for those that are
  // gone already. Calls `make_room` before each.
  template <typename MakeRoom>
  void Plan(std::span<const Extent> extents, std::span<ReadRequest> requests, Into memory,
            const MakeRoom& make_room);
  void PlanPiece(DeviceOffset place, ByteSpan into, std::uint64_t file_offset, ReadRequest& request,
                 Into memory);
  // The index of a command of the same request that reads this block; kOwnBlocks if there is none.
  std::size_t FindBlock(DeviceOffset place, const ReadRequest& request) const;
  void PlaceBounces();
  void SubmitTo(IoQueue& queue);
  // Sends the commands planned so far and waits for them.
  void RunRound();
  void RunCachedRound(HostCache& cache);
  void ReadThrough(HostCache& cache, std::span<const Extent> extents, std::span<ReadRequest> requests);
  void ReadFromDevice(std::span<const Extent> extents, std::span<ReadRequest> requests);
  void Complete(Command& command) const;
  void CompleteAll();
  void ForgetBounce();
  // The queue for this many commands.
  IoQueue& Queue(std::size_t commands);

  ZonedDevice& device_;
  AlignedBuffer bounce_;
  std::size_t bounce_bytes_ = 0;  // that commands_ need
  std::vector<Command> commands_;
  std::vector<IoRequest*> done_;
  std::vector<CachedRead> cached_;
  std::vector<ReadRequest*> cached_owners_;
  std::size_t queue_depth_ = 0;
  std::unique_ptr<IoQueue> queue_;  // last: destroyed first, and waits for commands into the members above
};

// Batches for the next reads. Threads: any.
class ReadPool {
 public:
  static constexpr std::size_t kIdleMax = 64;
  // Who gives up more reads than this at once waits for the oldest.
  static constexpr std::size_t kGivenUpMax = 64;
  // Each batch of a kernel's device has a ring, and so a descriptor.
  static constexpr std::size_t kLentMax = 256;

  class Return {
   public:
    explicit Return(ReadPool* pool = nullptr) : pool_(pool) {}
    void operator()(ReadBatch* batch) const { pool_->TakeBack(std::unique_ptr<ReadBatch>(batch)); }

   private:
    ReadPool* pool_;
  };
  using Lease = std::unique_ptr<ReadBatch, Return>;  // must not outlive the pool

  // `device` outlives it.
  explicit ReadPool(ZonedDevice& device);
  ~ReadPool();  // waits for the device

  [[nodiscard]] Lease Lend() EXCLUDES(mutex_);
  // False if so many batches are lent that no caller should keep one more.
  bool MayStart() const { return lent_.load(std::memory_order_relaxed) < kLentMax; }

 private:
  // One that was used before and has no command in flight; null if there is none. Looks at the oldest of those that were given up,
  // so that their memory does not stay.
  std::unique_ptr<ReadBatch> TakeIdle() EXCLUDES(mutex_);
  void TakeBack(std::unique_ptr<ReadBatch> batch) EXCLUDES(mutex_);

  ZonedDevice& device_;
  Mutex mutex_{LockRank::kLeaf};
  std::atomic<std::size_t> lent_{0};
  std::vector<std::unique_ptr<ReadBatch>> idle_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<ReadBatch>> given_up_
      GUARDED_BY(mutex_);  // the device may still read; oldest first
};

// A read that was started (FileHandle::StartRead) and ends later.
//
// Threads: one at a time; need not be the one that started it. The object keeps alive what the read needs, except the memory that
// is read into, which only Finish writes to. One that is destroyed before gives the read up and does not wait.
class PendingRead {
 public:
  virtual ~PendingRead() = default;
  // Waits for the bytes. Returns their number, as FileHandle::Read does. Call it once.
  [[nodiscard]] virtual Result<std::size_t> Finish() = 0;
};

// One whose outcome is known.
class FinishedRead final : public PendingRead {
 public:
  explicit FinishedRead(Result<std::size_t> outcome) : outcome_(std::move(outcome)) {}
  Result<std::size_t> Finish() override { return std::move(outcome_); }

 private:
  Result<std::size_t> outcome_;
};

}  // namespace zenfs
