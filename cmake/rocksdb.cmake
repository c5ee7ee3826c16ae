# Which RocksDB the plugin is compiled for and linked to: target zenfs_rocksdb, and what it was built like.
#
#   ZENFS_ROCKSDB            a directory with include/ and lib/ (scripts/rocksdb-sdk makes such); empty: the installed one
#   ZENFS_ROCKSDB_LIBRARY    the library, where it is not the one in lib/
#   ZENFS_ROCKSDB_RTTI       has it run-time type information? AUTO looks for the type of its FileSystem
#   ZENFS_ROCKSDB_CXX11_ABI  has it the newer std::string? AUTO looks how a function that returns one is named
#
# The plugin must agree with the library in both: without type information in the library its classes can't be derived
# from with it, and strings are passed both ways, so that all of ZenFS is then compiled with the older std::string.
set(ZENFS_ROCKSDB "" CACHE PATH "Directory with include/ and lib/ of another RocksDB; empty: the installed one")
set(ZENFS_ROCKSDB_LIBRARY "" CACHE FILEPATH "RocksDB's shared library, if not the one in ZENFS_ROCKSDB/lib")
set(ZENFS_ROCKSDB_RTTI AUTO CACHE STRING "Was that RocksDB built with RTTI? AUTO, ON or OFF")
set(ZENFS_ROCKSDB_CXX11_ABI AUTO CACHE STRING "Has that RocksDB the newer ABI of std::string? AUTO, ON or OFF")

# Sets `result` to `choice`, or, if that is AUTO, to whether `library` has the symbol `name`.
function(zenfs_detect result choice library name)
  if(choice STREQUAL "AUTO")
    file(STRINGS ${library} found REGEX "^${name}$" LIMIT_COUNT 1)
    set(choice OFF)
    if(found)
      set(choice ON)
    endif()
  endif()
  set(${result} ${choice} PARENT_SCOPE)
endfunction()

function(zenfs_read_rocksdb_version include)
  file(STRINGS ${include}/rocksdb/version.h lines REGEX "define ROCKSDB_(MAJOR|MINOR|PATCH)")
  foreach(part MAJOR MINOR PATCH)
    string(REGEX MATCH "ROCKSDB_${part} +([0-9]+)" matched "${lines}")
    list(APPEND numbers ${CMAKE_MATCH_1})
  endforeach()
  list(JOIN numbers "." version)
  set(ZENFS_ROCKSDB_VERSION ${version} PARENT_SCOPE)
endfunction()

# The RocksDB in ZENFS_ROCKSDB. A library without a SONAME is linked by its file name, not by its path.
macro(zenfs_use_rocksdb_at directory)
  set(library ${ZENFS_ROCKSDB_LIBRARY})
  if(NOT library)
    file(GLOB library ${directory}/lib/*.so)
    list(LENGTH library count)
    if(NOT count EQUAL 1)
      message(FATAL_ERROR "${directory}/lib holds ${count} shared libraries: name one by -DZENFS_ROCKSDB_LIBRARY=FILE")
    endif()
  endif()
  if(NOT EXISTS ${directory}/include/rocksdb/version.h OR NOT EXISTS ${library})
    message(FATAL_ERROR "There is no RocksDB in ${directory}: it needs include/rocksdb/version.h and lib/*.so "
      "(scripts/rocksdb-sdk VERSION gets one)")
  endif()
  zenfs_read_rocksdb_version(${directory}/include)
  zenfs_detect(ZENFS_ROCKSDB_HAS_RTTI ${ZENFS_ROCKSDB_RTTI} ${library} _ZTIN7rocksdb10FileSystemE)
  zenfs_detect(ZENFS_ROCKSDB_HAS_CXX11_ABI ${ZENFS_ROCKSDB_CXX11_ABI} ${library}
    _ZN7rocksdb23GetRocksVersionAsStringB5cxx11Eb)
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${library} OUTPUT_VARIABLE dynamic ERROR_QUIET)
  if(dynamic MATCHES "SONAME")
    target_link_libraries(zenfs_rocksdb INTERFACE ${library})
  else()
    get_filename_component(name ${library} NAME)
    get_filename_component(place ${library} DIRECTORY)
    target_link_directories(zenfs_rocksdb INTERFACE ${place})
    target_link_libraries(zenfs_rocksdb INTERFACE -l:${name})
    list(APPEND CMAKE_BUILD_RPATH ${place})
  endif()
  target_include_directories(zenfs_rocksdb SYSTEM INTERFACE ${directory}/include)
endmacro()

add_library(zenfs_rocksdb INTERFACE)
if(ZENFS_ROCKSDB)
  get_filename_component(ZENFS_ROCKSDB_DIRECTORY ${ZENFS_ROCKSDB} ABSOLUTE BASE_DIR ${CMAKE_SOURCE_DIR})
  zenfs_use_rocksdb_at(${ZENFS_ROCKSDB_DIRECTORY})
  if(NOT ZENFS_ROCKSDB_HAS_RTTI)
    target_compile_options(zenfs_rocksdb INTERFACE -fno-rtti)
  endif()
  if(NOT ZENFS_ROCKSDB_HAS_CXX11_ABI)
    if(ZENFS_CLI OR ZENFS_TESTS)
      message(FATAL_ERROR "RocksDB in ${ZENFS_ROCKSDB} has the older ABI of std::string, the distribution's libraries that "
        "the command and the tests use have the newer: build with -DZENFS_CLI=OFF -DZENFS_TESTS=OFF")
    endif()
    add_compile_definitions(_GLIBCXX_USE_CXX11_ABI=0)
  endif()
  message(STATUS "ZenFS for RocksDB ${ZENFS_ROCKSDB_VERSION}: RTTI ${ZENFS_ROCKSDB_HAS_RTTI}, "
    "newer std::string ${ZENFS_ROCKSDB_HAS_CXX11_ABI}")
else()
  find_package(RocksDB REQUIRED)
  set(ZENFS_ROCKSDB_VERSION ${RocksDB_VERSION})
  target_link_libraries(zenfs_rocksdb INTERFACE RocksDB::rocksdb-shared)
endif()
