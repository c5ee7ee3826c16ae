# MariaDB's storage engine with other files than the host's (docs/use/myrocks.md). Built only with ZENFS_MYROCKS, for the
# RocksDB inside ha_rocksdb.so: scripts/myrocks-build configures that.
#
#   zenfs_myrocks          ha_rocksdb_fs.so: in zones
#   zenfs_myrocks_ideal    ha_rocksdb_ideal.so: on the ideal file system, for scripts/myrocks-bench
set(ZENFS_SOURCES_myrocks
  plugin/debian_engine.cc
  plugin/declarations.cc
  plugin/default_files.cc
)
set(ZENFS_SOURCES_myrocks_volume
  plugin/engine_hooks.cc
  plugin/engine_volume.cc
  plugin/status_variables.cc
)

# A library that a server loads. The engine is named as needed, so that the server loads it with this library; functions of
# the server are bound then, too. Both are in one folder, which can be a server's --plugin-dir.
function(zenfs_add_engine name output)
  set(folder ${PROJECT_SOURCE_DIR}/myrocks)
  set(sources ${ARGN})
  list(TRANSFORM sources PREPEND ${folder}/)
  set(exports ${folder}/plugin/ha_rocksdb_fs.map)
  add_library(${name} MODULE EXCLUDE_FROM_ALL ${sources})
  target_include_directories(${name} PRIVATE ${folder}/plugin)
  target_link_libraries(${name} PRIVATE zenfs_flags)
  target_link_options(${name} PRIVATE -Wl,--no-as-needed -Wl,-z,nodelete -Wl,--version-script=${exports})
  set_target_properties(${name} PROPERTIES
    PREFIX "" OUTPUT_NAME ${output} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/plugins LINK_DEPENDS ${exports}
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
endfunction()

function(zenfs_add_myrocks)
  if(NOT ZENFS_ROCKSDB OR NOT EXISTS ${ZENFS_ROCKSDB_DIRECTORY}/include/mysql/plugin.h)
    message(FATAL_ERROR "ZENFS_MYROCKS needs ZENFS_ROCKSDB, a directory made by scripts/rocksdb-sdk 6.29.5-mariadb")
  endif()
  if(ZENFS_LIBZBD)
    message(FATAL_ERROR "ZENFS_MYROCKS needs -DZENFS_LIBZBD=OFF: libzbd is LGPL-3.0, the server GPL-2.0-only")
  endif()
  zenfs_add_engine(zenfs_myrocks ha_rocksdb_fs ${ZENFS_SOURCES_myrocks} ${ZENFS_SOURCES_myrocks_volume})
  target_link_libraries(zenfs_myrocks PRIVATE zenfs_rocksdb_plugin zenfs_metrics)
  add_custom_command(TARGET zenfs_myrocks POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${ZENFS_ROCKSDB_DIRECTORY}/lib/ha_rocksdb.so
      ${PROJECT_BINARY_DIR}/plugins)
  install(TARGETS zenfs_myrocks LIBRARY DESTINATION lib/mysql/plugin COMPONENT myrocks EXCLUDE_FROM_ALL)

  zenfs_add_engine(zenfs_myrocks_ideal ha_rocksdb_ideal ${ZENFS_SOURCES_myrocks} ideal/ideal_engine.cc)
  target_link_libraries(zenfs_myrocks_ideal PRIVATE zenfs_ideal_file_system)
endfunction()
