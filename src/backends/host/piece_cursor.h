// Walks the pieces of a write as the kernel takes them: some at a time, ending anywhere.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace zenfs {

class PieceCursor {
 public:
  static constexpr std::size_t kVectors = 64;  // a call; far below IOV_MAX, and enough for every caller

  explicit PieceCursor(std::span<const ByteView> pieces) : pieces_(pieces) { Settle(); }

  bool AtEnd() const { return pieces_.empty(); }

  // What comes next, at most kVectors pieces; valid until the next call. Not at the end.
  std::span<const iovec> Next() {
    const std::size_t count = std::min(pieces_.size(), kVectors);
    for (std::size_t i = 0; i < count; ++i) {
      const ByteView piece = i == 0 ? pieces_[0].subspan(in_first_) : pieces_[i];
      vectors_[i] = {.iov_base = const_cast<std::byte*>(piece.data()), .iov_len = piece.size()};
    }
    return std::span(vectors_).first(count);
  }
  // The kernel has taken `bytes` of what Next gave.
  void Advance(std::uint64_t bytes) {
    in_first_ += bytes;
    Settle();
  }

 private:
  void Settle() {
    while (!pieces_.empty() && in_first_ >= pieces_[0].size()) {
      in_first_ -= pieces_[0].size();
      pieces_ = pieces_.subspan(1);
    }
  }

  std::span<const ByteView> pieces_;
  std::uint64_t in_first_ = 0;  // bytes of pieces_[0] that are taken
  std::array<iovec, kVectors> vectors_;
};

}  // namespace zenfs
