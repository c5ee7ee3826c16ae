// Writes the seeds of all targets: zenfs_fuzz_seeds DIRECTORY
#include <cstdio>
#include <fstream>

#include "seeds.h"

namespace zenfs {

void SeedWriter::Write(std::string_view target, std::string_view name, std::string_view bytes) {
  const std::filesystem::path directory = root_ / target;
  std::error_code ignored;  // an error will show in the write below
  std::filesystem::create_directories(directory, ignored);
  std::ofstream file(directory / name, std::ios::binary | std::ios::trunc);
  file << bytes << std::flush;
  if (file.good()) return;
  std::fprintf(stderr, "zenfs_fuzz_seeds: %s can't be written\n", (directory / name).c_str());
  std::exit(1);
}

}  // namespace zenfs

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: zenfs_fuzz_seeds DIRECTORY\n");
    return 1;
  }
  zenfs::SeedWriter writer(argv[1]);
  zenfs::WriteFormatSeeds(writer);
  zenfs::WriteMetadataSeeds(writer);
  zenfs::WriteOlderSeeds(writer);
  zenfs::WriteCommitsSeeds(writer);
  zenfs::WriteFramedSeeds(writer);
  zenfs::WriteBufferAreaSeeds(writer);
  zenfs::WriteBuffersSeeds(writer);
  zenfs::WriteEmulatedSeeds(writer);
  zenfs::WriteTextSeeds(writer);
  zenfs::WriteBackupDirectorySeeds(writer);
  zenfs::WriteImageSeeds(writer);
  return 0;
}
