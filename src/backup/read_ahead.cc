#include "backup/read_ahead.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/caught.h"

namespace zenfs {

ReadAhead::ReadAhead(Reader read, std::uint64_t size, std::string name)
    : read_(std::move(read)), size_(size), name_(std::move(name)) {
  if (size_ == 0) return;
  slots_[0].buffer = AlignedBuffer(std::min<std::uint64_t>(size_, kChunk));
  if (size_ <= kChunk) return;
  slots_[1].buffer = AlignedBuffer(kChunk);
  if (Result<Thread> started = Thread::Start("zenfs-ahead", [this] { ReadAll(); }))
    thread_ = *std::move(started);
}

ReadAhead::~ReadAhead() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
    changed_.NotifyAll();
  }
  thread_.Join();
}

Status ReadAhead::Fill(std::uint64_t offset, AlignedBuffer& buffer) {
  buffer.Resize(std::min<std::uint64_t>(size_ - offset, kChunk));
  ZENFS_ASSIGN_OR_RETURN(const std::size_t n, read_(offset, buffer.Span()));
  if (n != buffer.size()) {
    return Fail(Code::kIo, fmt::format("{} ends at {} and should have {} bytes", name_, offset + n, size_));
  }
  return {};
}

void ReadAhead::ReadAll() {
  std::size_t slot = 0;
  for (std::uint64_t offset = 0; offset < size_; offset += kChunk, slot ^= 1) {
    MutexLock lock(mutex_);
    while (slots_[slot].full && !stop_) changed_.Wait(mutex_);
    if (stop_) return;
    lock.Unlock();
    Status status = Caught([&] { return Fill(offset, slots_[slot].buffer); });
    lock.Lock();
    const bool failed = !status.ok();
    slots_[slot].status = std::move(status);
    slots_[slot].full = true;
    changed_.NotifyAll();
    if (failed) return;
  }
}

Result<ByteView> ReadAhead::Next() {
  if (!thread_.joinable()) {
    if (handed_out_ == size_) return ByteView();
    ZENFS_RETURN_IF_ERROR(Fill(handed_out_, slots_[0].buffer));
    handed_out_ += slots_[0].buffer.size();
    return slots_[0].buffer.View();
  }
  MutexLock lock(mutex_);
  if (holding_) {
    slots_[current_ ^ 1].full = false;
    holding_ = false;
    changed_.NotifyAll();
  }
  if (handed_out_ == size_) return ByteView();
  Slot& slot = slots_[current_];
  while (!slot.full) changed_.Wait(mutex_);
  ZENFS_RETURN_IF_ERROR(slot.status);
  handed_out_ += slot.buffer.size();
  current_ ^= 1;
  holding_ = true;
  return slot.buffer.View();
}

}  // namespace zenfs
