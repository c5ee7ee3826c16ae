// Little-endian encoding of integers and strings, for all data on a medium.
//
// Writers append to a std::string. A Decoder reads from a view, never outside of it, and checks every length before use.
// Once it has failed it stays failed, so a caller may check once at the end.
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
              "structures are copied to the medium unconverted; a big-endian host needs byte swaps here");

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

// The length as a varint, then the bytes.
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
  // The view is valid as long as the decoded bytes.
  std::string_view String() {
    const std::uint64_t length = Varint();
    if (!Take(length)) return {};
    return AsText(taken_);
  }
  // Reads a count of items of at least `min_size` bytes each. Fails if so many do not fit the rest of the view, before the
  // caller allocates memory for them.
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
