// Programs and libraries as the loader of glibc sees them, read from their files: no code of them runs, and neither does the loader, which
// runs code of what a program names as its auditors (DT_AUDIT), also for ldd(1).
//
// Threads: none.
#pragma once

#include <elf.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cli/foreign_file.h"

namespace zenfs {

// A program or library of 64 bits: its program headers and its dynamic section (elf(5)). No number in it is trusted: what contradicts
// itself reads as absent.
class ElfFile {
 public:
  // Nothing if it is not an ELF file of 64 bits in the byte order of this machine, or one for another processor than `machine`.
  [[nodiscard]] static std::optional<ElfFile> Of(ForeignFile file, std::optional<unsigned> machine = {});

  const ForeignFile& file() const { return file_; }
  unsigned machine() const { return header_.e_machine; }
  // True if the loader starts it, with its libraries. False for a library and for a static program.
  bool needs_loader() const { return needs_loader_; }
  bool is_library() const { return !needs_loader_ && header_.e_type == ET_DYN; }

  // From the dynamic section: names of libraries (DT_NEEDED), at most 1,024; its own name (DT_SONAME); where to search for the libraries
  // (DT_RPATH, DT_RUNPATH), separated by ':'. Empty if absent.
  const std::vector<std::string>& needed() const { return needed_; }
  const std::string& soname() const { return soname_; }
  const std::string& rpath() const { return rpath_; }
  const std::string& runpath() const { return runpath_; }

  // The address of a symbol that other objects can use; nothing if the file defines none of this name.
  std::optional<std::uint64_t> FindExport(std::string_view name) const;
  // Returns the number of bytes that the file has at this address when it is loaded.
  std::size_t ReadMemory(std::uint64_t address, std::span<char> into) const;
  // Searches the constant bytes that are loaded, so not what debuggers read. Errors: those of ForeignFile::Search.
  [[nodiscard]] Result<bool> HasConstant(std::string_view text, std::uint64_t& bytes_left) const;

 private:
  ElfFile(ForeignFile file, const Elf64_Ehdr& header) : file_(std::move(file)), header_(header) {}

  void ReadProgramHeaders();
  void ReadDynamicSection();
  std::string StringAt(std::uint64_t offset) const;  // in the string table
  // True if symbol `index` is defined here and has this name; then `address` is its.
  bool IsExport(std::uint64_t index, std::string_view name, std::uint64_t& address) const;
  std::optional<std::uint64_t> FindByGnuHash(std::string_view name) const;
  std::optional<std::uint64_t> FindByHash(std::string_view name) const;
  template <typename T>
  std::optional<T> ValueAt(std::uint64_t address) const;

  ForeignFile file_;
  Elf64_Ehdr header_;
  bool needs_loader_ = false;
  std::vector<Elf64_Phdr> loaded_;
  Elf64_Phdr dynamic_{};
  std::uint64_t strings_ = 0;  // addresses of tables; 0 if there is none
  std::uint64_t strings_bytes_ = 0;
  std::uint64_t symbols_ = 0;
  std::uint64_t gnu_hash_ = 0;
  std::uint64_t hash_ = 0;
  std::vector<std::string> needed_;
  std::string soname_;
  std::string rpath_;
  std::string runpath_;
};

// Visits each library that `program`, or one of its libraries, needs, by the rules of ld.so(8): once, in the order of the loader. Leaves out
// those that are not found, libraries that are preloaded or opened later, variants for a processor (glibc-hwcaps), and DF_1_NODEFLIB.
//
// Errors: those of `visit`; kInvalidArgument for more than 1,000 libraries, 10,000 names of them or 100,000
// places to look for them; kTimedOut after `longest`: the host may take milliseconds to follow the links of one place.
[[nodiscard]] Status VisitNeededLibraries(const ElfFile& program,
                                          const std::function<Status(const ElfFile& library)>& visit,
                                          std::chrono::seconds longest = std::chrono::seconds(30));

}  // namespace zenfs
