#include "cli/elf_file.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace zenfs {

namespace {

constexpr std::size_t kHeadersMax = 65536 / sizeof(Elf64_Phdr);  // as in the kernel
constexpr std::size_t kDynamicMax = 8192;
constexpr std::size_t kNeededMax = 1024;
constexpr std::size_t kStringMax = 4096;
constexpr int kChainMax = 256;  // symbols of one hash; the longest chain of real libraries has some ten

template <typename T>
std::span<char> AsBytes(T& value) {
  return {reinterpret_cast<char*>(&value), sizeof value};
}

}  // namespace

std::optional<ElfFile> ElfFile::Of(ForeignFile file, std::optional<unsigned> machine) {
  constexpr unsigned char kByteOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  Elf64_Ehdr header{};
  if (file.ReadAt(0, AsBytes(header)) != sizeof header) return {};
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != kByteOrder)
    return {};
  if (machine && header.e_machine != *machine) return {};
  ElfFile elf(std::move(file), header);
  elf.ReadProgramHeaders();
  elf.ReadDynamicSection();
  return elf;
}

void ElfFile::ReadProgramHeaders() {
  if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phoff > file_.size()) return;
  for (std::size_t i = 0; i < std::min<std::size_t>(header_.e_phnum, kHeadersMax); ++i) {
    Elf64_Phdr part;
    if (file_.ReadAt(header_.e_phoff + i * sizeof part, AsBytes(part)) != sizeof part) return;
    if (part.p_type == PT_INTERP) needs_loader_ = true;
    if (part.p_type == PT_DYNAMIC) dynamic_ = part;
    if (part.p_type == PT_LOAD && part.p_offset < file_.size()) loaded_.push_back(part);
  }
}

void ElfFile::ReadDynamicSection() {
  std::vector<std::uint64_t> needed;
  std::optional<std::uint64_t> soname;
  std::optional<std::uint64_t> rpath;
  std::optional<std::uint64_t> runpath;
  std::vector<Elf64_Dyn> entries(std::min<std::uint64_t>(dynamic_.p_filesz / sizeof(Elf64_Dyn), kDynamicMax));
  const std::size_t bytes = ReadMemory(
      dynamic_.p_vaddr, {reinterpret_cast<char*>(entries.data()), entries.size() * sizeof(Elf64_Dyn)});
  entries.resize(bytes / sizeof(Elf64_Dyn));
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    switch (entry.d_tag) {
      case DT_NEEDED:
        if (needed.size() < kNeededMax) needed.push_back(entry.d_un.d_val);
        break;
      case DT_SONAME: soname = entry.d_un.d_val; break;
      case DT_RPATH: rpath = entry.d_un.d_val; break;
      case DT_RUNPATH: runpath = entry.d_un.d_val; break;
      case DT_STRTAB: strings_ = entry.d_un.d_ptr; break;
      case DT_STRSZ: strings_bytes_ = entry.d_un.d_val; break;
      case DT_SYMTAB: symbols_ = entry.d_un.d_ptr; break;
      case DT_GNU_HASH: gnu_hash_ = entry.d_un.d_ptr; break;
      case DT_HASH: hash_ = entry.d_un.d_ptr; break;
      default: break;
    }
  }
  for (const std::uint64_t name : needed) needed_.push_back(StringAt(name));
  if (soname) soname_ = StringAt(*soname);
  if (rpath) rpath_ = StringAt(*rpath);
  if (runpath) runpath_ = StringAt(*runpath);
}

std::size_t ElfFile::ReadMemory(std::uint64_t address, std::span<char> into) const {
  for (const Elf64_Phdr& part : loaded_) {
    if (address < part.p_vaddr || address - part.p_vaddr >= part.p_filesz) continue;
    const std::uint64_t inside = address - part.p_vaddr;
    if (inside >= file_.size() - part.p_offset) return 0;
    return file_.ReadAt(part.p_offset + inside,
                        into.first(std::min<std::uint64_t>(into.size(), part.p_filesz - inside)));
  }
  return 0;
}

