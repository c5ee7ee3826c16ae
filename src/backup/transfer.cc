#include "backup/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/caught.h"
#include "base/clock.h"
#include "base/crc32c.h"

namespace zenfs {
namespace {

constexpr auto kReportEvery = std::chrono::milliseconds(200);
constexpr std::size_t kQueuedAtMost = 256;

}  // namespace

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

Transfer::Transfer(TransferObserver& observer, const std::atomic<bool>* stop)
    : observer_(observer), stop_(stop) {}

Status Transfer::Run(std::size_t count, unsigned jobs, const std::function<Status(std::size_t)>& work) {
  ZENFS_RETURN_IF_ERROR(CheckGoingOn());
  next_ = 0;
  const auto threads = static_cast<unsigned>(std::min<std::size_t>(std::max(jobs, 1u), count));
  std::vector<Thread> workers;
  workers.reserve(threads);
  // Also if an observer throws: the threads are joined after this.
  const std::unique_ptr<Transfer, void (*)(Transfer*)> ends(
      this, [](Transfer* self) { self->SetReporting(false); });
  SetReporting(true);
  StartWorkers(threads, [this, count, &work] { Work(count, work); }, workers);
  if (workers.empty() && threads != 0) {
    NoteWorker(1);
    Work(count, work);
  }
  for (bool ended = false; !ended;) {
    {
      MutexLock lock(mutex_);
      const Deadline report_at = Deadline::After(kReportEvery);
      while (working_ != 0 && paths_.empty() && notices_.empty()) {
        if (!changed_.WaitUntil(mutex_, report_at)) break;
      }
      ended = working_ == 0;
    }
    Report();
  }
  MutexLock lock(mutex_);
  return status_;
}

// Starts up to `count` threads, as many as the host allows.
void Transfer::StartWorkers(unsigned count, const std::function<void()>& body, std::vector<Thread>& workers) {
  while (workers.size() < count) {
    NoteWorker(1);  // before the thread can end
    Result<Thread> started = Thread::Start("zenfs-copy", body);
    if (!started) {
      NoteWorker(-1);
      break;
    }
    workers.push_back(*std::move(started));
  }
}

void Transfer::NoteWorker(int change) {
  MutexLock lock(mutex_);
  working_ += change;
}

void Transfer::SetReporting(bool reporting) {
  MutexLock lock(mutex_);
  reporting_ = reporting;
  changed_.NotifyAll();
}

void Transfer::Work(std::size_t count, const std::function<Status(std::size_t)>& work) {
  for (;;) {
    Status status = CheckGoingOn();
    const std::size_t i = status.ok() ? next_.fetch_add(1) : count;
    if (status.ok() && i < count) status = Caught([&] { return work(i); });
    if (status.ok() && i < count) continue;
    MutexLock lock(mutex_);
    if (!status.ok() && !failed_) {  // later errors only say that a thread was stopped
      failed_ = true;
      status_ = std::move(status);
    }
    --working_;
    changed_.NotifyAll();
    return;
  }
}

void Transfer::Report() {
  std::vector<std::string> paths;
  std::vector<std::string> notices;
  {
    MutexLock lock(mutex_);
    paths.swap(paths_);
    notices.swap(notices_);
    changed_.NotifyAll();
  }
  for (const std::string& line : notices) observer_.OnNotice(line);
  for (const std::string& path : paths) observer_.OnPath(path);
  const auto done = static_cast<double>(std::min(work_done_.load(), work_of_.load()));
  const double share = work_of_ == 0 ? 0.0 : done / static_cast<double>(work_of_.load());
  observer_.OnProgress(static_cast<std::uint64_t>(share * static_cast<double>(bytes_of_)), bytes_of_);
}

void Transfer::Say(std::string path) {
  if (::gettid() == owner_) return observer_.OnPath(path);
  MutexLock lock(mutex_);
  Queue(paths_, std::move(path));
}

void Transfer::Notice(std::string line) {
  if (::gettid() == owner_) return observer_.OnNotice(line);
  MutexLock lock(mutex_);
  Queue(notices_, std::move(line));
}

// A terminal may take lines more slowly than files are copied.
void Transfer::Queue(std::vector<std::string>& lines, std::string line) {
  while (reporting_ && lines.size() >= kQueuedAtMost) changed_.Wait(mutex_);
  lines.push_back(std::move(line));
  changed_.NotifyAll();
}

Status Transfer::CheckGoingOn() const {
  if (stop_ != nullptr && *stop_) return Fail(Code::kShutdown, "interrupted");
  if (failed_) return Fail(Code::kShutdown, "another file failed");
  return {};
}

Result<std::uint32_t> Transfer::Pump(const ReadAhead::Reader& read, std::uint64_t size,
                                     const std::string& name, const Writer& write) {
  ReadAhead source(read, size, name);
  std::uint32_t crc = 0;
  for (;;) {
    ZENFS_RETURN_IF_ERROR(CheckGoingOn());
    ZENFS_ASSIGN_OR_RETURN(const ByteView chunk, source.Next());
    if (chunk.empty()) return crc;
    crc = Crc32c(chunk, crc);
    if (write) ZENFS_RETURN_IF_ERROR(write(chunk));
    work_done_ += chunk.size();
  }
}

}  // namespace zenfs
