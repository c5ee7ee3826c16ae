#include "backends/emulator/device_clock.h"

#include "backends/emulator/buffered_clock.h"
#include "backends/emulator/bufferless_clock.h"

namespace zenfs {

std::unique_ptr<DeviceClock> MakeDeviceClock(Timing timing, std::uint32_t zones, std::uint64_t seed) {
  switch (timing) {
    case Timing::kNone: return nullptr;
    case Timing::kZn540: return std::make_unique<BufferedClock>(BufferedProfile{}, zones, seed);
    case Timing::kBufferless: return std::make_unique<BufferlessClock>(BufferlessProfile{}, zones);
  }
  return nullptr;
}

}  // namespace zenfs
