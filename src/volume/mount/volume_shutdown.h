// The last writes of a mount: the buffered bytes of open files and append buffers go to the device and are committed.
//
// The last commit seals the open windows of all logs and, unless they keep bytes for the next mount, removes the place of the
// append buffers from the metadata. So after a clean unmount each frame belongs to a sealed window, and a missing frame is
// damage, even the last one of a log.
//
// Threads: one at a time. The volume may be in use during WriteBackFlushed and EndBuffers, but not during the others.
#pragma once

#include "catalog/catalog.h"
#include "open/append_buffers.h"
#include "open/open_file_table.h"
#include "volume/mount/file_opener.h"
#include "wal/framed_file.h"

namespace zenfs {

class VolumeShutdown {
 public:
  struct Deps {
    ZonedDevice& device;
    Catalog& catalog;
    CommitPath& commits;
    OpenFileTable& files;
    LogStore& logs;
    AppendBuffers& buffers;
    FileOpener& opener;
  };
  // The parts in `deps` outlive it.
  explicit VolumeShutdown(const Deps& deps) : deps_(deps) {}

  // kKept: the device has no room for some bytes; the next mount finds all of them in the append buffers.
  enum class Written { kAll, kKept };

  // Writes and commits the buffered bytes of all open files. Tries all files; returns the first error.
  // Bytes that the next mount finds are no error.
  [[nodiscard]] Status WriteBackOpenFiles();
  // Writes all bytes that are only in the append buffers, which are retired. Tries all files, so that one error does not
  // prevent the write of other files; returns the first error.
  [[nodiscard]] Result<Written> WriteBackFlushed();
  // WriteBackFlushed. If all is written, commits that there are no append buffers, and removes their file.
  [[nodiscard]] Status EndBuffers();
  // Makes the last commit of the mount; no other thread writes or commits any more. `forget_buffers`: the append buffers are
  // empty, so this also commits that there are none, and removes their file.
  [[nodiscard]] Status SealLogs(bool forget_buffers);

 private:
  const Deps deps_;
};

}  // namespace zenfs
