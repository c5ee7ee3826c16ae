// Makes OpenFile objects of the file's shape. The only place that chooses by the shape.
//
// Threads: any. Takes the locks of LogStore, BufferArea and ZoneManager, one after the other.
#pragma once

#include <memory>

#include "open/append_buffers.h"
#include "open/mount_options.h"
#include "open/open_file.h"

namespace zenfs {

class OpenFileFactory {
 public:
  struct Deps {
    OpenFile::Deps file;
    ReadPool& reads;
    ZoneManager& zones;
    ExtentSink& sink;  // for data of plain files
    LogSpace& log;
    AppendBuffers& buffers;
    WrittenBytes& written;
  };
  // It and the parts in `deps` outlive the files. `epoch` is that of this mount.
  OpenFileFactory(const Deps& deps, const MountOptions& options, std::uint64_t epoch)
      : deps_(deps), options_(options), epoch_(epoch) {}

  // A committed file. The caller ensures that none of its extents is freed meanwhile. Null if it is framed and has lost its
  // last name.
  std::shared_ptr<OpenFile> Committed(const FileRecord& record) const;
  // A new, empty file.
  std::shared_ptr<OpenFile> New(FileId id, FileShape shape, Lifetime lifetime) const;
  // A framed file that the mount has replayed; `record` is sealed.
  std::shared_ptr<FramedFile> RecoveredLog(const FileRecord& record, ReplayedLog replayed,
                                           FrameBuffers::TakenOver taken_over) const;

 private:
  PlainFile::Deps PlainDeps(FileId id) const;
  FramedFile::Deps FramedDeps() const;

  const Deps deps_;
  const MountOptions options_;
  const std::uint64_t epoch_;
};

}  // namespace zenfs
