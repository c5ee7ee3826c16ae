// An open file. All its handles share it; OpenFileTable finds it.
//
// Threads: any, unless a member says otherwise. The flags change only from false to true.
#pragma once

#include <atomic>
#include <memory>

#include "file/plain_file.h"
#include "wal/framed_file.h"

namespace zenfs {

struct OpenFile {
  FileId id;
  FileShape shape = FileShape::kPlain;
  std::unique_ptr<PlainFile> plain;    // shape kPlain
  std::shared_ptr<FramedFile> framed;  // shape kFramed
  std::atomic<Lifetime> lifetime{Lifetime::kNotSet};
  std::atomic<bool> committed{false};  // the metadata log knows it
  std::atomic<bool> unlinked{false};   // it has lost its last name and is not committed again
  std::atomic<int> writers{0};         // handles open for writing
  int handles = 0;                     // all handles; guarded by OpenFileTable's mutex

  // True if the next mount finds the file, and all its bytes that are not durable in shared memory.
  bool KeptForNextMount() const {
    if (!committed.load() && !unlinked.load()) return false;
    return plain ? plain->KeptForNextMount() : framed->KeptForNextMount();
  }
  std::uint64_t size() const { return plain ? plain->size() : framed->size(); }
  // The time of the last change, in seconds since 1970. A plain file may return 0 if it has not changed since it was opened.
  std::uint64_t changed_seconds() const { return plain ? plain->changed_seconds() : framed->mtime_seconds(); }
};

}  // namespace zenfs
