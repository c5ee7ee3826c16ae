#include "cli/verbs.h"

namespace zenfs {

std::span<const Verb> Verbs() {
  static constexpr Verb kVerbs[] = {
      {"devices", "Show the zoned devices of this host, and what they hold: the first to run", MakeDevices},
      {"mkfs", "Make a file system on a device", MakeMkfs},
      {"list", "List the files of a directory", MakeList},
      {"ls-uuid", "List the file systems there are: uuid and device", MakeLsUuid},
      {"df", "Show how the space is used", MakeDf},
      {"fs-info", "Show what a file system says of itself", MakeFsInfo},
      {"zones", "Draw the zones: what is in each, and how much of it is live", MakeZones},
      {"stats", "Show what a mounted file system does: counts, bytes, latencies", MakeStats},
      {"exporter", "Serve the figures of file systems to Prometheus", MakeExporter},
      {"buffers", "List what mounts keep in shared memory, and remove what dead ones left", MakeBuffers},
      {"check", "Verify every invariant, and repair if asked to; exit 0 clean, 1 findings, 2 not checked",
       MakeCheck, kCheckImpossible},
      {"scrub", "Read everything and verify all checksums; exit 0 clean, 1 findings, 2 not scrubbed",
       MakeScrub, kCheckImpossible},
      {"dump", "Print zones, files and where their bytes lie, as JSON", MakeDump},
      {"backup", "Copy files to a directory of the host, verified; goes on where it stopped", MakeBackup},
      {"restore", "Copy files of the host into a file system, verified; goes on where it stopped",
       MakeRestore},
      {"link", "Give a file a further name", MakeLink},
      {"rename", "Give a file or directory another name", MakeRename},
      {"delete", "Delete a file", MakeDelete},
      {"rmdir", "Remove a directory", MakeRmdir},
      {"emu create", "Make an emulated zoned device in a sparse file", MakeEmuCreate},
      {"emu clone", "Copy an emulated device; the file system in the copy gets a UUID of its own",
       MakeEmuClone},
      {"emu info", "Show the shape of an emulated device", MakeEmuInfo},
      {"emu power-cut", "Cut the power of an emulated device: what was not flushed may be lost",
       MakeEmuPowerCut},
      {"version", "Show the version of this program", MakeVersion},
      {"completion", "Print the completions of a shell: bash, zsh or fish", MakeCompletion},
      {"help", "Show this list, or the flags of a verb", MakeHelp},
  };
  return kVerbs;
}

}  // namespace zenfs
