// The append buffers of one mount, in shared memory (base/shared_memory.h): what makes Flush survive the death of the
// process without a device write. docs/internals/architecture.md, "Flush", has the protocol.
//
//   Create -> [place committed to the metadata log] -> Take/StagedBuffer ... -> Retire -> [all written out]
//          -> [empty place committed] -> Remove
//
// A buffer that is taken while the area is retired or full is plain memory: its user must write to the device what it
// wants to survive (StagedBuffer::survives_process tells).
//
// Threads: any; the free list is atomic.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fork_guard.h"
#include "base/mutex.h"
#include "base/shared_memory.h"
#include "base/status.h"
#include "base/uuid.h"
#include "format/staging_layout.h"
#include "model/edit.h"

namespace zenfs {

class StagingArea {
 public:
  struct Options {
    std::string directory;  // on a tmpfs
    std::string identity;   // of the device, not empty
    Uuid volume;
    std::uint64_t epoch = 0;
    std::uint32_t slots = 32;
    std::uint64_t buffer_bytes = 256 << 10;
    std::uint64_t metrics_bytes = 0;
  };

  // Errors: those of SharedMemory::Create; kInvalidArgument for a path that is too long.
  [[nodiscard]] static Result<std::shared_ptr<StagingArea>> Create(const Options& options);
  ~StagingArea() = default;

  // The text that the metadata log keeps: this boot of the host, and the file's path.
  const std::string& place() const { return place_; }
  // What the mount commits before it uses a buffer: place, key and maker.
  SetBufferPlace PlaceEdit() const;
  const std::string& path() const { return memory_.path(); }
  std::uint64_t buffer_bytes() const { return header_.buffer_bytes; }
  ByteSpan metrics() { return memory_.memory().subspan(header_.metrics_offset, header_.metrics_bytes); }

  // From now on no buffer survives the process, and who flushes writes to the device. True for the first caller.
  bool Retire() { return !retired_.exchange(true, std::memory_order_seq_cst); }
  bool retired() const { return retired_.load(std::memory_order_seq_cst); }
  // Empties the tails (TakeTailSlot) that an earlier opening of the file `owner` left: the file is as it is committed.
  void Forget(std::uint64_t owner) EXCLUDES(mutex_);
  // True if tails were given up that nobody has forgotten.
  bool HasGivenUp() const EXCLUDES(mutex_);
  // The file's name goes away. Buffers that are still held stay usable, as plain memory.
  [[nodiscard]] Status Remove() { return memory_.Unlink(); }

 private:
  friend class StagedBuffer;

  StagingArea(SharedMemory memory, const StagingHeader& header, const Uuid& volume, std::string place);

  // The number of a free slot, or nothing.
  static constexpr std::uint32_t kNoSlot = UINT32_MAX;
  std::uint32_t TakeSlot() EXCLUDES(mutex_);
  void ReturnSlot(std::uint32_t slot) EXCLUDES(mutex_);
  // For bytes of one opening of a plain file, as long as they are not committed.
  std::uint32_t TakeTailSlot(std::uint64_t owner) EXCLUDES(mutex_);
  // Its holder goes away. Its bytes stay published.
  void GiveUpSlot(std::uint32_t slot, std::shared_ptr<const void> held) EXCLUDES(mutex_);
  std::uint32_t TakeSlotLocked() REQUIRES(mutex_);
  void ReturnSlotLocked(std::uint32_t slot) REQUIRES(mutex_);
  StagingControl& Control(std::uint32_t slot);
  ByteSpan Buffer(std::uint32_t slot);

  SharedMemory memory_;
  const StagingHeader header_;
  const Uuid volume_;
  const std::string place_;
  const std::uint32_t maker_;  // user id
  const ForkGuard fork_guard_;
  std::atomic<bool> retired_{false};
  std::atomic<std::uint32_t> free_count_{0};
  mutable Mutex mutex_;  // leaf
  std::vector<std::uint32_t> free_ GUARDED_BY(mutex_);
  struct Tail {
    std::uint64_t owner;
    bool given_up = false;
    std::shared_ptr<const void> held{};
  };
  std::map<std::uint32_t, Tail> tails_ GUARDED_BY(mutex_);  // by slot
  std::atomic<std::size_t> tail_count_{0};
};

}  // namespace zenfs
