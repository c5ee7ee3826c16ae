// A file that is open. Shared by all its handles; OpenFileTable finds it.
//
// Threads: any but where said; the flags only ever go from false to true.
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
  std::atomic<bool> unlinked{false};   // it has no name any more: nothing of it is committed again
  std::atomic<int> writers{0};         // handles open for writing
  int handles = 0;                     // all of them; guarded by the OpenFileTable's mutex

  std::uint64_t size() const { return plain ? plain->size() : framed->size(); }
  // When it was last changed, if that is later than what is committed; else that or 0. Seconds since 1970.
  std::uint64_t changed_seconds() const { return plain ? plain->changed_seconds() : framed->mtime_seconds(); }
};

}  // namespace zenfs
