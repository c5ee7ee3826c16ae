#include "cli/elf_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/random.h"

namespace zenfs {
namespace {

using Identity = std::pair<std::uint64_t, std::uint64_t>;

std::optional<ElfFile> OpenElf(const std::string& path) {
  Result<ForeignFile> file = ForeignFile::Open(path);
  return file ? ElfFile::Of(*std::move(file)) : std::nullopt;
}

// The libraries of this process, as the loader has loaded them.
struct Loaded {
  std::set<Identity> files;
  std::string c_library;
  ElfW(Addr) c_address = 0;
};

Loaded LoadedLibraries() {
  Loaded loaded;
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* argument) {
        auto& all = *static_cast<Loaded*>(argument);
        struct stat status{};
        if (object->dlpi_name[0] == '\0' || ::stat(object->dlpi_name, &status) != 0)
          return 0;  // this program; the kernel's
        all.files.emplace(status.st_dev, status.st_ino);
        if (std::string_view(object->dlpi_name).find("/libc.so") != std::string_view::npos) {
          all.c_library = object->dlpi_name;
          all.c_address = object->dlpi_addr;
        }
        return 0;
      },
      &loaded);
  return loaded;
}

TEST(NeededLibrariesTest, AreThoseThatTheLoaderLoads) {
  const auto self = OpenElf("/proc/self/exe");
  ASSERT_TRUE(self);
  EXPECT_TRUE(self->needs_loader());
  std::set<Identity> files;
  ASSERT_TRUE(VisitNeededLibraries(*self, [&files](const ElfFile& library) -> Status {
                EXPECT_TRUE(files.insert(library.file().identity()).second) << library.file().path();
                return {};
              }).ok());
  EXPECT_EQ(files, LoadedLibraries().files);
}

TEST(NeededLibrariesTest, ASearchThatTakesTooLongEnds) {
  const auto self = OpenElf("/proc/self/exe");
  ASSERT_TRUE(self);
  const Status visited =
      VisitNeededLibraries(*self, [](const ElfFile&) { return Status(); }, std::chrono::seconds(0));
  ASSERT_FALSE(visited.ok());
  EXPECT_EQ(visited.error().code(), Code::kTimedOut);
}

TEST(ElfFileTest, ExportsAreWhereTheLoaderFindsThem) {
  const Loaded loaded = LoadedLibraries();
  const auto library = OpenElf(loaded.c_library);
  ASSERT_TRUE(library);
  EXPECT_TRUE(library->is_library() || library->needs_loader());  // libc.so.6 can be run, too
  EXPECT_EQ(library->soname(), "libc.so.6");
  EXPECT_TRUE(library->FindExport("environ"));
  EXPECT_EQ(library->FindExport("no_such_function"), std::nullopt);
  EXPECT_EQ(library->FindExport(""), std::nullopt);
  const auto strings = library->FindExport("getpid");
  ASSERT_TRUE(strings);
  std::string in_file(16, '\0');
  ASSERT_EQ(library->ReadMemory(*strings, in_file), in_file.size());
  EXPECT_EQ(in_file, std::string(reinterpret_cast<const char*>(loaded.c_address + *strings), in_file.size()));
}

// All symbols have the hash of the name that is looked for.
TEST(ElfFileTest, AChainOfEqualHashesIsFollowedForAShortWay) {
  constexpr std::string_view kName = "some_function";
  constexpr std::uint32_t kSymbols = 10'000;
  std::uint32_t hash = 5381;
  for (const char c : kName) hash = hash * 33 + static_cast<unsigned char>(c);
  std::vector<std::uint32_t> table{1, 1, 0, 0, 1};  // a bucket, which begins with symbol 1
  table.resize(table.size() + kSymbols, hash & ~1U);
  const std::vector<Elf64_Sym> symbols(
      kSymbols,
      Elf64_Sym{.st_name = 0, .st_info = 0, .st_other = 0, .st_shndx = 1, .st_value = 0, .st_size = 0});
  const std::string strings = std::string(4000, 'A') + '\0';
  std::string bytes(4096, '\0');
  const auto add = [&bytes](const void* data, std::size_t size) {
    const std::size_t at = bytes.size();
    bytes.append(static_cast<const char*>(data), size).resize(RoundUp(at + size, std::size_t{16}));
    return at;
  };
  const std::array dynamic = std::to_array<Elf64_Dyn>(
      {{.d_tag = DT_GNU_HASH, .d_un = {.d_ptr = add(table.data(), table.size() * sizeof table[0])}},
       {.d_tag = DT_SYMTAB, .d_un = {.d_ptr = add(symbols.data(), symbols.size() * sizeof symbols[0])}},
       {.d_tag = DT_STRTAB, .d_un = {.d_ptr = add(strings.data(), strings.size())}},
       {.d_tag = DT_STRSZ, .d_un = {.d_val = strings.size()}}});
  Elf64_Phdr part{};
  part.p_type = PT_DYNAMIC;
  part.p_offset = part.p_vaddr = add(dynamic.data(), sizeof dynamic);
  part.p_filesz = sizeof dynamic;
  Elf64_Phdr all{};
  all.p_type = PT_LOAD;
  all.p_filesz = bytes.size();
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, &all, sizeof all);
  std::memcpy(bytes.data() + sizeof header + sizeof all, &part, sizeof part);
  std::string path = testing::TempDir() + "elf_file_XXXXXX";
  const int fd = ::mkstemp(path.data());
  ASSERT_EQ(::write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  ::close(fd);
  const auto elf = OpenElf(path);
  ::unlink(path.c_str());
  ASSERT_TRUE(elf);
  const SteadyTime begin = SteadyNow();
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(elf->FindExport(kName));
  EXPECT_LT(SteadyNow() - begin, std::chrono::seconds(3));
}

// Damage in the headers, the tables that they point to, and at random places of a small library.
TEST(ElfFileTest, DamageEndsALookWithoutHarm) {
  const auto sound = OpenElf(TESTED_LIBRARY);
  ASSERT_TRUE(sound);
  std::string bytes(sound->file().size(), '\0');
  ASSERT_EQ(sound->file().ReadAt(0, bytes), bytes.size());
  std::string path = testing::TempDir() + "elf_file_XXXXXX";
  const int fd = ::mkstemp(path.data());
  Random random(20261103);
  for (int round = 0; round < 1000; ++round) {
    std::string damaged = bytes;
    const std::size_t range = round % 2 == 0 ? std::min<std::size_t>(bytes.size(), 4096) : bytes.size();
    for (int i = 0; i < 1 + round % 8; ++i)
      damaged[random.Below(range)] = static_cast<char>(random.Below(256));
    if (round % 16 == 0) damaged.resize(random.Below(damaged.size()) + 1);
    ASSERT_EQ(::pwrite(fd, damaged.data(), damaged.size(), 0), static_cast<ssize_t>(damaged.size()));
    ASSERT_EQ(::ftruncate(fd, static_cast<off_t>(damaged.size())), 0);
    const auto elf = OpenElf(path);
    if (!elf) continue;
    std::uint64_t bytes_left = 64 << 20;
    static_cast<void>(elf->HasConstant("num-immutable-mem-table-flushed", bytes_left));
    static_cast<void>(elf->FindExport("_ZN7rocksdb3Env7DefaultEv"));
    static_cast<void>(VisitNeededLibraries(*elf, [](const ElfFile&) { return Status(); }));
  }
  ::close(fd);
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace zenfs
