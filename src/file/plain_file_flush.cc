#include "file/plain_file_flush.h"

#include "base/assert.h"
#include "file/plain_file_write.h"

namespace zenfs {
namespace {

// `with_edit`: also the parts that only Keep needs.
FlushedTail::Content ToFlush(const PlainFileParts& file, bool with_edit) REQUIRES(file.mutex) {
  FlushedTail::Content flush{.device_end = file.content.extents().end(),
                             .uncommitted = {},
                             .pins = nullptr,
                             .tail_offset = file.content.tail_offset(),
                             .tail = file.content.tail().View(),
                             .appended_seconds = file.changed_seconds.load(std::memory_order_relaxed),
                             .revision = file.content.revision()};
  if (!with_edit) return flush;
  flush.pins = file.published.view.Get();
  if (file.content.extents().changed()) flush.uncommitted = file.EditToCommit();
  return flush;
}

}  // namespace

Result<bool> FlushTail(PlainFileParts& file) {
  if (file.content.written() && !file.content.extents().changed()) return true;
  const std::uint64_t comfortable = file.flushed.comfortable_bytes();
  if (file.content.size() <= file.content.extents().committed_size() || comfortable == 0) return false;
  bool flushed = file.flushed.Extend(ToFlush(file, false));
  if (!flushed) {
    if (file.content.size() - file.content.extents().end() > comfortable)
      ZENFS_RETURN_IF_ERROR(WriteWholeBlocks(file));
    flushed = file.flushed.Keep(ToFlush(file, true));
  }
  if (flushed) file.flushed_since_drain = true;
  ZENFS_ASSERT(file.Sound());
  return flushed;
}

void CutFlushed(PlainFileParts& file) {
  const std::uint64_t size = file.content.size();
  if (file.flushed.empty() || size >= file.flushed.end()) return;
  if (file.content.written() && !file.content.extents().changed()) return file.flushed.Clear();
  if (size <= file.content.extents().committed_size()) return;
  if (size >= file.flushed.device_end()) return file.flushed.Cut(size);
  // Without a buffer for it the old part stays, and must be committed.
  static_cast<void>(file.flushed.Keep(ToFlush(file, true)));
}

bool MountFindsMore(const PlainFileParts& file) {
  const std::uint64_t size = file.content.size();
  return size < file.content.extents().committed_size() ||
         (!file.flushed.empty() && size < file.flushed.end());
}

}  // namespace zenfs
