// An open framed file. Its frames name themselves, so a commit names only its existence, and what changes the front of it.
#pragma once

#include "open/open_file.h"

namespace zenfs {

class OpenFramedFile final : public OpenFile {
 public:
  OpenFramedFile(const Deps* deps, Lifetime lifetime, bool committed, std::shared_ptr<FramedFile> content)
      : OpenFile(deps, content->id(), FileShape::kFramed, lifetime, committed),
        content_(std::move(content)) {}

  [[nodiscard]] Result<std::size_t> Read(std::uint64_t offset, ByteSpan into,
                                         ReadSource source) const override;
  [[nodiscard]] Result<std::size_t> ReadVerified(std::uint64_t offset, ByteSpan into) const override;
  void ReadMany(std::span<ReadRequest> requests, ReadSource source) const override;
  [[nodiscard]] std::unique_ptr<PendingRead> StartRead(std::uint64_t offset, ByteSpan into,
                                                       ReadSource source) const override;
  void Advise(std::uint64_t, std::uint64_t, CacheAdvice) const override {}  // it is read from the device
  [[nodiscard]] Status Append(ByteView bytes, KnownCrc crc) override;
  [[nodiscard]] Status PositionedAppend(ByteView bytes, std::uint64_t offset, KnownCrc crc) override;
  std::uint64_t size() const override { return content_->size(); }
  std::uint64_t changed_seconds() const override { return content_->mtime_seconds(); }

  // Errors: also those of FrontOfDivided.
  [[nodiscard]] Status Truncate(std::uint64_t size) override;
  [[nodiscard]] Status Flush() override;
  [[nodiscard]] Status Sync() override;
  [[nodiscard]] Status WriteBack() override;
  [[nodiscard]] Result<Uncommitted> Drain() override { return Uncommitted(); }
  void NoteCommitted(const Uncommitted& drained) override;
  bool HasFlushedBytes() const override { return false; }
  void NoteReleased() override {}

  bool HoldsZone(ZoneId zone) const override { return unlinked && content_->HasExtentsIn(zone); }
  bool MovesWhileWritten() const override { return true; }
  [[nodiscard]] bool TakeMoved(const std::vector<Extent>& extents) override;
  std::shared_ptr<FramedFile> log() const override { return content_; }

 private:
  [[nodiscard]] Status SyncFrames();
  [[nodiscard]] Status Shorten(std::uint64_t size);
  void FreeBuffers() override { content_->EndWriting(); }
  bool ContentKeptForNextMount() const override { return content_->KeptForNextMount(); }

  const std::shared_ptr<FramedFile> content_;
};

}  // namespace zenfs
