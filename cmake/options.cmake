# What a builder may choose, and the flags that every target gets.
# For another RocksDB (cmake/rocksdb.cmake) only the plugin is wanted.
set(zenfs_everything ON)
if(ZENFS_ROCKSDB)
  set(zenfs_everything OFF)
endif()
option(ZENFS_CLI "Build the command zenfs" ${zenfs_everything})
option(ZENFS_TESTS "Build the tests" ${zenfs_everything})
option(ZENFS_BENCH "Build the benchmarks" OFF)
option(ZENFS_FUZZ "Also build the fuzz targets (Clang with -fsanitize=fuzzer-no-link; preset asan)" OFF)
option(ZENFS_LIBZBD "Manage the zones of block devices by libzbd; OFF: by the kernel's ioctls alone" ON)
option(ZENFS_MYROCKS "Build ha_rocksdb_fs.so, for MariaDB (scripts/myrocks-build)" OFF)
option(ZENFS_ASSERTIONS "Check invariants (base/assert.h) also in builds with NDEBUG" OFF)
option(ZENFS_WERROR "Treat warnings as errors" ON)
# Templates of libraries are most of what the command and the tests give the compiler to do, and little of it is ever run.
set(ZENFS_CLI_FLAGS "" CACHE STRING "Compiler options of the command alone, e.g. -O1; what it calls is in the layers")
set(ZENFS_TEST_FLAGS "" CACHE STRING "Compiler options of the test programs alone, e.g. -O0")
option(ZENFS_PRECOMPILE "Compile each file of layers and plugin by itself, the headers of libraries once" OFF)
set(ZENFS_SANITIZE "" CACHE STRING "Sanitizers for every target, e.g. address,undefined or thread")

# An object does not depend on the folder where it is built: the plugin for another RocksDB finds the layers in the cache.
if(CMAKE_CXX_COMPILER_LAUNCHER STREQUAL "ccache")
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=true
    CCACHE_SLOPPINESS=pch_defines,time_macros ccache)  # or it caches nothing where headers are precompiled
endif()

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

add_library(zenfs_flags INTERFACE)
target_compile_options(zenfs_flags INTERFACE -Wall -Wextra -Wnon-virtual-dtor
  -Wno-missing-field-initializers)  # designated initialisers name what matters
if(ZENFS_WERROR)
  target_compile_options(zenfs_flags INTERFACE -Werror)
endif()
if(ZENFS_ASSERTIONS)
  target_compile_definitions(zenfs_flags INTERFACE ZENFS_ASSERTIONS)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(zenfs_flags INTERFACE -Wshadow=local)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(zenfs_flags INTERFACE -Wthread-safety -Wthread-safety-beta)
  if(ZENFS_WERROR)
    target_compile_options(zenfs_flags INTERFACE -Werror=thread-safety)
  endif()
endif()
if(ZENFS_SANITIZE)
  target_compile_definitions(zenfs_flags INTERFACE ZENFS_SANITIZED)  # for tests that then do less
  target_compile_options(zenfs_flags INTERFACE
    -fsanitize=${ZENFS_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(zenfs_flags INTERFACE -fsanitize=${ZENFS_SANITIZE})
endif()
if(ZENFS_FUZZ)
  # What is compared with what is no help where checksums are made to fit, and takes a fifth of the time.
  target_compile_options(zenfs_flags INTERFACE -fno-sanitize-coverage=trace-cmp
    -fsanitize-coverage-ignorelist=${PROJECT_SOURCE_DIR}/tests/fuzz/coverage_ignored.txt)
endif()
