// Reads the input of a fuzz target, and reports violated properties.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/bytes.h"

namespace zenfs {

// A property that must hold for every input. Otherwise ends the process; libFuzzer then reports the
// input.
inline void Require(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "a property does not hold: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

// True if a person replays a finding and wants to see the meaning of the input (ZENFS_FUZZ_TELL=1).
inline bool Tells() {
  static const bool tells = std::getenv("ZENFS_FUZZ_TELL") != nullptr;
  return tells;
}

// Takes values off the front of an input. Missing bytes read as zeros, so that every input has a
// meaning.
class FuzzInput {
 public:
  explicit FuzzInput(ByteView bytes) : rest_(bytes) {}

  template <typename T>
    requires std::is_trivially_copyable_v<T>
  T Take() {
    T value{};
    const ByteView taken = Bytes(sizeof value);
    if (!taken.empty()) std::memcpy(static_cast<void*>(&value), taken.data(), taken.size());
    return value;
  }
  // Returns up to `count` bytes.
  ByteView Bytes(std::size_t count) {
    const ByteView taken = rest_.first(std::min(count, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  ByteView Rest() { return Bytes(rest_.size()); }
  bool AtEnd() const { return rest_.empty(); }

 private:
  ByteView rest_;
};

// Writes the same value, for seeds.
template <typename T>
  requires std::is_trivially_copyable_v<T>
void PutRaw(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace zenfs

// Each target defines this function.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
