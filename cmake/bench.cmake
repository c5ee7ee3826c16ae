# Benchmarks, with ZENFS_BENCH=ON: each a program in build/PRESET/bench.
function(zenfs_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  list(TRANSFORM ARG_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/)
  add_executable(zenfs_${name}_bench ${ARG_SOURCES})
  target_link_libraries(zenfs_${name}_bench PRIVATE ${ARG_LINK} benchmark::benchmark zenfs_flags)
  set_target_properties(zenfs_${name}_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
endfunction()

# The ideal file system (docs/use/bench.md): libideal.so, for the RocksDB that the plugin is built for, and its test.
function(zenfs_add_ideal)
  set(sources bench/ideal/drive.cc bench/ideal/file_system.cc bench/ideal/memory_file.cc bench/ideal/ideal_readable_file.cc
    bench/ideal/ideal_writable_file.cc src/rocksdb_plugin/rocksdb_version.cc src/rocksdb_plugin/status_conversion.cc)
  list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/)
  add_library(zenfs_ideal_file_system OBJECT ${sources})
  target_include_directories(zenfs_ideal_file_system PUBLIC ${PROJECT_SOURCE_DIR}/bench)
  target_link_libraries(zenfs_ideal_file_system
    PUBLIC zenfs_emulator zenfs_rocksdb nlohmann_json::nlohmann_json PRIVATE zenfs_flags)

  set(exports ${PROJECT_SOURCE_DIR}/bench/ideal/libideal.map)
  add_library(zenfs_ideal SHARED ${PROJECT_SOURCE_DIR}/bench/ideal/registration.cc)
  set_target_properties(zenfs_ideal PROPERTIES
    OUTPUT_NAME ideal LINK_DEPENDS ${exports} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_link_libraries(zenfs_ideal PRIVATE zenfs_ideal_file_system zenfs_flags)
  target_link_options(zenfs_ideal PRIVATE
    -Wl,--no-as-needed -Wl,-z,nodelete -Wl,--version-script=${exports})
endfunction()

function(zenfs_add_ideal_test)
  zenfs_test_program(ideal FOLDER tests SOURCES bench/ideal_test.cc LINK zenfs_ideal_file_system)
endfunction()

# What scripts/bench peers runs in its guests beside db_bench.
function(zenfs_add_peers)
  add_executable(zenfs_peers_files ${PROJECT_SOURCE_DIR}/bench/peers/files.cc)
  target_link_libraries(zenfs_peers_files PRIVATE zenfs_rocksdb zenfs_flags)
  if(ZENFS_ROCKSDB)
    set_target_properties(zenfs_peers_files PROPERTIES BUILD_RPATH ${ZENFS_ROCKSDB}/lib)
  endif()
endfunction()

# The simulation of space (docs/use/simulate-space.md): zenfs_simulate_space, what scripts/simulate-space runs, and its tests.
function(zenfs_add_space_simulation)
  set(sources bench/space/leveled_tree.cc bench/space/overwrites.cc bench/space/recorded_trace.cc bench/space/run.cc
    bench/space/simulated_log.cc bench/space/simulated_volume.cc bench/space/simulated_zones.cc bench/space/victim_index.cc
    bench/space/workload.cc)
  list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/)
  add_library(zenfs_space_model STATIC ${sources})
  target_include_directories(zenfs_space_model PUBLIC ${PROJECT_SOURCE_DIR}/bench/space)
  target_link_libraries(zenfs_space_model PUBLIC zenfs_volume PRIVATE zenfs_flags)

  add_executable(zenfs_simulate_space ${PROJECT_SOURCE_DIR}/bench/space/main.cc)
  target_link_libraries(zenfs_simulate_space PRIVATE
    zenfs_space_model CLI11::CLI11 nlohmann_json::nlohmann_json zenfs_flags)
endfunction()

function(zenfs_add_space_tests)
  zenfs_test_program(space FOLDER tests LINK zenfs_space_model zenfs_testing
    SOURCES bench/recorded_trace_test.cc bench/space_simulation_test.cc bench/space_workload_test.cc)
  zenfs_python_test(simulate_space tests/bench/simulate_space_test.py
    ENVIRONMENT ZENFS_SIMULATE_SPACE=$<TARGET_FILE:zenfs_simulate_space>)
endfunction()

function(zenfs_add_benches)
  find_package(benchmark REQUIRED)
  zenfs_bench(metrics SOURCES bench/metrics_bench.cc LINK zenfs_metrics)
  zenfs_bench(host_io SOURCES bench/host_io_bench.cc LINK zenfs_host benchmark::benchmark_main)
  zenfs_bench(finish SOURCES bench/finish_bench.cc LINK zenfs_backends)
  zenfs_bench(reset SOURCES bench/reset_bench.cc LINK zenfs_volume zenfs_backends)
  zenfs_bench(synced SOURCES bench/synced_bench.cc LINK zenfs_volume zenfs_backends)
  if(ZENFS_TESTS)  # it uses the helpers of the tests
    zenfs_bench(core LINK zenfs_volume zenfs_backends zenfs_testing benchmark::benchmark_main
      SOURCES bench/append_bench.cc bench/bench_volume.cc bench/commit_bench.cc bench/mount_bench.cc
        bench/reclaim_bench.cc bench/sequential_bench.cc)
  endif()
endfunction()

# scripts/bench, with a db_bench that only pretends.
function(zenfs_add_trial_tests)
  foreach(suite figures_test.py page_test.py peers_test.py plots_test.py run_test.py)
    string(REPLACE _test.py "" name bench_${suite})
    zenfs_python_test(${name} tests/bench/${suite} ENVIRONMENT ZENFS=$<TARGET_FILE:zenfs_cli>)
  endforeach()
endfunction()
