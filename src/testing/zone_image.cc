#include "testing/zone_image.h"

#include <algorithm>

namespace zenfs {

void Apply(ZoneImage& image, const ZoneCommand& command) {
  switch (command.kind) {
    case ZoneCommand::Kind::kWrite:
    case ZoneCommand::Kind::kRandom:
    case ZoneCommand::Kind::kDrop: {
      const std::uint64_t end = command.first_block + command.blocks.size();
      if (image.blocks.size() < end) image.blocks.resize(end);
      std::copy(command.blocks.begin(), command.blocks.end(),
                image.blocks.begin() + static_cast<std::ptrdiff_t>(command.first_block));
      break;
    }
    case ZoneCommand::Kind::kReset:
      if (!image.blocks.empty()) image.previous = std::move(image.blocks);
      image.blocks.clear();
      break;
    case ZoneCommand::Kind::kState: break;
  }
  image.state = command.after;
}

void ZoneHistory::Add(ZoneCommand command) {
  if (command.kind != ZoneCommand::Kind::kDrop) Apply(live, command);
  pending.push_back(std::move(command));
}

void ZoneHistory::Flush() {
  for (const ZoneCommand& command : pending) Apply(durable, command);
  pending.clear();
}

void ZoneHistory::LoseCache() {
  live = durable;
  for (const ZoneCommand& command : pending) Apply(live, command);
}

}  // namespace zenfs
