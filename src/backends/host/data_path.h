// How bytes reach a block device: by reads and writes of its node, or by commands of its driver.
//
// Units: bytes; offsets count from the start of the device. Threads: safe from any thread; no state that changes.
#pragma once

#include <cerrno>
#include <cstdint>
#include <span>

#include "backends/host/ring_commands.h"
#include "base/bytes.h"

namespace zenfs {

class DataPath {
 public:
  virtual ~DataPath() = default;

  [[nodiscard]] virtual IoOutcome Read(std::uint64_t offset, ByteSpan into) const = 0;
  // Writes the pieces contiguously. Each command is sent after the previous one has completed.
  [[nodiscard]] virtual IoOutcome Write(std::uint64_t offset, std::span<const ByteView> pieces) const = 0;
  [[nodiscard]] virtual CommandResult Flush() const = 0;
  // One command that copies inside the device. The kernel has no call for it.
  [[nodiscard]] virtual CommandResult Copy(std::uint64_t /*from*/, std::uint64_t /*to*/,
                                           std::uint64_t /*length*/) const {
    return {.os_errno = EOPNOTSUPP};
  }
  // Where a queue finds the bytes at `offset`.
  [[nodiscard]] virtual IoPlace Place(std::uint64_t offset) const = 0;
};

// Zone appends. `zone`: the start of a zone.
class AppendPath {
 public:
  virtual ~AppendPath() = default;

  [[nodiscard]] virtual std::uint64_t longest_append() const = 0;
  // One command. IoOutcome::place: where the device put the bytes.
  [[nodiscard]] virtual IoOutcome Append(std::uint64_t zone, ByteView bytes) const = 0;
  [[nodiscard]] virtual IoPlace AppendPlace(std::uint64_t zone) const = 0;
};

}  // namespace zenfs
