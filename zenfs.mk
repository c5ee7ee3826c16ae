# ZenFS in RocksDB's own tree, as plugin/zenfs: make ROCKSDB_PLUGINS=zenfs ... (docs/use/rocksdb.md).
# RocksDB's make reads all of this. Its CMake gets sources and flags from CMakeLists.txt beside this file, and looks here
# by regular expression for lines that assign sources, function and libraries with a plain equals sign between blanks: the
# function must stay such a line, the sources must not become one, or they would be compiled twice.
zenfs_ROOT := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))

# The lists of cmake/sources.cmake, cmake/backend_sources.cmake and cmake/plugin_sources.cmake, but for what the plugin
# does not need.
zenfs_SOURCES := $(addprefix src/,$(shell sed -n '/^set.ZENFS_SOURCES_\(cli\|backup\|repair\|testing\)$$/,/^.$$/d; /^set.ZENFS_SOURCES_/,/^.$$/s/^  \([a-z].*\.cc\)$$/\1/p' $(zenfs_ROOT)/cmake/sources.cmake $(zenfs_ROOT)/cmake/backend_sources.cmake $(zenfs_ROOT)/cmake/plugin_sources.cmake))
zenfs_FUNC = zenfs_register_builtin
zenfs_LDFLAGS = -lisal -luring -l:libnvme.a

# Libzbd (LGPL-3.0) manages zones unless ZENFS_LIBZBD=0: then the kernel's ioctls do.
zenfs_DEFINES := -DFMT_HEADER_ONLY=1 -DZENFS_IN_ROCKSDB_TREE -DZENFS_VERSION='"$(shell sed -n 's/^project.zenfs VERSION \([0-9.]*\).*/\1/p' $(zenfs_ROOT)/CMakeLists.txt)"'
ifneq ($(ZENFS_LIBZBD),0)
zenfs_LDFLAGS += -lzbd
zenfs_DEFINES += -DZENFS_LIBZBD
endif

# Only ZenFS is C++23, and has its own opinion of warnings. OBJ_DIR, jl and jls are where RocksDB puts objects.
zenfs_OBJECTS := $(addprefix plugin/zenfs/,$(zenfs_SOURCES:.cc=.o) $(addsuffix .d,$(zenfs_SOURCES)))
$(foreach place,$(sort $(if $(OBJ_DIR),$(OBJ_DIR),.) . jl jls),$(addprefix $(place)/,$(zenfs_OBJECTS))): CXXFLAGS += -std=c++23 -w -I$(zenfs_ROOT)/src $(zenfs_DEFINES)
