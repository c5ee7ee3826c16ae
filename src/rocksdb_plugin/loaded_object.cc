#include "rocksdb_plugin/loaded_object.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstring>

namespace zenfs {

namespace {

// The hash table of exported symbols that GNU ld makes (DT_GNU_HASH). The symbols of a bucket follow each other; the lowest bit of the last
// one's hash is set.
class GnuHashTable {
 public:
  explicit GnuHashTable(const std::uint32_t* words)
      : buckets_(words[0]),
        first_symbol_(words[1]),
        bucket_(words + 4 + words[2] * (sizeof(ElfW(Addr)) / sizeof *words)),
        chain_(bucket_ + buckets_) {}

  template <typename Matches>
  std::optional<std::uint32_t> Find(const char* name, const Matches& matches) const {
    std::uint32_t hash = 5381;
    for (const char* c = name; *c != '\0'; ++c) hash = hash * 33 + static_cast<unsigned char>(*c);
    std::uint32_t symbol = buckets_ == 0 ? 0 : bucket_[hash % buckets_];
    if (symbol < first_symbol_) return {};
    for (;; ++symbol) {
      const std::uint32_t there = chain_[symbol - first_symbol_];
      if ((there | 1) == (hash | 1) && matches(symbol)) return symbol;
      if ((there & 1) != 0) return {};
    }
  }

 private:
  const std::uint32_t buckets_;
  const std::uint32_t first_symbol_;
  const std::uint32_t* const bucket_;
  const std::uint32_t* const chain_;
};

}  // namespace

std::optional<LoadedObject> LoadedObject::At(const void* address) {
  dl_find_object found{};
  if (_dl_find_object(const_cast<void*>(address), &found) != 0) return {};
  return LoadedObject(found.dlfo_link_map);
}

bool LoadedObject::IsBefore(const LoadedObject& other) const {
  const link_map* map = map_;
  while (map != nullptr && map != other.map_) map = map->l_next;
  return map != nullptr;
}

const void* LoadedObject::Find(const char* symbol) const {
  const std::uint32_t* hash = nullptr;
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  for (const ElfW(Dyn)* entry = map_->l_ld; entry->d_tag != DT_NULL; ++entry) {
    const ElfW(Addr) address = entry->d_un.d_ptr;
    if (entry->d_tag == DT_GNU_HASH) hash = reinterpret_cast<const std::uint32_t*>(address);
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(address);
    if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(address);
  }
  if (hash == nullptr || symbols == nullptr || names == nullptr) return nullptr;
  const auto found = GnuHashTable(hash).Find(symbol, [&](std::uint32_t i) {
    return symbols[i].st_shndx != SHN_UNDEF && std::strcmp(names + symbols[i].st_name, symbol) == 0;
  });
  return found ? reinterpret_cast<const void*>(map_->l_addr + symbols[*found].st_value) : nullptr;
}

}  // namespace zenfs
