// Seeds: inputs made from real objects, so that a target need not find the formats by itself. They are written into
// the build folder by zenfs_fuzz_seeds before a run.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace zenfs {

class SeedWriter {
 public:
  // `root` gets a folder for each target.
  explicit SeedWriter(std::filesystem::path root) : root_(std::move(root)) {}

  // Ends the process with a line on standard error if the file can't be written.
  void Write(std::string_view target, std::string_view name, std::string_view bytes);

 private:
  std::filesystem::path root_;
};

// One for each group of targets, in the file beside it.
void WriteFormatSeeds(SeedWriter& writer);           // superblock, metadata_copy, edits
void WriteMetadataSeeds(SeedWriter& writer);         // metadata
void WriteCommitsSeeds(SeedWriter& writer);          // commits
void WriteFramedSeeds(SeedWriter& writer);           // framed
void WriteStagingSeeds(SeedWriter& writer);          // staging
void WriteBuffersSeeds(SeedWriter& writer);          // buffers
void WriteEmulatedSeeds(SeedWriter& writer);         // emulated
void WriteTextSeeds(SeedWriter& writer);             // uri, command_line, manifest
void WriteBackupDirectorySeeds(SeedWriter& writer);  // backup_directory
void WriteImageSeeds(SeedWriter& writer);            // image, repair

}  // namespace zenfs
