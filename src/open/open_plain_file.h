// An open plain file: its extents are named by commits.
#pragma once

#include "open/open_file.h"

namespace zenfs {

class OpenPlainFile final : public OpenFile {
 public:
  // `extents` and `size` are the committed ones; empty and 0 for a new file.
  OpenPlainFile(const Deps* deps, FileId id, Lifetime lifetime, bool committed,
                const PlainFile::Deps& content, std::vector<Extent> extents = {}, std::uint64_t size = 0)
      : OpenFile(deps, id, FileShape::kPlain, lifetime, committed),
        content_(content, std::move(extents), size, lifetime) {}

  [[nodiscard]] Result<std::size_t> Read(std::uint64_t offset, ByteSpan into,
                                         ReadSource source) const override {
    return content_.Read(offset, into, source);
  }
  [[nodiscard]] Result<std::size_t> ReadVerified(std::uint64_t offset, ByteSpan into) const override {
    return content_.Read(offset, into);
  }
  void ReadMany(std::span<ReadRequest> requests, ReadSource source) const override {
    content_.ReadMany(requests, source);
  }
  [[nodiscard]] std::unique_ptr<PendingRead> StartRead(std::uint64_t offset, ByteSpan into,
                                                       ReadSource source) const override {
    return content_.StartRead(offset, into, source);
  }
  void Advise(std::uint64_t offset, std::uint64_t length, CacheAdvice advice) const override {
    content_.Advise(offset, length, advice);
  }
  [[nodiscard]] Status Append(ByteView bytes, KnownCrc crc) override;
  [[nodiscard]] Status PositionedAppend(ByteView bytes, std::uint64_t offset, KnownCrc crc) override;
  void SetLifetime(Lifetime later) override;
  std::uint64_t size() const override { return content_.size(); }
  std::uint64_t changed_seconds() const override { return content_.changed_seconds(); }

  // Commits the shorter file if a mount would find bytes behind `size` otherwise. If that fails, the file is shorter for its
  // handles, and the next call tries again. Errors: also those of PlainFile::Truncate.
  [[nodiscard]] Status Truncate(std::uint64_t size) override;
  [[nodiscard]] Status Flush() override;
  [[nodiscard]] Status Sync() override;
  [[nodiscard]] Status WriteBack() override;
  [[nodiscard]] Result<Uncommitted> Drain() override { return content_.Drain(); }
  void NoteCommitted(const Uncommitted& drained) override;
  bool HasFlushedBytes() const override { return content_.HasFlushedBytes(); }
  void NoteReleased() override;

  bool HoldsZone(ZoneId zone) const override { return content_.LiesIn(zone); }
  // The writer may hold the content while it waits for the space that is being made.
  bool MovesWhileWritten() const override { return false; }
  [[nodiscard]] bool TakeMoved(const std::vector<Extent>& extents) override {
    return content_.TryReplaceCommitted(extents);
  }

 private:
  // WriteBack as a sync that no handle has asked for.
  [[nodiscard]] Status SyncMetered();
  void FreeBuffers() override { content_.EndWriting(); }
  bool ContentKeptForNextMount() const override { return content_.KeptForNextMount(); }

  PlainFile content_;
};

}  // namespace zenfs
