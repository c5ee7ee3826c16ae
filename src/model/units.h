// Separate types for numbers that must not be confused. Lengths and file offsets are plain std::uint64_t in bytes; the
// names of other numbers contain their unit.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace zenfs {

template <typename Tag, typename Rep>
struct StrongId {
  Rep value = 0;

  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep v) : value(v) {}
  friend constexpr auto operator<=>(const StrongId&, const StrongId&) = default;
};

// Index of a zone on its device; zone n begins at n * zone_size.
using ZoneId = StrongId<struct ZoneIdTag, std::uint32_t>;

// Identifies a file or directory within a volume. Never reused.
using FileId = StrongId<struct FileIdTag, std::uint64_t>;
inline constexpr FileId kNoFile{0};
inline constexpr FileId kRootDirectory{1};

// Bytes from the start of a device.
struct DeviceOffset {
  std::uint64_t value = 0;

  constexpr DeviceOffset() = default;
  constexpr explicit DeviceOffset(std::uint64_t v) : value(v) {}
  friend constexpr auto operator<=>(const DeviceOffset&, const DeviceOffset&) = default;
  friend constexpr DeviceOffset operator+(DeviceOffset a, std::uint64_t bytes) {
    return DeviceOffset(a.value + bytes);
  }
  friend constexpr std::uint64_t operator-(DeviceOffset a, DeviceOffset b) { return a.value - b.value; }
};

}  // namespace zenfs

template <typename Tag, typename Rep>
struct std::hash<zenfs::StrongId<Tag, Rep>> {
  std::size_t operator()(zenfs::StrongId<Tag, Rep> id) const noexcept { return std::hash<Rep>{}(id.value); }
};
