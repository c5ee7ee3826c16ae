// Copies one file out of a volume, or into it. Backup and restore copy each of their files with it, and the verbs cat, get and put
// a single one.
//
// Threads: any, as for Transfer::Pump.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "backup/transfer.h"
#include "base/host_file.h"
#include "base/output_file.h"
#include "volume/volume.h"

namespace zenfs {

// How often a writer may replace a file while it is read.
inline constexpr int kReplacedAtMost = 10;

// An attempt to read a file while a program may write the volume.
struct FileRead {
  enum class Outcome {
    kRead,
    kReplaced,   // or changed, so that what was read is useless: try again
    kDeleted,    // or its name is that of a directory now
    kUnreadable  // damaged, or in an offline zone: `failure`
  };

  Outcome outcome = Outcome::kDeleted;
  // The following are valid if it was read or is unreadable.
  FileStat stat{};
  FileLayout layout{};              // from before it was read
  std::uint64_t begun_seconds = 0;  // since 1970; the file was looked at later
  std::uint64_t size = 0;           // bytes
  std::uint32_t crc32c = 0;         // of all bytes
  std::optional<Error> failure{};
};

// Passes the bytes of a file to `write` and compares them with the checksums of the volume. An extent is compared after its bytes
// were passed. Errors: those of `write` and of the transfer; those of the volume, except kNotFound.
[[nodiscard]] Result<FileRead> ReadVolumeFile(Volume& volume, Transfer& transfer, const std::string& path,
                                              const Transfer::Writer& write);

// The same, for a file that is passed on at once: nothing can be taken back once bytes were passed. Tries again only before. Errors:
// also kNotFound; kIsADirectory; kCorruption and other errors of reading; kBusy if a writer replaced it meanwhile.
[[nodiscard]] Result<FileRead> StreamVolumeFile(Volume& volume, Transfer& transfer, const std::string& path,
                                                const Transfer::Writer& write);

// Errors: kCorruption if the device has lost bytes of the file, as far as that is known. Reads of such bytes in the middle of a file
// fail; a log that ends too early can be read.
[[nodiscard]] Status CheckNothingLost(const Volume& volume, FileId file, const std::string& path);

struct GetOptions {
  std::string path;   // in the volume
  std::string local;  // on the host
  bool force = false;
  std::optional<mode_t> mode;  // default: that of the file that is replaced, or else 600
};
// Copies a file to the host, where it gets its name when it is complete and synced. Errors: as StreamVolumeFile; those of NewOutput,
// such as kExists without `force`; after the file was copied, those of CheckNothingLost.
[[nodiscard]] Status GetFile(Volume& volume, Transfer& transfer, const GetOptions& options);

// Creates a file of the volume with `size` bytes of `from`, and syncs and closes it. `name`: the path for errors.
struct FileWritten {
  FileId id;
  std::uint32_t crc32c = 0;
};
[[nodiscard]] Result<FileWritten> WriteVolumeFile(Volume& volume, Transfer& transfer, const HostFile& from,
                                                  std::uint64_t size, const std::string& path,
                                                  const std::string& name, Lifetime lifetime);

// The CRC-32C of all bytes of a file, read from the device.
[[nodiscard]] Result<std::uint32_t> ChecksumOfFile(Transfer& transfer, const FileHandle& file,
                                                   const std::string& name);

// Reads a file back from the device. Errors: kCorruption if it is not what was written.
[[nodiscard]] Status ReadBack(Volume& volume, Transfer& transfer, const FileWritten& written,
                              std::uint64_t size, const std::string& path, const std::string& name);

// Bytes to write in one place, and those of files that they replace.
struct Demand {
  std::uint64_t needed = 0;
  std::uint64_t replaced = 0;
};
// Adds a file to what is needed on the device or, for LOG and LOCK, in the aux directory. `stat`: the file that it replaces.
struct Demands {
  Demand of_device;
  Demand of_host;

  [[nodiscard]] Status Add(const Volume& volume, const std::string& path, std::uint64_t size,
                           const std::optional<FileStat>& stat);
  // Errors: kNoSpace.
  [[nodiscard]] Status Check(const Volume& volume) const;
};

struct PutOptions {
  std::string local;  // on the host; links are followed
  std::string path;   // in the volume
  bool force = false;
};
// The source of a PutFile. Errors: those of the host; kIsADirectory; kInvalidArgument for what is not a regular file.
[[nodiscard]] Result<HostFile> OpenLocal(const std::string& path);
// Copies `from` into the volume. The file gets its name after it is complete, synced and read back. Until then it is in the staging
// directory of restores, where the next put or restore removes what an interrupted one left. Errors: kExists without `force`;
// kIsADirectory, kNotADirectory and kNotFound for `path`; kNoSpace, before anything is written if it is known by then.
[[nodiscard]] Status PutFile(Volume& volume, Transfer& transfer, const HostFile& from,
                             const PutOptions& options);

}  // namespace zenfs
