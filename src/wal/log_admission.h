// The right of a frame to write so many bytes of a log that carries plain data. Returns itself.
#pragma once

#include <cstdint>
#include <utility>

#include "wal/log_space.h"

namespace zenfs {

class LogSpace::Admission {
 public:
  Admission() = default;  // nothing to give back
  Admission(LogSpace& log, std::uint64_t bytes) : log_(&log), bytes_(bytes) {}
  Admission(Admission&& other) noexcept : log_(std::exchange(other.log_, nullptr)), bytes_(other.bytes_) {}
  Admission& operator=(Admission&&) = delete;
  ~Admission() { Release(); }

 private:
  void Release();
  LogSpace* log_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace zenfs
