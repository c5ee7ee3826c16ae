# libzenfs.so, and what its tests link: the same objects.
#
#   zenfs_rocksdb_plugin   object library: the adapter, compiled for the RocksDB that is installed
#   zenfs_plugin           libzenfs.so: the adapter with all layers inside
function(zenfs_add_plugin)
  set(sources ${ZENFS_SOURCES_rocksdb_plugin})
  list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/src/)
  add_library(zenfs_rocksdb_plugin OBJECT ${sources})
  target_link_libraries(zenfs_rocksdb_plugin
    PUBLIC zenfs_volume zenfs_backends zenfs_discovery zenfs_rocksdb PRIVATE zenfs_flags)
  if(ZENFS_ROCKSDB)  # each file reads RocksDB's headers, and this is built for many of those
    set_target_properties(zenfs_rocksdb_plugin PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endif()
  target_compile_definitions(zenfs_rocksdb_plugin PRIVATE ZENFS_VERSION="${PROJECT_VERSION}")
  zenfs_precompile(zenfs_rocksdb_plugin)

  # Named as needed whatever the linker thinks: every process under a preload loads this library, and without
  # librocksdb in it would die of undefined symbols. Never unloaded: RocksDB keeps pointers to our factories.
  set(exports ${PROJECT_SOURCE_DIR}/src/rocksdb_plugin/libzenfs.map)
  set(preloaded ${ZENFS_PRELOADED_rocksdb_plugin})
  list(TRANSFORM preloaded PREPEND ${PROJECT_SOURCE_DIR}/src/)
  add_library(zenfs_plugin SHARED ${preloaded})
  set_target_properties(zenfs_plugin PROPERTIES
    OUTPUT_NAME zenfs LINK_DEPENDS ${exports} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_link_libraries(zenfs_plugin PRIVATE zenfs_rocksdb_plugin zenfs_flags)
  target_link_options(zenfs_plugin PRIVATE
    -Wl,--no-as-needed -Wl,-z,nodelete -Wl,--version-script=${exports})
  if(NOT ZENFS_SANITIZE)  # the sanitizers' runtime is in the program
    target_link_options(zenfs_plugin PRIVATE -Wl,-z,defs)
  endif()
  if(NOT ZENFS_ROCKSDB)  # as Debian's packages need it; programs that load the plugin for another RocksDB do so by one name
    set_target_properties(zenfs_plugin PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  endif()
  if(ZENFS_ROCKSDB)  # Java has to share its librocksdbjni with us: one beside us comes before any other (examples/java)
    set_target_properties(zenfs_plugin PROPERTIES BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
  endif()
  zenfs_add_smoke_program()
endfunction()

# A user's program, for scripts/rocksdb-versions: compiled as those of that RocksDB are.
function(zenfs_add_smoke_program)
  add_executable(zenfs_rocksdb_smoke EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tests/rocksdb_versions/smoke.cc)
  target_link_libraries(zenfs_rocksdb_smoke PRIVATE zenfs_rocksdb zenfs_flags)
  set_target_properties(zenfs_rocksdb_smoke PROPERTIES CXX_STANDARD 17)
  if(ZENFS_ROCKSDB_VERSION VERSION_GREATER_EQUAL 10)
    set_target_properties(zenfs_rocksdb_smoke PROPERTIES CXX_STANDARD 20)
  endif()
  file(GLOB server ${ZENFS_ROCKSDB_DIRECTORY}/lib/libmariadbd.so.*)
  if(ZENFS_ROCKSDB AND server)  # a RocksDB inside MariaDB's storage engine
    target_sources(zenfs_rocksdb_smoke PRIVATE ${PROJECT_SOURCE_DIR}/tests/rocksdb_versions/mariadb_server.cc)
    set_target_properties(zenfs_rocksdb_smoke PROPERTIES ENABLE_EXPORTS ON)
    target_link_libraries(zenfs_rocksdb_smoke PRIVATE ${server})
    target_link_options(zenfs_rocksdb_smoke PRIVATE -Wl,--no-as-needed -Wl,--allow-shlib-undefined)
  endif()
endfunction()

# The adapter alone; the file system and databases, linked with it; programs that exist already, under a preload.
function(zenfs_add_plugin_tests)
  zenfs_test_program(rocksdb_plugin FOLDER src SOURCES ${ZENFS_TESTS_rocksdb_plugin}
    LINK zenfs_rocksdb_plugin zenfs_testing)
  zenfs_test_program(rocksdb FOLDER tests SOURCES ${ZENFS_TESTS_rocksdb}
    LINK zenfs_rocksdb_plugin zenfs_testing)

  zenfs_test_program(option_kills FOLDER tests SOURCES ${ZENFS_TESTS_option_kills}
    LINK zenfs_rocksdb_plugin zenfs_testing)

  # Killed by kill_test.cc while it writes.
  add_executable(zenfs_kill_writer ${PROJECT_SOURCE_DIR}/tests/rocksdb/kill_writer.cc)
  target_link_libraries(zenfs_kill_writer PRIVATE zenfs_rocksdb_plugin zenfs_flags)
  # Kills itself; flush_kill_test.cc runs it.
  add_executable(zenfs_flush_writer ${PROJECT_SOURCE_DIR}/tests/rocksdb/flush_writer.cc)
  target_link_libraries(zenfs_flush_writer PRIVATE zenfs_rocksdb_plugin zenfs_flags)
  set(environment
    ZENFS=$<TARGET_FILE:zenfs_cli>
    ZENFS_KILL_WRITER=$<TARGET_FILE:zenfs_kill_writer>
    ZENFS_FLUSH_WRITER=$<TARGET_FILE:zenfs_flush_writer>
    TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/rocksdb/thread_sanitizer.suppressions)
  # An hour for the 1,400 kills of ZENFS_FULL=1, which take twelve minutes on two processors that are shared.
  set_tests_properties(rocksdb option_kills PROPERTIES TIMEOUT 3600 ENVIRONMENT "${environment}")

  zenfs_add_lab_programs()

  # Helpers of preload_test.py: one makes a volume, the other knows ZenFS only through dlopen.
  add_executable(zenfs_make_volume ${PROJECT_SOURCE_DIR}/tests/rocksdb/make_volume.cc)
  target_link_libraries(zenfs_make_volume PRIVATE zenfs_volume zenfs_backends zenfs_flags)
  add_executable(zenfs_load_at_run_time ${PROJECT_SOURCE_DIR}/tests/rocksdb/load_at_run_time.cc)
  target_link_libraries(zenfs_load_at_run_time PRIVATE zenfs_rocksdb ${CMAKE_DL_LIBS} zenfs_flags)

  # Preloaded by scripts/rocksdb-tests into those of RocksDB's tests that use the default Env. Not linked with ZenFS:
  # it finds the scheme as every program does.
  add_library(zenfs_default_env SHARED ${PROJECT_SOURCE_DIR}/tests/rocksdb/default_env.cc)
  set_target_properties(zenfs_default_env PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_link_libraries(zenfs_default_env PRIVATE zenfs_rocksdb ${CMAKE_DL_LIBS} zenfs_flags)

  add_library(zenfs_asks_while_loading SHARED ${PROJECT_SOURCE_DIR}/tests/rocksdb/asks_while_loading.cc)
  target_link_libraries(zenfs_asks_while_loading PRIVATE zenfs_base zenfs_rocksdb zenfs_flags)

  # A program that has no setting for a file system, with the shared and with the static RocksDB.
  add_executable(zenfs_put_and_get ${PROJECT_SOURCE_DIR}/tests/rocksdb/put_and_get.cc)
  target_link_libraries(zenfs_put_and_get PRIVATE zenfs_rocksdb zenfs_flags)
  add_executable(zenfs_put_and_get_static ${PROJECT_SOURCE_DIR}/tests/rocksdb/put_and_get.cc)
  target_link_libraries(zenfs_put_and_get_static PRIVATE librocksdb.a snappy z bz2 lz4 zstd zenfs_flags)

  zenfs_python_test(rocksdb_suites tests/rocksdb_suites/suites_test.py)
  zenfs_python_test(stress_verdicts tests/rocksdb_stress/stress_test.py)
  set(environment
    LIBZENFS=$<TARGET_FILE:zenfs_plugin>
    MAKE_VOLUME=$<TARGET_FILE:zenfs_make_volume>
    KILL_WRITER=$<TARGET_FILE:zenfs_kill_writer>
    LOAD_AT_RUN_TIME=$<TARGET_FILE:zenfs_load_at_run_time>
    SANITIZE=${ZENFS_SANITIZE})
  zenfs_python_test(preload tests/rocksdb/preload_test.py ENVIRONMENT ${environment})
  list(APPEND environment
    SOURCE_DIR=${PROJECT_SOURCE_DIR}
    ZENFS=$<TARGET_FILE:zenfs_cli>
    ASKS_WHILE_LOADING=$<TARGET_FILE:zenfs_asks_while_loading>
    OTHER_DEFAULT=$<TARGET_FILE:zenfs_default_env>
    PUT_AND_GET=$<TARGET_FILE:zenfs_put_and_get>
    PUT_AND_GET_STATIC=$<TARGET_FILE:zenfs_put_and_get_static>)
  zenfs_python_test(default_device tests/rocksdb/default_device_test.py ENVIRONMENT ${environment})
  zenfs_python_test(older_zenfs tests/rocksdb/older_zenfs_test.py ENVIRONMENT ${environment} VOLUME_TOOL=$<TARGET_FILE:zenfs_volume_tool>)
  set_tests_properties(preload default_device older_zenfs PROPERTIES TIMEOUT 600)
endfunction()
