# Everything comes from the distribution's packages (scripts/setup installs them).
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
# src/base/fmt_library.cc takes the place of fmt's own library; it knows what fmt 9 leaves to that one.
set(ZENFS_FMT fmt::fmt-header-only)
if(fmt_VERSION VERSION_GREATER_EQUAL 9 AND fmt_VERSION VERSION_LESS 10)
  set(ZENFS_FMT "")
endif()
find_package(nlohmann_json REQUIRED)
if(ZENFS_CLI)
  find_package(CLI11 REQUIRED)
  find_package(prometheus-cpp REQUIRED)
  find_package(civetweb REQUIRED)
  find_path(ZENFS_TOMLPLUSPLUS toml++/toml.h REQUIRED)  # header only
  find_library(ZENFS_FUSE fuse3 REQUIRED)
  set(CURSES_NEED_WIDE TRUE)
  find_package(Curses REQUIRED)
endif()
find_library(ZENFS_ISAL isal REQUIRED)
find_library(ZENFS_URING uring REQUIRED)
# The archive, of which three objects are linked: the shared library would load OpenSSL and json-c into every database.
find_library(ZENFS_NVME NAMES libnvme.a REQUIRED)
# libzbd is LGPL-3.0: hosts that must stay GPL-2.0-only do without.
if(ZENFS_LIBZBD)
  find_library(ZENFS_ZBD zbd REQUIRED)
endif()
if(ZENFS_TESTS)
  find_package(GTest REQUIRED)
  # Debian's own, not another one on the path: only that one sees python3-matplotlib.
  find_program(Python3_EXECUTABLE python3 PATHS /usr/bin NO_DEFAULT_PATH)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  find_library(ZENFS_RAPIDCHECK rapidcheck REQUIRED)
endif()
