// Makes an emulated device with an empty file system in it, for scripts.
//
//   zenfs_make_volume PATH
#include <cstdio>

#include "backends/emulator/emulator.h"
#include "volume/mkfs.h"

namespace {

zenfs::Status MakeVolume(const char* path) {
  zenfs::EmulatorGeometry geometry;
  geometry.zone_capacity = 12u << 20;
  ZENFS_RETURN_IF_ERROR(zenfs::CreateEmulatedFile(path, geometry, /*overwrite=*/false));
  ZENFS_ASSIGN_OR_RETURN(auto device, zenfs::OpenEmulatedFile(path, zenfs::OpenMode::kExclusive));
  ZENFS_RETURN_IF_ERROR(zenfs::FormatVolume(*device, zenfs::FormatOptions{}));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const zenfs::Status made = MakeVolume(argv[1]);
  if (!made.ok()) std::fprintf(stderr, "make_volume: %s\n", made.error().ToString().c_str());
  return made.ok() ? 0 : 1;
}
