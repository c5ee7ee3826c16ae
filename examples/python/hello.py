#!/usr/bin/env python3
"""A database in the zones of a device, from Python: the shared RocksDB by ctypes, on a default device.

  zenfs emu create /var/tmp/zones.img && zenfs mkfs --emu=/var/tmp/zones.img
  ZENFS_DEFAULT_URI=zenfs://emu:/var/tmp/zones.img LD_PRELOAD=libzenfs.so python3 examples/python/hello.py DIRECTORY
"""
import ctypes
import ctypes.util
import sys

rocksdb = ctypes.CDLL(ctypes.util.find_library("rocksdb"))
for function in ("options_create", "open", "writeoptions_create", "readoptions_create", "get"):
    getattr(rocksdb, f"rocksdb_{function}").restype = ctypes.c_void_p


def call(function, *arguments):
    """Pointers as pointers, bytes with their length, and the error of C as an exception."""
    words = []
    for argument in arguments:
        words += [argument, ctypes.c_size_t(len(argument))] if isinstance(argument, bytes) else [argument]
    error = ctypes.c_char_p()
    result = getattr(rocksdb, f"rocksdb_{function}")(*words, ctypes.byref(error))
    if error.value:
        sys.exit(error.value.decode())
    return result


options = ctypes.c_void_p(rocksdb.rocksdb_options_create())
rocksdb.rocksdb_options_set_create_if_missing(options, 1)
database = ctypes.c_void_p(call("open", options, ctypes.c_char_p(sys.argv[1].encode())))
call("put", database, ctypes.c_void_p(rocksdb.rocksdb_writeoptions_create()), b"greeting", b"hello from a zone")
length = ctypes.c_size_t()
value = call("get", database, ctypes.c_void_p(rocksdb.rocksdb_readoptions_create()), b"greeting", ctypes.byref(length))
print(ctypes.string_at(value, length.value).decode())
rocksdb.rocksdb_close(database)
