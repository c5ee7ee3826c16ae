// The parts of an open plain file under its lock, which PlainFile and the functions of plain_file_append.h and
// plain_file_write.h share.
//
// Errors are sticky: after a device write, or a flush that covers it, failed finally, `health` has that error, and all
// later calls that write return it (design rule 10). kNoSpace and kTimedOut are not sticky: the failed call changed
// nothing and can be repeated once there is room.
//
// Threads: `mutex` guards the members below it and is held during device writes. The members above it are constant, or
// for any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "file/flushed_tail.h"
#include "file/plain_content.h"
#include "file/read_batch.h"
#include "zone/extent_sink.h"

namespace zenfs {

struct PlainFileDeps {
  ZonedDevice* device = nullptr;
  ReadPool* reads = nullptr;  // of the device
  ZoneManager* zones = nullptr;
  ExtentSink* sink = nullptr;
  std::uint64_t buffer_bytes = 1 << 20;  // a multiple of the block size
  std::chrono::seconds space_wait{30};   // a write waits this long for a zone, then kNoSpace or kTimedOut
  std::atomic<std::uint64_t>* padding = nullptr;  // if not null: counts the bytes of padding written
  std::shared_ptr<BufferArea> buffers;            // null: TryFlush cannot use append buffers
  FileId id;                                      // names the file in `buffers`
};

struct PlainFileParts {
  // `map` has the committed extents of a file of `size` bytes.
  PlainFileParts(const PlainFileDeps& the_deps, ExtentMap map, std::uint64_t size, Lifetime the_lifetime)
      : deps(the_deps),
        geometry(deps.device->geometry()),
        lifetime(the_lifetime),
        published(map.MakeView(), size),
        content(geometry, std::move(map), size, published),
        flushed(deps.buffers, deps.id) {}

  // For assertions: true if the invariants of the parts hold.
  bool Sound() const REQUIRES(mutex) { return content.Sound(); }
  // The edit that commits the present extents. Precondition: they changed.
  SetExtents EditToCommit() const REQUIRES(mutex) {
    const std::uint64_t seconds = changed_seconds.load(std::memory_order_relaxed);
    return content.extents().EditToCommit(deps.id, seconds != 0 ? seconds : WallSeconds(), moved_away);
  }

  const PlainFileDeps deps;
  const Geometry& geometry;
  std::atomic<Lifetime> lifetime;
  std::atomic<std::uint64_t> changed_seconds =
      0;  // time of the last change of the bytes, since 1970; 0: none
  // The committed extents have other places than those in `content`. Used by one commit at a time.
  std::atomic<bool> moved_away = false;
  PublishedContent published;

  mutable Mutex mutex{LockRank::kPlainFile};
  PlainContent content GUARDED_BY(mutex);
  FlushedTail flushed GUARDED_BY(mutex);
  bool flushed_since_drain GUARDED_BY(mutex) = false;
  SinkCursor cursor GUARDED_BY(mutex);
  Status health GUARDED_BY(mutex);
};

}  // namespace zenfs
