// Group commit: each committing thread queues its edits. If no thread leads, the first one in the queue leads and writes
// all queued edits as one frame, while the other threads wait.
//
//   Admit, CheckSpace -> queue -> Lead -+-> Publish   durable: to the replica and the sink, in log order
//                          ^            +-> Refuse    not committed
//                          +--- Fence <-+             the write has an unknown outcome: a log switch decides
//
// Before each batch, all builds check that its sequences follow the last commit and that it stays within its zone. If
// not, nothing is written and the log becomes read-only (kCorruption).
//
// Edits are not validated before they are written: the catalog has applied them to its own State with the same code. An
// edit that contradicts the log's replica is a bug. The log then becomes read-only (kCorruption), because replay would
// fail at that edit too.
//
// Ownership: `log` outlives it.
// Threads: any. The lock of the log is not held during I/O and calls of the sink.
// Units: bytes. Errors: those of Metalog::Commit (metalog.h).
#pragma once

#include <string>
#include <vector>

#include "metalog/metalog_parts.h"

namespace zenfs {

class GroupCommit {
 public:
  explicit GroupCommit(MetalogParts& log) : log_(log) {}

  // See Metalog. If memory runs out (std::bad_alloc) the process ends, because other threads would wait for this thread's
  // role. noexcept belongs here, to the function with the MutexLock: its destructor must not run, since the lock may be
  // released for I/O at that moment.
  [[nodiscard]] Status Commit(std::vector<Edit> edits, CommitOptions options) noexcept EXCLUDES(log_.mutex);
  [[nodiscard]] Status CheckRoom(std::uint64_t bytes) const EXCLUDES(log_.mutex);

 private:
  Status Admit(const CommitCall& call) REQUIRES(log_.mutex);
  // As CheckSpace. If a running log switch makes more room, waits for it.
  Status FindSpace(const CommitCall& call, Growth growth) REQUIRES(log_.mutex);
  Status CheckSpace(Growth growth, std::uint64_t bytes) const REQUIRES(log_.mutex);
  // What to do if the metadata zones are full.
  std::string WayOut() const REQUIRES(log_.mutex);
  void Lead(CommitCall& self) REQUIRES(log_.mutex);
  CommitBatch TakeBatch() REQUIRES(log_.mutex);
  // `writer`: that of the current generation, which does not change while this thread leads.
  Status WriteBatch(const CommitBatch& batch, GenerationWriter& writer) EXCLUDES(log_.mutex);
  void Publish(const CommitBatch& batch) REQUIRES(log_.mutex);
  void Fence(const CommitBatch& batch, const Error& error) REQUIRES(log_.mutex);
  void Refuse(const CommitBatch& batch, const Error& error) REQUIRES(log_.mutex);
  void EndForGood(const CommitBatch& batch, const Error& error) REQUIRES(log_.mutex);
  void RefuseLost(CommitBatch& batch) REQUIRES(log_.mutex);
  void WaitForRoom(CommitCall& self) REQUIRES(log_.mutex);

  MetalogParts& log_;
};

}  // namespace zenfs
