# What an installation needs beside programs: how other builds find the plugin, who may open zoned devices, their scheduler, and
# the units of systemd.
include(CMakePackageConfigHelpers)

# find_package(zenfs) and pkg-config zenfs. A program that links the plugin refers to nothing in it, so the linker is
# told to name it all the same.
function(zenfs_add_package_files)
  set(destination ${CMAKE_INSTALL_LIBDIR}/cmake/zenfs)
  target_link_options(zenfs_plugin INTERFACE LINKER:--no-as-needed)
  set(zenfs_of_installed_rocksdb OFF)
  if(NOT ZENFS_ROCKSDB)
    set(zenfs_of_installed_rocksdb ON)
    set(zenfs_pc_requires "Requires: rocksdb = ${ZENFS_ROCKSDB_VERSION}")
    target_link_libraries(zenfs_plugin INTERFACE RocksDB::rocksdb-shared)
  endif()
  set_target_properties(zenfs_plugin PROPERTIES EXPORT_NAME zenfs)
  target_include_directories(zenfs_plugin INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  install(FILES ${PROJECT_SOURCE_DIR}/src/rocksdb_plugin/registration.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/zenfs)
  install(TARGETS zenfs_plugin EXPORT zenfs-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT zenfs-targets NAMESPACE zenfs:: DESTINATION ${destination})

  set(files ${PROJECT_BINARY_DIR}/packaging)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/packaging/cmake/zenfs-config.cmake.in ${files}/zenfs-config.cmake
    INSTALL_DESTINATION ${destination})
  write_basic_package_version_file(${files}/zenfs-config-version.cmake COMPATIBILITY SameMajorVersion)
  install(FILES ${files}/zenfs-config.cmake ${files}/zenfs-config-version.cmake DESTINATION ${destination})
  file(RELATIVE_PATH zenfs_prefix_from_pc /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  configure_file(${PROJECT_SOURCE_DIR}/packaging/zenfs.pc.in ${files}/zenfs.pc @ONLY)
  install(FILES ${files}/zenfs.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

# systemd looks for the command in /usr/local/bin and in /usr/bin, so the units suit these prefixes.
function(zenfs_add_units)
  set(source ${PROJECT_SOURCE_DIR}/packaging/systemd)
  file(READ ${source}/sandbox.conf ZENFS_SANDBOX)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source}/sandbox.conf)
  foreach(unit zenfs-exporter.service zenfs-exporter@.service zenfs-scrub@.service)
    configure_file(${source}/${unit}.in ${PROJECT_BINARY_DIR}/packaging/systemd/${unit} @ONLY)
  endforeach()
  configure_file(${source}/zenfs-scrub@.timer ${PROJECT_BINARY_DIR}/packaging/systemd/zenfs-scrub@.timer COPYONLY)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/packaging/systemd/ DESTINATION lib/systemd/system)
endfunction()

function(zenfs_add_packaging)
  zenfs_add_package_files()
  zenfs_add_units()
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/prometheus/alerts.yml DESTINATION ${CMAKE_INSTALL_DATADIR}/zenfs RENAME prometheus-alerts.yml)
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/config/zenfs.conf DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/udev/60-zenfs.rules DESTINATION lib/udev/rules.d)
endfunction()

function(zenfs_add_packaging_tests)
  zenfs_python_test(udev_rules tests/packaging/udev_rules_test.py
    ARGUMENTS ${PROJECT_SOURCE_DIR}/packaging/udev/60-zenfs.rules)
  if(NOT ZENFS_SANITIZE)  # whose runtime the consumers are not linked with
    set(trees ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
    zenfs_python_test(install tests/packaging/install_test.py ARGUMENTS ${trees})
    zenfs_python_test(dashboard_picture tests/packaging/picture_test.py ARGUMENTS ${trees})
    zenfs_python_test(readme tests/packaging/readme_test.py ARGUMENTS ${trees})
  endif()
endfunction()
