# ha_rocksdb_fs.so: MariaDB's storage engine with its files in zones (docs/use/myrocks.md). Built only with ZENFS_MYROCKS,
# for the RocksDB inside ha_rocksdb.so: scripts/myrocks-build configures that.
set(ZENFS_SOURCES_myrocks
  plugin/debian_engine.cc
  plugin/declarations.cc
  plugin/engine_hooks.cc
  plugin/engine_volume.cc
  plugin/status_variables.cc
)

function(zenfs_add_myrocks)
  set(folder ${PROJECT_SOURCE_DIR}/myrocks/plugin)
  if(NOT ZENFS_ROCKSDB OR NOT EXISTS ${ZENFS_ROCKSDB_DIRECTORY}/include/mysql/plugin.h)
    message(FATAL_ERROR "ZENFS_MYROCKS needs ZENFS_ROCKSDB, a directory made by scripts/rocksdb-sdk 6.29.5-mariadb")
  endif()
  if(ZENFS_LIBZBD)
    message(FATAL_ERROR "ZENFS_MYROCKS needs -DZENFS_LIBZBD=OFF: libzbd is LGPL-3.0, the server GPL-2.0-only")
  endif()
  set(sources ${ZENFS_SOURCES_myrocks})
  list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/myrocks/)
  set(engine ${ZENFS_ROCKSDB_DIRECTORY}/lib/ha_rocksdb.so)
  set(exports ${folder}/ha_rocksdb_fs.map)

  # Both libraries beside each other, so that the folder can be a server's --plugin-dir. The engine is named as needed, so
  # that the server loads it with this library. Functions of the server are bound when it loads both.
  set(output ${PROJECT_BINARY_DIR}/plugins)
  add_library(zenfs_myrocks MODULE ${sources})
  target_include_directories(zenfs_myrocks PRIVATE ${folder})
  target_link_libraries(zenfs_myrocks PRIVATE zenfs_rocksdb_plugin zenfs_metrics zenfs_flags)
  target_link_options(zenfs_myrocks PRIVATE
    -Wl,--no-as-needed -Wl,-z,nodelete -Wl,--version-script=${exports})
  set_target_properties(zenfs_myrocks PROPERTIES
    PREFIX "" OUTPUT_NAME ha_rocksdb_fs LIBRARY_OUTPUT_DIRECTORY ${output} LINK_DEPENDS ${exports}
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
  add_custom_command(TARGET zenfs_myrocks POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${engine} ${output})
  install(TARGETS zenfs_myrocks LIBRARY DESTINATION lib/mysql/plugin COMPONENT myrocks EXCLUDE_FROM_ALL)
endfunction()
