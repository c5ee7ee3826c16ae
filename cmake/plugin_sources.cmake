# Sources of the RocksDB plugin, src/rocksdb_plugin. The rest is in sources.cmake.
set(ZENFS_SOURCES_rocksdb_plugin
  rocksdb_plugin/bound_directories.cc
  rocksdb_plugin/bound_records.cc
  rocksdb_plugin/default_device.cc
  rocksdb_plugin/default_file_system.cc
  rocksdb_plugin/logger.cc
  rocksdb_plugin/mount_uri.cc
  rocksdb_plugin/mounted_file.cc
  rocksdb_plugin/random_access_file.cc
  rocksdb_plugin/registration.cc
  rocksdb_plugin/rocksdb_version.cc
  rocksdb_plugin/sequential_file.cc
  rocksdb_plugin/status_conversion.cc
  rocksdb_plugin/writable_file.cc
  rocksdb_plugin/zenfs_file_system.cc
)
# In libzenfs.so alone: functions that take the place of others in the whole process, and those of Java.
set(ZENFS_PRELOADED_rocksdb_plugin
  rocksdb_plugin/default_env.cc
  rocksdb_plugin/hidden_rocksdb.cc
  rocksdb_plugin/java_env.cc
)

set(ZENFS_TESTS_rocksdb_plugin
  rocksdb_plugin/logger_test.cc
  rocksdb_plugin/mounted_file_test.cc
  rocksdb_plugin/random_access_file_test.cc
  rocksdb_plugin/rocksdb_version_test.cc
  rocksdb_plugin/status_conversion_test.cc
)
