// Tells RocksDB that URIs which begin with zenfs:// are ours.
//
// A static initialiser of registration.cc does it once when the library is loaded: linked in, preloaded, or
// by dlopen. Loading does nothing else: a preloaded library reaches shells and compilers too. Where the process
// runs another RocksDB than the one we were compiled for, one line on standard error says so, and nothing is
// registered.
//
// zenfs_register and zenfs_plugin_version are all that libzenfs.so exports.
#pragma once

#include <string>

namespace rocksdb {
class ObjectLibrary;
}

extern "C" {

// Registers both factories unless that has been done. Needed only by a program that links the objects of this
// folder from a static library, where a static initialiser alone does not pull its file in. Never fails.
[[gnu::visibility("default")]] void zenfs_register();

// For a RocksDB that has us in its own tree (zenfs.mk): its table of builtin plugins calls this, with a library
// of objects for each. Returns how many factories were added.
int zenfs_register_builtin(rocksdb::ObjectLibrary& library, const std::string& argument);

// "3.0.0 for RocksDB 7.8.3"
[[gnu::visibility("default")]] const char* zenfs_plugin_version();
}
