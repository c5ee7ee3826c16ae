// Registers zenfs:// URIs with RocksDB.
//
// A static initialiser of registration.cc does it once when the library is loaded: linked,
// preloaded, or by dlopen. Loading does nothing else, because a preloaded library also gets into
// shells and compilers. If the process runs another version of RocksDB than this library was
// compiled for, it prints one line on standard error and registers nothing.
//
// Of this folder libzenfs.so exports what libzenfs.map names.
#pragma once

#include <string>

namespace rocksdb {
class ObjectLibrary;
}

extern "C" {

// Registers both factories, if not yet done. Needed only by a program that links the objects of
// this folder from a static library, because a static initialiser alone does not pull its file in.
// Never fails.
[[gnu::visibility("default")]] void zenfs_register();

// For a RocksDB with this plugin in its own tree (zenfs.mk): its table of builtin plugins calls
// this with a library of objects for each plugin. Returns the number of added factories.
int zenfs_register_builtin(rocksdb::ObjectLibrary& library, const std::string& argument);

// "3.0.0 for RocksDB 7.8.3"
[[gnu::visibility("default")]] const char* zenfs_plugin_version();
}
