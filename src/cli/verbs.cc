#include "cli/verbs.h"

namespace zenfs {

std::span<const Verb> Verbs() {
  static constexpr Verb kVerbs[] = {
      {"devices", "Show the zoned devices of this host and their contents; start here", MakeDevices},
      {"doctor", "Tell whether this host, or a program, is ready for ZenFS, and what to do", MakeDoctor},
      {"mkfs", "Make a file system on a device", MakeMkfs},
      {"list", "List the files of a directory", MakeList},
      {"find", "Find files and directories by name, type, size or age", MakeFind},
      {"du", "Show how much the files of each directory use", MakeDu},
      {"ls-uuid", "List all file systems: uuid and device", MakeLsUuid},
      {"volumes", "List the volumes that configuration files name", MakeVolumes},
      {"df", "Show how the space is used", MakeDf},
      {"fs-info", "Show the superblock and settings of a file system", MakeFsInfo},
      {"advise", "Print the RocksDB options that suit a device, with reasons", MakeAdvise},
      {"zones", "Draw the zones with their contents and live data", MakeZones},
      {"stats", "Show the activity of a mounted file system: counts, bytes, latencies", MakeStats},
      {"top", "Show the activity of file systems on a full screen, live", MakeTop},
      {"exporter", "Serve metrics of file systems to Prometheus", MakeExporter},
      {"buffers", "List append buffers in shared memory, and remove unneeded ones", MakeBuffers},
      {"check", "Verify every invariant, and repair if asked to; exit 0 clean, 1 findings, 2 not checked",
       MakeCheck, kCheckImpossible},
      {"scrub", "Read everything and verify all checksums; exit 0 clean, 1 findings, 2 not scrubbed",
       MakeScrub, kCheckImpossible},
      {"upgrade", "Take over a volume of the older ZenFS in place, or undo that", MakeUpgrade},
      {"dump", "Print zones, files and extents as JSON", MakeDump},
      {"backup", "Copy files to a directory of the host, verified; continues where it stopped", MakeBackup},
      {"restore", "Copy files of the host into a file system, verified; continues where it stopped",
       MakeRestore},
      {"cat", "Print the bytes of files", MakeCat},
      {"get", "Copy a file to the host, verified", MakeGet},
      {"put", "Copy a file of the host into a file system, verified and synced", MakePut},
      {"mount", "Show the files in a directory of the host, read-only", MakeMount},
      {"link", "Give a file an additional name (hard link)", MakeLink},
      {"rename", "Rename a file or directory", MakeRename},
      {"delete", "Delete a file", MakeDelete},
      {"mkdir", "Make a directory", MakeMkdir},
      {"rmdir", "Remove a directory", MakeRmdir},
      {"emu create", "Make an emulated zoned device in a sparse file", MakeEmuCreate},
      {"emu clone", "Copy an emulated device; the file system in the copy gets a UUID of its own",
       MakeEmuClone},
      {"emu info", "Show the shape of an emulated device", MakeEmuInfo},
      {"emu power-cut", "Cut the power of an emulated device: data that was not flushed may be lost",
       MakeEmuPowerCut},
      {"version", "Show the version of this program", MakeVersion},
      {"completion", "Print the completions of a shell: bash, zsh or fish", MakeCompletion},
      {"help", "Show this list, or the flags of a verb", MakeHelp},
  };
  return kVerbs;
}

}  // namespace zenfs
