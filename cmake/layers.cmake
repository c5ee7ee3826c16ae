# One target per layer folder. A layer links only the layers that docs/internals/architecture.md allows it, so a
# forbidden call does not link; scripts/check-style refuses a forbidden include.
#
#   zenfs_layer(<name> DEPENDS <layer>... LIBRARIES <library>...)
#
# takes its sources from ZENFS_SOURCES_<name> in cmake/sources.cmake or the list of sources that it refers to.
function(zenfs_layer name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LIBRARIES" ${ARGN})
  set(sources ${ZENFS_SOURCES_${name}})
  list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/src/)
  list(TRANSFORM ARG_DEPENDS PREPEND zenfs_ OUTPUT_VARIABLE depends)
  add_library(zenfs_${name} STATIC ${sources})
  target_include_directories(zenfs_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(zenfs_${name} PUBLIC ${depends} ${ARG_LIBRARIES} PRIVATE zenfs_flags)
  zenfs_precompile(zenfs_${name})
endfunction()

# With ZENFS_PRECOMPILE each file of a layer or of the plugin is a translation unit of its own, so that what two files contradict each
# other in shows when a program is linked or run; the headers that most of them include are compiled once for all targets.
function(zenfs_precompile target)
  if(ZENFS_PRECOMPILE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
    target_precompile_headers(${target} REUSE_FROM zenfs_precompiled)
  endif()
endfunction()

function(zenfs_add_precompiled)
  set(source ${PROJECT_BINARY_DIR}/precompiled.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "")
  add_library(zenfs_precompiled STATIC ${source})
  target_include_directories(zenfs_precompiled PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(zenfs_precompiled PRIVATE Threads::Threads ${ZENFS_FMT} zenfs_flags)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(zenfs_precompiled PRIVATE "SHELL:-Xclang -fno-pch-timestamp")  # for ccache
  endif()
  target_precompile_headers(zenfs_precompiled PRIVATE
    <algorithm> <array> <atomic> <chrono> <filesystem> <fstream> <functional> <map> <memory> <optional> <set> <span> <string>
    <string_view> <unordered_map> <utility> <vector> <fmt/format.h> <fmt/ranges.h>
    ${PROJECT_SOURCE_DIR}/src/base/mutex.h ${PROJECT_SOURCE_DIR}/src/base/status.h ${PROJECT_SOURCE_DIR}/src/base/thread.h)
endfunction()

function(zenfs_add_layers)
  if(ZENFS_PRECOMPILE)
    zenfs_add_precompiled()
  endif()
  zenfs_layer(base LIBRARIES Threads::Threads ${ZENFS_FMT} ${ZENFS_ISAL})
  zenfs_layer(model DEPENDS base)
  zenfs_layer(metrics DEPENDS base)
  zenfs_layer(device DEPENDS base model metrics)
  zenfs_layer(format DEPENDS base model)
  zenfs_layer(buffers DEPENDS base format model)
  zenfs_layer(zone DEPENDS base device model metrics)
  zenfs_layer(metalog DEPENDS base device format model metrics)
  zenfs_layer(file DEPENDS base zone device format model buffers)
  zenfs_layer(wal DEPENDS base zone format device model buffers)
  zenfs_layer(catalog DEPENDS base metalog model)
  zenfs_layer(open DEPENDS base model metrics device format zone metalog file wal catalog buffers)
  zenfs_layer(reclaim DEPENDS base model device catalog file wal zone open)
  zenfs_layer(volume DEPENDS base model metrics device format zone metalog file wal catalog open reclaim buffers)
  # mkfs writes it into the superblock.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/volume/mkfs.cc PROPERTIES
    COMPILE_DEFINITIONS ZENFS_VERSION="${PROJECT_VERSION}")
  zenfs_layer(backup DEPENDS base model catalog volume LIBRARIES nlohmann_json::nlohmann_json)
  zenfs_layer(repair DEPENDS base device format metalog model buffers wal zone volume)
  zenfs_layer(upgrade DEPENDS base device format metalog model file zone volume repair)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/upgrade/upgrade_plan.cc PROPERTIES
    COMPILE_DEFINITIONS ZENFS_VERSION="${PROJECT_VERSION}")
  zenfs_layer(host DEPENDS base device model LIBRARIES ${ZENFS_URING})
  zenfs_layer(emulator DEPENDS base device model host)
  zenfs_layer(block DEPENDS base device model host LIBRARIES ${ZENFS_ZBD})
  if(ZENFS_LIBZBD)
    set_source_files_properties(${PROJECT_SOURCE_DIR}/src/backends/block/zone_control.cc PROPERTIES
      COMPILE_DEFINITIONS ZENFS_LIBZBD)
  endif()
  zenfs_layer(nvme DEPENDS base device model host block LIBRARIES ${ZENFS_NVME})
  zenfs_layer(zonefs DEPENDS base device model host)
  zenfs_layer(backends DEPENDS base device model host emulator block nvme zonefs)
  zenfs_layer(discovery DEPENDS base device format metalog model host block zonefs backends)
endfunction()
