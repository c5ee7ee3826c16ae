// The last writes of a mount: what open files and append buffers hold goes to the device, and the metadata log says so.
//
// Its last commit seals what logs have open, and says that there are no append buffers any more. So behind a clean end
// every frame is vouched for: if one is missing later that is damage, even the very last one.
//
// Threads: one at a time. Beside WriteBackFlushed and EndBuffers the volume may be in use; the others are for its end.
#pragma once

#include "catalog/catalog.h"
#include "volume/append_buffers.h"
#include "volume/file_opener.h"
#include "volume/file_sync.h"
#include "volume/open_file_table.h"
#include "wal/log_store.h"

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
    FileSync& sync;
  };
  // The parts in `deps` outlive it.
  explicit VolumeShutdown(const Deps& deps) : deps_(deps) {}

  // Everything that open files have buffered is with the device and committed. Tries all files; the first error.
  [[nodiscard]] Status WriteBackOpenFiles();
  // Nothing that was flushed is in the append buffers only. Tries all files, so that one that can still be written does not
  // wait for one that can't; the first error. The buffers are retired.
  [[nodiscard]] Status WriteBackFlushed();
  // WriteBackFlushed; then the metadata log names no buffers, and their file is removed.
  [[nodiscard]] Status EndBuffers();
  // The last commit of the mount: nothing else writes or commits any more. `forget_buffers`: nothing is in them.
  [[nodiscard]] Status SealLogs(bool forget_buffers);

 private:
  const Deps deps_;
};

}  // namespace zenfs
