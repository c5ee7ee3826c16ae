#include "backends/emulator/bufferless_clock.h"

#include <algorithm>

namespace zenfs {

BufferlessClock::BufferlessClock(const BufferlessProfile& profile, std::uint32_t zones)
    : profile_(profile), units_(profile.units), zone_free_(zones) {}

SteadyTime BufferlessClock::Completion(const TimedCommand& command, SteadyTime sent) {
  switch (command.kind) {
    case TimedCommand::Kind::kRead: return Read(command.bytes, sent);
    case TimedCommand::Kind::kAppend: return Program(command.bytes, sent);
    case TimedCommand::Kind::kWrite: {
      SteadyTime& zone_free = zone_free_[command.zone.value];
      return zone_free = Program(command.bytes, std::max(sent, zone_free));
    }
    case TimedCommand::Kind::kFlush:
    case TimedCommand::Kind::kReset:
    case TimedCommand::Kind::kFinish: return sent;
    case TimedCommand::Kind::kOpen: return sent + profile_.open;
    case TimedCommand::Kind::kClose: return sent + profile_.close;
  }
  return sent;
}

SteadyTime BufferlessClock::Program(std::uint64_t bytes, SteadyTime start) {
  SteadyTime done = start;
  for (std::uint64_t page = 0; page * profile_.page_bytes < bytes; ++page) {
    Unit& unit = units_[next_program_++ % units_.size()];
    const SteadyTime transferred = std::max(start, unit.register_free) + profile_.transfer;
    unit.register_free = std::max(transferred, unit.programmed);
    unit.programmed = unit.register_free + profile_.program;
    done = std::max(done, unit.programmed);
  }
  return done;
}

SteadyTime BufferlessClock::Read(std::uint64_t bytes, SteadyTime start) {
  SteadyTime done = start;
  for (std::uint64_t page = 0; page * profile_.page_bytes < bytes; ++page) {
    Unit& unit = units_[next_read_++ % units_.size()];
    SteadyTime begin = std::max(start, unit.read);
    if (unit.programmed > begin) {
      begin += (unit.programmed - begin) % profile_.program;  // the page that is being programmed
      unit.programmed += profile_.read;                       // the pages after it wait
    }
    unit.read = begin + profile_.read;
    done = std::max(done, unit.read);
  }
  return done;
}

}  // namespace zenfs
