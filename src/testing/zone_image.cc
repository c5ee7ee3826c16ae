#include "testing/zone_image.h"

#include <algorithm>

namespace zenfs {

void Apply(ZoneImage& image, const ZoneCommand& command) {
  switch (command.kind) {
    case ZoneCommand::Kind::kWrite: {
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
  Apply(live, command);
  pending.push_back(std::move(command));
}

void ZoneHistory::Flush() {
  if (pending.empty()) return;
  durable = live;
  pending.clear();
}

}  // namespace zenfs
