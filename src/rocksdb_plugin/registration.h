// Tells RocksDB that URIs which begin with zenfs:// are ours.
//
// A static initialiser of registration.cc does it once when the library is loaded: linked in, preloaded, or
// by dlopen. Loading does nothing else: a preloaded library reaches shells and compilers too.
//
// The two symbols below are all that libzenfs.so exports.
#pragma once

extern "C" {

// Registers both factories unless that has been done. Needed only by a program that links the objects of this
// folder from a static library, where a static initialiser alone does not pull its file in. Never fails.
[[gnu::visibility("default")]] void zenfs_register();

// "3.0.0 for RocksDB 7.8.3"
[[gnu::visibility("default")]] const char* zenfs_plugin_version();
}
