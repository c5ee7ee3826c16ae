// Makes an open file durable: its existence, its bytes and its size.
//
// Each function commits at most once, and returns when the commit is durable. It does nothing for a file that has lost its
// name.
//
// Errors: those of the file's content, of Catalog::Begin and of CommitPath::Commit. After an error the next call tries
// again for everything that is not committed.
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

  // Commits the file's existence.
  [[nodiscard]] Status EnsureCommitted(OpenFile& file);
  // Call this after a commit of the file's creation, while the file is still locked.
  void NoteCommitted(OpenFile& file);
  // Commits the existence, bytes and size of a plain file.
  [[nodiscard]] Status SyncPlain(OpenFile& file);
  // Makes the plain file's name and bytes survive the death of the process.
  [[nodiscard]] Status FlushPlain(OpenFile& file);
  // Truncates a plain file. Commits the shorter file if a mount would find bytes behind `size` otherwise. If that fails, the
  // file is shorter for its handles, and the next call tries again. Errors: also those of PlainFile::Truncate.
  [[nodiscard]] Status TruncatePlain(OpenFile& file, std::uint64_t size);
  // Truncates a framed file to `size`, which is at most its present size. Errors: also those of FrontOfDivided.
  [[nodiscard]] Status TruncateFramed(OpenFile& file, std::uint64_t size);
  // SyncPlain for a plain file. For a framed file, commits its existence and writes its bytes to the device; they may
  // still be in a volatile cache.
  [[nodiscard]] Status WriteBack(OpenFile& file);
  // WriteBack for a handle that ends writing. With the last such handle the file frees its buffers.
  [[nodiscard]] Status EndWriting(OpenFile& file);

 private:
  [[nodiscard]] Status SyncMetered(OpenFile& file);

  const Deps deps_;
};

}  // namespace zenfs
