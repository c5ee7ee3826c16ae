// An open file: its content, and how that becomes durable. All handles of a file share one OpenFile; OpenFileTable finds it.
//
// There are two shapes, OpenPlainFile and OpenFramedFile. Nobody else asks for the shape of an open file: what the shapes do
// differently is a function here.
//
// A file that has lost its last name is not committed any more.
//
// Errors: those of the file's content, of Catalog::Begin and of CommitPath::Commit. After an error the next call tries
// again for everything that is not committed.
// Threads: any, unless a member says otherwise. The flags change only from false to true. Waits for the lock on the file in the
// catalog.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "base/assert.h"
#include "catalog/catalog.h"
#include "file/extent_reader.h"
#include "file/plain_file.h"
#include "open/append_buffers.h"
#include "open/commit_path.h"
#include "open/mount_options.h"
#include "open/trace_recorder.h"
#include "open/write_accounting.h"
#include "wal/framed_file.h"
#include "wal/log_drain.h"

namespace zenfs {

class OpenFile {
 public:
  // What a file needs to become durable, and to count what it does. All outlive it.
  struct Deps {
    ZonedDevice& device;
    Catalog& catalog;
    CommitPath& commits;
    LogStore& logs;
    LogDrain& drain;
    const WriteAccounting& accounting;
    Metrics& metrics;
    TraceRecorder* trace = nullptr;  // null: nothing is recorded
  };
  // The part of the content that a commit names. Empty for a framed file: its frames name themselves.
  using Uncommitted = PlainFile::Drained;

  // `deps` is not null if anything of the file is committed or counted.
  OpenFile(const Deps* deps, FileId its_id, FileShape its_shape, Lifetime its_lifetime, bool is_committed)
      : id(its_id), shape(its_shape), lifetime(its_lifetime), committed(is_committed), deps_(deps) {}
  virtual ~OpenFile() = default;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  const FileId id;
  const FileShape shape;
  std::atomic<Lifetime> lifetime;
  std::atomic<bool> committed;        // the metadata log knows it
  std::atomic<bool> unlinked{false};  // it has lost its last name and is not committed again
  std::atomic<int> writers{0};        // handles open for writing
  int handles = 0;                    // all handles; guarded by OpenFileTable's mutex

  // --- content, as FileHandle says; reads are not counted in the metrics ---
  [[nodiscard]] virtual Result<std::size_t> Read(std::uint64_t offset, ByteSpan into,
                                                 ReadSource source) const = 0;
  [[nodiscard]] virtual Result<std::size_t> ReadVerified(std::uint64_t offset, ByteSpan into) const = 0;
  virtual void ReadMany(std::span<ReadRequest> requests, ReadSource source) const = 0;
  // The result must not outlive the file.
  [[nodiscard]] virtual std::unique_ptr<PendingRead> StartRead(std::uint64_t offset, ByteSpan into,
                                                               ReadSource source) const = 0;
  virtual void Advise(std::uint64_t offset, std::uint64_t length, CacheAdvice advice) const = 0;
  [[nodiscard]] virtual Status Append(ByteView bytes, KnownCrc crc) = 0;
  [[nodiscard]] virtual Status PositionedAppend(ByteView bytes, std::uint64_t offset, KnownCrc crc) = 0;
  // Affects zones that are chosen from now on.
  virtual void SetLifetime(Lifetime later) { lifetime = later; }
  virtual std::uint64_t size() const = 0;
  // The time of the last change, in seconds since 1970. 0 if a plain file has not changed since it was opened.
  virtual std::uint64_t changed_seconds() const = 0;

  // --- durability ---
  // Commits the file's existence.
  [[nodiscard]] Status EnsureCommitted();
  // Truncates to `size`; FileHandle says what survives.
  [[nodiscard]] virtual Status Truncate(std::uint64_t size) = 0;
  // Makes the name and the bytes survive the death of the process.
  [[nodiscard]] virtual Status Flush() = 0;
  // Makes the existence, the bytes and the size durable. Counts itself in the metrics.
  [[nodiscard]] virtual Status Sync() = 0;
  // Commits the existence and writes the bytes to the device; those of a framed file may still be in a volatile cache.
  [[nodiscard]] virtual Status WriteBack() = 0;
  // WriteBack for a handle that ends writing. With the last such handle the file frees its buffers.
  [[nodiscard]] Status EndWriting();
  // For a commit that also changes the name, while the file is locked: writes what the commit has to name. Pass the result to
  // NoteCommitted after the commit, with the file still locked.
  [[nodiscard]] virtual Result<Uncommitted> Drain() = 0;
  virtual void NoteCommitted(const Uncommitted& drained) = 0;
  // True if the next mount finds the file, and all its bytes that are not durable in shared memory.
  bool KeptForNextMount() const;
  // True while an append buffer of this file alone keeps bytes. The buffers of framed files belong to LogStore's files.
  virtual bool HasFlushedBytes() const = 0;
  // The last handle is gone.
  virtual void NoteReleased() = 0;

  // --- reclaim ---
  // True if a zone with bytes of the file would not be free after a move. Asked of files that are being written, or have lost
  // their name.
  virtual bool HoldsZone(ZoneId zone) const = 0;
  // False if the writer must be gone before the content can be moved.
  virtual bool MovesWhileWritten() const = 0;
  // Reclaim has moved the committed extents; `extents` are all of them. False if a writer is at work: call it again later.
  [[nodiscard]] virtual bool TakeMoved(const std::vector<Extent>& extents) = 0;
  // The framed file. Null if it is a plain one.
  virtual std::shared_ptr<FramedFile> log() const { return nullptr; }

 protected:
  const Deps& deps() const {
    ZENFS_ASSERT(deps_ != nullptr);
    return *deps_;
  }

 private:
  virtual void FreeBuffers() = 0;
  virtual bool ContentKeptForNextMount() const = 0;

  const Deps* const deps_;
};

// Makes OpenFile objects of the file's shape. The only place that chooses by the shape.
//
// Threads: any. Takes the locks of LogStore, BufferArea and ZoneManager, one after the other.
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
