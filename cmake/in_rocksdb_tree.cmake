# ZenFS in RocksDB's own tree, as plugin/zenfs: RocksDB's CMakeLists.txt adds this directory and takes the variables
# below; its library then contains ZenFS. What it reads from zenfs.mk beside them is only the function to call.
include(sources)
include(backend_sources)
include(plugin_sources)

set(sources)
foreach(layer base model metrics device format buffers zone metalog file wal catalog open reclaim volume
              host emulator block nvme zonefs backends discovery rocksdb_plugin)
  list(APPEND sources ${ZENFS_SOURCES_${layer}})
endforeach()
list(TRANSFORM sources PREPEND src/)

option(ZENFS_LIBZBD "Manage the zones of block devices by libzbd; OFF: by the kernel's ioctls alone" ON)
file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/CMakeLists.txt line REGEX "^project\\(zenfs VERSION ")
string(REGEX MATCH "[0-9.]+" version ${line})
set(flags "-std=c++23 -w -I${CMAKE_CURRENT_SOURCE_DIR}/src -DFMT_HEADER_ONLY=1 -DZENFS_IN_ROCKSDB_TREE")
string(APPEND flags " -DZENFS_VERSION='\"${version}\"'")
set(libraries isal uring -l:libnvme.a)
if(ZENFS_LIBZBD)
  string(APPEND flags " -DZENFS_LIBZBD")
  list(APPEND libraries zbd)
endif()

set(zenfs_SOURCES ${sources} PARENT_SCOPE)
set(zenfs_COMPILE_FLAGS ${flags} PARENT_SCOPE)
set(zenfs_LIBS ${libraries} PARENT_SCOPE)
