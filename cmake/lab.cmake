# What scripts/vm-test runs in its guests beside the products: a load that crashes end, what logs its device, and reads through the page cache. And the
# test of what the lab makes of that log.
function(zenfs_add_lab_programs)
  add_executable(zenfs_crash_load
    ${PROJECT_SOURCE_DIR}/tests/vm/programs/crash_load.cc
    ${PROJECT_SOURCE_DIR}/tests/vm/programs/acknowledged.cc)
  target_link_libraries(zenfs_crash_load PRIVATE zenfs_rocksdb_plugin zenfs_flags)
  add_executable(zenfs_cached_reads ${PROJECT_SOURCE_DIR}/tests/vm/programs/cached_reads.cc)
  target_link_libraries(zenfs_cached_reads PRIVATE zenfs_rocksdb_plugin zenfs_flags)
  add_library(zenfs_device_trace SHARED ${PROJECT_SOURCE_DIR}/tests/vm/programs/device_trace.cc)
  set_target_properties(zenfs_device_trace PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_link_libraries(zenfs_device_trace PRIVATE zenfs_base ${CMAKE_DL_LIBS} zenfs_flags)
  zenfs_python_test(drive_log tests/vm/drive_log_test.py)
  zenfs_python_test(lab_load tests/vm/load_test.py)
endfunction()
