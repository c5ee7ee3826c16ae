// Seeds: inputs made from valid objects, so that a target need not discover the formats.
// zenfs_fuzz_seeds writes them into the build folder before a run.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace zenfs {

class SeedWriter {
 public:
  // Creates a folder below `root` for each target.
  explicit SeedWriter(std::filesystem::path root) : root_(std::move(root)) {}

  // Ends the process with a message on standard error if the file can't be written.
  void Write(std::string_view target, std::string_view name, std::string_view bytes);

 private:
  std::filesystem::path root_;
};

// One function for each group of targets, in the source file beside them.
void WriteFormatSeeds(SeedWriter& writer);           // superblock, metadata_copy, edits
void WriteMetadataSeeds(SeedWriter& writer);         // metadata
void WriteOlderSeeds(SeedWriter& writer);            // older
void WriteCommitsSeeds(SeedWriter& writer);          // commits
void WriteFramedSeeds(SeedWriter& writer);           // framed
void WriteBufferAreaSeeds(SeedWriter& writer);       // buffer_area
void WriteBuffersSeeds(SeedWriter& writer);          // buffers
void WriteEmulatedSeeds(SeedWriter& writer);         // emulated
void WriteTextSeeds(SeedWriter& writer);             // uri, command_line, manifest
void WriteBackupDirectorySeeds(SeedWriter& writer);  // backup_directory
void WriteImageSeeds(SeedWriter& writer);            // image, repair

}  // namespace zenfs
