#include "wal/block_sync.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/sync_point.h"
#include "format/frame.h"
#include "wal/frame_writer.h"

namespace zenfs {
namespace {

// A sync that fills its block takes a second command. So only those use blocks of which many fit: with an eighth of a
// block, it is one sync in eight or fewer.
constexpr std::uint64_t kSmall = 8;

}  // namespace

bool BlockSync::Suits(const FramedFileParts& file) const {
  if (area_ == nullptr || !file.state.sound()) return false;
  const std::uint64_t bytes = file.Size() - file.map.end();
  const std::uint64_t new_bytes = file.Size() - std::min(file.Size(), file.StableEnd());
  return bytes != 0 && bytes <= 2 * RoomInBlock() && new_bytes <= device_.geometry().block_size / kSmall;
}

Status BlockSync::Sync(FramedFileParts& file) noexcept {
  file.state.BeginSend();
  Status synced = SyncAll(file);
  file.state.EndSend(synced);
  file.turn.NotifyAll();
  return synced;
}

Status BlockSync::SyncAll(FramedFileParts& file) {
  if (!HasPair(file)) return {};
  if (file.Size() - file.map.end() > RoomInBlock()) ZENFS_RETURN_IF_ERROR(PlaceFullBlock(file));
  return WriteBlock(file);
}

bool BlockSync::HasPair(FramedFileParts& file) {
  if (pair_) return true;
  file.mutex.Unlock();
  pair_ = area_->Take();
  if (pair_) image_ = AlignedBuffer(device_.geometry().block_size);
  file.mutex.Lock();
  if (!pair_) GiveUp();
  return pair_.has_value();
}

FrameJob BlockSync::Fill(const FramedFileParts& file, std::uint64_t length) {
  image_.Resize(kFrameHeaderBytes + length);
  file.buffers.CopyTo(file.map.end(), image_.Span().subspan(kFrameHeaderBytes), file.map.end());
  return file.NextFrame(id_, image_);
}

Status BlockSync::PlaceFullBlock(FramedFileParts& file) {
  const FrameJob job = Fill(file, RoomInBlock());
  const FlushMark before = FlushMark::Now(device_);
  file.mutex.Unlock();
  std::vector<PlacedFrame> placed;
  const Status sent = log_->writer().Place(job, placed);
  file.mutex.Lock();
  file.PublishNext(placed, job, before);
  file.buffers.Placed(file.map.end());
  if (!sent.ok()) file.state.FrameFailed();
  return sent;
}

Status BlockSync::WriteBlock(FramedFileParts& file) {
  // More bytes may have come while the lock was free; they are not those of this sync.
  const std::uint64_t end = std::min(file.Size(), file.map.end() + RoomInBlock());
  const FrameJob job = Fill(file, end - file.map.end());
  const bool second = !last_was_second_;
  const FlushMark before = file.map.UnstableSince(FlushMark::Now(device_));
  file.mutex.Unlock();
  image_.ZeroBehind(device_.geometry().block_size);
  SealFrame(image_.Span(), log_->writer().HeaderOf(job), pair_->seed());
  SyncPoint::Reach("BlockSync::Write");
  const Status written = pair_->Write(second, image_.View(0, device_.geometry().block_size));
  Status flushed = written.ok() && device_.geometry().volatile_cache ? FlushLogs(device_) : Status();
  if (flushed.ok() && before.FlushFailedSince(device_)) {
    flushed = Fail(Code::kIo, fmt::format("file {}: bytes {} to {}: {}", id_.value, job.file_offset, end,
                                          kLostToAFlush));
  }
  file.mutex.Lock();
  if (!written.ok()) {
    GiveUp();  // the other block keeps what was synced
    return {};
  }
  if (!flushed.ok()) {
    file.state.FlushFailed();
    return flushed;
  }
  file.map.PromiseStable();
  last_was_second_ = second;
  file.sync_end = end;
  return {};
}

// The blocks keep what was synced until the log has it, so the pair stays.
void BlockSync::GiveUp() { area_ = nullptr; }

void BlockSync::EndWriting(FramedFileParts& file) {
  if (pair_ && file.state.free() && file.sync_end <= file.map.stable_end()) pair_.reset();
}

}  // namespace zenfs
