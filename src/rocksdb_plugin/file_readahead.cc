#include "rocksdb_plugin/file_readahead.h"

#include <algorithm>

namespace zenfs {

FileReadahead::Range FileReadahead::Next(std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t end = offset + length;
  MutexLock lock(mutex_);
  ++reads_;
  const auto stream = std::ranges::find(streams_, offset, &Stream::end);
  if (stream == streams_.end()) {
    *std::ranges::min_element(streams_, {}, &Stream::used) = {
        .end = end, .ahead = end, .window = 0, .used = reads_};
    return {};
  }
  stream->end = end;
  stream->used = reads_;
  stream->ahead = std::max(stream->ahead, end);
  // The next window begins when half of the last one is used, so that the device works while the reader does.
  if (stream->ahead - end > stream->window / 2) return {};
  stream->window = stream->window == 0 ? kFirstWindow : std::min(2 * stream->window, kLargestWindow);
  const Range range{stream->ahead, stream->window};
  stream->ahead += stream->window;
  return range;
}

}  // namespace zenfs
