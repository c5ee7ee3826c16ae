// Little-endian coding of integers and strings, for everything that reaches a medium.
//
// Writers append to a std::string; a Decoder walks a view, bounds every length before it is used, and once it
// has failed stays failed, so that a caller may check once at the end. It never reads outside its view.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/bytes.h"

namespace zenfs {

static_assert(std::endian::native == std::endian::little,
              "structures are copied to the medium as they are; a big-endian host needs byte swaps here");

template <typename T>
  requires std::is_unsigned_v<T>
void PutFixed(std::string& out, T value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  out.append(raw, sizeof raw);
}

// LEB128, at most 10 bytes.
inline void PutVarint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

// Varint length, then the bytes.
inline void PutString(std::string& out, std::string_view text) {
  PutVarint(out, text.size());
  out.append(text);
}

class Decoder {
 public:
  explicit Decoder(ByteView bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  bool AtEnd() const { return rest_.empty(); }
  std::size_t remaining() const { return rest_.size(); }

  template <typename T>
    requires std::is_unsigned_v<T>
  T Fixed() {
    T value{};
    if (!Take(sizeof value)) return value;
    std::memcpy(&value, taken_.data(), sizeof value);
    return value;
  }
  std::uint64_t Varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (!Take(1)) return 0;
      const auto byte = static_cast<std::uint8_t>(taken_[0]);
      if (shift == 63 && byte > 1) break;  // would overflow 64 bits
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    ok_ = false;
    return 0;
  }
  // The view lives as long as the decoded bytes.
  std::string_view String() {
    const std::uint64_t length = Varint();
    if (!Take(length)) return {};
    return AsText(taken_);
  }
  // `count` things of at least `min_size` bytes each must still fit; a count that can't be is a failure
  // before anything is allocated for it.
  std::uint64_t Count(std::size_t min_size) {
    const std::uint64_t count = Varint();
    if (ok_ && count > rest_.size() / min_size) ok_ = false;
    return ok_ ? count : 0;
  }

 private:
  bool Take(std::uint64_t length) {
    if (!ok_ || length > rest_.size()) {
      ok_ = false;
      return false;
    }
    taken_ = rest_.first(length);
    rest_ = rest_.subspan(length);
    return true;
  }

  ByteView rest_;
  ByteView taken_;
  bool ok_ = true;
};

}  // namespace zenfs