template <typename T>
std::optional<T> ElfFile::ValueAt(std::uint64_t address) const {
  T value;
  if (ReadMemory(address, AsBytes(value)) != sizeof value) return {};
  return value;
}

std::string ElfFile::StringAt(std::uint64_t offset) const {
  if (offset >= strings_bytes_) return {};
  std::string text(std::min<std::uint64_t>(strings_bytes_ - offset, kStringMax), '\0');
  text.resize(ReadMemory(strings_ + offset, text));
  const std::size_t end = text.find('\0');
  return end == std::string::npos ? std::string() : text.substr(0, end);
}

Result<bool> ElfFile::HasConstant(std::string_view text, std::uint64_t& bytes_left) const {
  for (const Elf64_Phdr& part : loaded_) {
    if ((part.p_flags & PF_W) != 0) continue;
    const std::uint64_t bytes = std::min(part.p_filesz, file_.size() - part.p_offset);
    ZENFS_ASSIGN_OR_RETURN(const bool found, file_.Search(text, part.p_offset, part.p_offset + bytes,
                                                          bytes_left, [](std::string_view) { return true; }));
    if (found) return true;
  }
  return false;
}

std::optional<std::uint64_t> ElfFile::FindExport(std::string_view name) const {
  if (symbols_ == 0) return {};
  return gnu_hash_ != 0 ? FindByGnuHash(name) : hash_ != 0 ? FindByHash(name) : std::nullopt;
}

bool ElfFile::IsExport(std::uint64_t index, std::string_view name, std::uint64_t& address) const {
  const auto symbol = ValueAt<Elf64_Sym>(symbols_ + index * sizeof(Elf64_Sym));
  if (!symbol || symbol->st_shndx == SHN_UNDEF || StringAt(symbol->st_name) != name) return false;
  address = symbol->st_value;
  return true;
}

// The table: number of buckets, index of the first symbol in it, words of a Bloom filter, its shift; the filter; a symbol for each bucket; for
// each symbol its hash, of which bit 0 ends the bucket.
std::optional<std::uint64_t> ElfFile::FindByGnuHash(std::string_view name) const {
  struct Head {
    std::uint32_t buckets, first, filter_words, filter_shift;
  };
  const auto head = ValueAt<Head>(gnu_hash_);
  if (!head || head->buckets == 0) return {};
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  const std::uint64_t buckets = gnu_hash_ + sizeof(Head) + std::uint64_t{head->filter_words} * 8;
  const std::uint64_t chains = buckets + std::uint64_t{head->buckets} * 4;
  const auto bucket = ValueAt<std::uint32_t>(buckets + std::uint64_t{hash % head->buckets} * 4);
  if (!bucket || *bucket < head->first) return {};
  std::uint64_t index = *bucket;
  for (int i = 0; i < kChainMax; ++i, ++index) {
    const auto link = ValueAt<std::uint32_t>(chains + (index - head->first) * 4);
    if (!link) return {};
    std::uint64_t address = 0;
    if ((*link | 1) == (hash | 1) && IsExport(index, name, address)) return address;
    if ((*link & 1) != 0) return {};
  }
  return {};
}

// The table: number of buckets, number of symbols; a symbol for each bucket; for each symbol the next one of its bucket.
std::optional<std::uint64_t> ElfFile::FindByHash(std::string_view name) const {
  const auto buckets = ValueAt<std::uint32_t>(hash_);
  if (!buckets || *buckets == 0) return {};
  std::uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4) + static_cast<unsigned char>(c);
    hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
  }
  const std::uint64_t table = hash_ + 8;
  auto index = ValueAt<std::uint32_t>(table + std::uint64_t{hash % *buckets} * 4);
  for (int i = 0; i < kChainMax && index && *index != 0; ++i) {
    std::uint64_t address = 0;
    if (IsExport(*index, name, address)) return address;
    index = ValueAt<std::uint32_t>(table + (std::uint64_t{*buckets} + *index) * 4);
  }
  return {};
}

}  // namespace zenfs
