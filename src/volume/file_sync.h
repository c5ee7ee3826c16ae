// Makes durable what an open file holds: its existence, its bytes and its size.
//
// Each function commits at most once, and returns when that is durable. A file without a name is left alone: nothing of it
// is committed again.
//
// Errors: those of the file's content, of Catalog::Begin and of CommitPath::Commit; after an error everything that was not
// committed is tried again by the next call.
// Threads: any. Waits for the lock on the file in the catalog.
#pragma once

#include "catalog/catalog.h"
#include "volume/commit_path.h"
#include "volume/open_file.h"
#include "volume/write_accounting.h"
#include "wal/log_drain.h"
#include "wal/log_store.h"

namespace zenfs {

class FileSync {
 public:
  struct Deps {
    ZonedDevice& device;
    Catalog& catalog;
    CommitPath& commits;
    LogStore& logs;
    LogDrain& drain;
    const WriteAccounting& accounting;
    Metrics& metrics;
  };
  // The parts in `deps` outlive it.
  explicit FileSync(const Deps& deps) : deps_(deps) {}

  // The file's existence.
  [[nodiscard]] Status EnsureCommitted(OpenFile& file);
  // Call this once a commit has made the file's creation durable, while the file is still locked.
  void NoteCommitted(OpenFile& file);
  // Everything of a plain file.
  [[nodiscard]] Status SyncPlain(OpenFile& file);
  // The plain file's name and bytes survive the death of the process.
  [[nodiscard]] Status FlushPlain(OpenFile& file);
  // The framed file's new size, which is at most its size now.
  [[nodiscard]] Status TruncateFramed(OpenFile& file, std::uint64_t size);
  // The file's existence and size, and its bytes, which of a framed file are with the device then and not always durable.
  [[nodiscard]] Status WriteBack(OpenFile& file);
  // WriteBack for a writing handle that goes away. With the last one the file gives its buffers back.
  [[nodiscard]] Status EndWriting(OpenFile& file);

 private:
  const Deps deps_;
};

}  // namespace zenfs
