// A handle of a read-only mount. A read uses the layout that the handle holds, and is then confirmed with the metadata log.
// If the writer has changed the file meanwhile, the read is repeated with the new layout. A read beyond the known end of the
// file first looks for a new layout.
//
// A file that the writer deletes stays readable while its bytes can be proven: by the writer's counts of resets, if the zones
// were announced to it before the deletion (buffers/announced_zones.h), else by checksums. A small file
// is kept in memory when it is opened, and read from there until a look at the metadata shows that it has changed.
//
// Errors of reads: those of the device; kNotFound if the writer has deleted the file and a byte is gone; kTimedOut if the
// writer changes the file during each try.
//
// Threads: any.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "volume/file_handle.h"
#include "volume/reader/live_state.h"
#include "volume/reader/reader_volume.h"
#include "wal/frame_read.h"

namespace zenfs {

class ReaderHandle final : public FileHandle {
 public:
  // `path` is for messages.
  ReaderHandle(std::shared_ptr<const ReaderMount> mount, std::string path,
               std::shared_ptr<const LiveFile> file)
      : mount_(std::move(mount)), path_(std::move(path)), id_(file->record->id), file_(std::move(file)) {}

  // Announces the zones of the file, so that it can be read on if the writer deletes it. Keeps the bytes of a small file that
  // does not get frames: as CURRENT, IDENTITY and OPTIONS. Call it once, before the handle is shared. Without it, the first
  // read announces. Errors: kNotFound if the writer has deleted the file.
  static constexpr std::uint64_t kKeptMax = 64 << 10;
  [[nodiscard]] Status Secure();

  using FileHandle::Read;
  using FileHandle::ReadMany;
  [[nodiscard]] Result<std::size_t> Read(std::uint64_t offset, ByteSpan into,
                                         ReadSource source) const override;
  [[nodiscard]] Result<std::size_t> ReadVerified(std::uint64_t offset, ByteSpan into) const override;
  void ReadMany(std::span<ReadRequest> requests, ReadSource source) const override;
  void Advise(std::uint64_t offset, std::uint64_t length, CacheAdvice advice) const override;
  [[nodiscard]] Status Append(ByteView, KnownCrc) override { return mount_->Refuse(); }
  [[nodiscard]] Status PositionedAppend(ByteView, std::uint64_t, KnownCrc) override {
    return mount_->Refuse();
  }
  [[nodiscard]] Status Truncate(std::uint64_t) override { return mount_->Refuse(); }
  [[nodiscard]] Status Flush() override { return mount_->Refuse(); }
  [[nodiscard]] Status Sync() override { return mount_->Refuse(); }
  [[nodiscard]] Status Close() override { return {}; }
  void SetLifetime(Lifetime) override {}
  // The size now; if it can't be read, the last known size.
  std::uint64_t size() const override;
  FileId id() const override { return id_; }
  FileShape shape() const override { return Held()->record->shape; }

 private:
  std::shared_ptr<const LiveFile> Held() const EXCLUDES(mutex_);
  void Hold(std::shared_ptr<const LiveFile> file) const EXCLUDES(mutex_);
  // Looks the file up again, holds the result and returns it; null if the file is gone.
  [[nodiscard]] Result<std::shared_ptr<const LiveFile>> Renew() const;
  struct HowToRead {
    bool verify_frames = false;
    ReadSource source = ReadSource::kDevice;  // of extents
  };
  // Reads the requests from the layout `file`. The result is not confirmed yet. Returns false if the writer has replaced a
  // sync block meanwhile.
  bool ReadFrom(const LiveFile& file, std::span<ReadRequest> all, HowToRead how) const;
  // The same for requests that end on the device.
  bool ReadDevice(const LiveFile& file, std::span<ReadRequest> requests, HowToRead how) const;
  [[nodiscard]] Status ReadLog(const LiveFile& file, const ReadRequest& request, HowToRead how) const;
  // The seed of the zone of `piece`. Errors: kBusy if it is no log zone any more.
  [[nodiscard]] Result<FrameSeed> SeedOf(const LiveFile& file, const Piece& piece) const;
  // Errors: kBusy if `piece` is no longer in its sync block.
  [[nodiscard]] Status CheckSyncBlock(const LiveFile& file, const Piece& piece) const;
  [[nodiscard]] Status ReadConfirmed(std::span<ReadRequest> requests, HowToRead how) const;
  [[nodiscard]] Result<std::size_t> ReadOne(std::uint64_t offset, ByteSpan into, HowToRead how) const;
  // Fills the requests, cut at the end of the kept bytes, from these.
  Status ReadKept(std::span<const ByteSpan> whole, std::span<ReadRequest> requests) const;
  // `file`: the last layout that was known. Cuts the requests, whose first extent is `whole`, at its end.
  [[nodiscard]] Status ReadGone(const LiveFile& file, std::span<const ByteSpan> whole,
                                std::span<ReadRequest> requests, HowToRead how) const;
  // The announcement of the zones of a layout, and whether the file still existed after it.
  struct Announced {
    std::shared_ptr<const FileRecord> record;
    std::shared_ptr<const ReplayedLog> log;
    std::shared_ptr<const AnnouncedZones::Hold> hold;  // null: nobody to announce them to
    bool confirmed = false;
  };
  // Announces the zones of `file` if they are not yet, and returns the announcement.
  std::shared_ptr<const AnnouncedZones::Hold> AnnounceZones(const LiveFile& file) const EXCLUDES(mutex_);
  void NoteConfirmed(const std::shared_ptr<const AnnouncedZones::Hold>& hold) const EXCLUDES(mutex_);
  [[nodiscard]] Status KeepBytes();
  std::unexpected<Error> Gone() const;

  const std::shared_ptr<const ReaderMount> mount_;
  const std::string path_;
  const FileId id_;
  std::shared_ptr<const FileRecord> kept_record_;  // whose bytes are kept_; null: none
  std::vector<std::byte> kept_;
  mutable Mutex mutex_{LockRank::kLeaf};
  mutable std::shared_ptr<const LiveFile> file_ GUARDED_BY(mutex_);
  mutable Announced announced_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
