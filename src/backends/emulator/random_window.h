// The part of a zone with a random write area that may be written (ZonedDevice::OpenRandom). Pure.
//
//   start            end of the window            end of the implicit commit
//   |---- area ------|---------- area ------------|
//   a write in here  a write that ends in here first moves `start` up, by a multiple of `unit`
//
// Both ends are cut at the capacity. Units: blocks, counted from the start of the zone. `start` is a multiple of `unit`,
// because a zone is empty when it gets its area.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/bytes.h"

namespace zenfs {

struct RandomWindow {
  std::uint64_t start = 0;  // the write pointer
  std::uint64_t area = 0;
  std::uint64_t unit = 0;
  std::uint64_t capacity = 0;

  constexpr std::uint64_t end() const { return std::min(capacity, start + area); }
  // A write beyond the capacity is another error.
  constexpr bool TakesWrite(std::uint64_t block, std::uint64_t write_end) const {
    return block >= start && write_end <= start + 2 * area;
  }
  // The write pointer after a write that ends there. Below the capacity, as `unit` <= `area`.
  constexpr std::uint64_t PointerAfterWrite(std::uint64_t write_end) const {
    return write_end <= start + area ? start : start + RoundUp(write_end - area - start, unit);
  }
  constexpr bool TakesCommit(std::uint64_t to) const {
    return to > start && to <= end() && (to % unit == 0 || to == capacity);
  }
};

}  // namespace zenfs
