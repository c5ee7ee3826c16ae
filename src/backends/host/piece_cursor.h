// Iterates over the pieces of a write while the kernel takes them in parts that may end anywhere.
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
  static constexpr std::size_t kVectors = 64;  // per call; far below IOV_MAX, and enough for every caller

  explicit PieceCursor(std::span<const ByteView> pieces) : pieces_(pieces) { Settle(); }

  bool AtEnd() const { return pieces_.empty(); }

  // The next part: at most kVectors pieces and `longest` bytes. Valid until the next call. Not
  // allowed at the end.
  std::span<const iovec> Next(std::uint64_t longest) {
    std::size_t count = 0;
    while (count < std::min(pieces_.size(), kVectors) && longest != 0) {
      ByteView piece = count == 0 ? pieces_[0].subspan(in_first_) : pieces_[count];
      piece = piece.first(std::min<std::uint64_t>(piece.size(), longest));
      longest -= piece.size();
      vectors_[count++] = {.iov_base = const_cast<std::byte*>(piece.data()), .iov_len = piece.size()};
    }
    return std::span(vectors_).first(count);
  }
  // The kernel has taken `bytes` of the part that Next returned.
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
  std::uint64_t in_first_ = 0;  // bytes of pieces_[0] already taken
  std::array<iovec, kVectors> vectors_;
};

}  // namespace zenfs
