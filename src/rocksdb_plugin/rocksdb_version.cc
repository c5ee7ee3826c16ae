#include "rocksdb_plugin/rocksdb_version.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "rocksdb/utilities/object_registry.h"

namespace zenfs {

namespace {

// If a process has two RocksDBs, our calls may be bound to either: functions with strings in their
// signature to the one with our ABI of strings, all others to the first.
bool CallsReachOneRocksDb() {
  Dl_info version{};
  Dl_info library{};
  return dladdr(reinterpret_cast<const void*>(&rocksdb::GetRocksVersionAsString), &version) != 0 &&
         dladdr(reinterpret_cast<const void*>(&rocksdb::ObjectLibrary::Default), &library) != 0 &&
         version.dli_fbase == library.dli_fbase;
}

}  // namespace

std::string CompiledRocksVersion() {
  return fmt::format("{}.{}.{}", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);
}

std::optional<std::string> VersionMismatch(std::string_view running) {
  const std::string compiled = CompiledRocksVersion();
  if (running == compiled) return std::nullopt;
  return fmt::format(
      "zenfs: built for RocksDB {}, but this process runs RocksDB {}; use the libzenfs.so built for that "
      "(docs/use/rocksdb.md, \"Building for another RocksDB\")",
      compiled, running);
}

std::optional<std::string> ReasonNotToServe() {
  if (CallsReachOneRocksDb()) return VersionMismatch(rocksdb::GetRocksVersionAsString(/*with_patch=*/true));
  return fmt::format(
      "zenfs: built for RocksDB {}, but this process runs another one beside it; use the libzenfs.so built "
      "for that",
      CompiledRocksVersion());
}

}  // namespace zenfs
