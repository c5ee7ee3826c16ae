// What one client does by the throw of a dice.
#pragma once

#include "client.h"

namespace zenfs {

// Up to `steps` calls on files and names under `root`, until the client fails. At most a few hundred KiB live
// at a time, so that any of DeviceShapes() has room for three of them.
void WorkAtRandom(Client& client, const std::string& root, int steps);

}  // namespace zenfs
