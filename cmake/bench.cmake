# Benchmarks, with ZENFS_BENCH=ON: each a program in build/PRESET/bench.
function(zenfs_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  list(TRANSFORM ARG_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/)
  add_executable(zenfs_${name}_bench ${ARG_SOURCES})
  target_link_libraries(zenfs_${name}_bench PRIVATE ${ARG_LINK} benchmark::benchmark zenfs_flags)
  set_target_properties(zenfs_${name}_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
endfunction()

function(zenfs_add_benches)
  find_package(benchmark REQUIRED)
  zenfs_bench(metrics SOURCES bench/metrics_bench.cc LINK zenfs_metrics)
  zenfs_bench(host_io SOURCES bench/host_io_bench.cc LINK zenfs_host benchmark::benchmark_main)
  zenfs_bench(finish SOURCES bench/finish_bench.cc LINK zenfs_backends)
  if(ZENFS_TESTS)  # it uses the helpers of the tests
    zenfs_bench(core LINK zenfs_volume zenfs_backends zenfs_testing benchmark::benchmark_main
      SOURCES bench/append_bench.cc bench/bench_volume.cc bench/commit_bench.cc bench/mount_bench.cc
        bench/sequential_bench.cc)
  endif()
endfunction()

# scripts/bench, with a db_bench that only pretends.
function(zenfs_add_trial_tests)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  foreach(suite figures_test.py page_test.py run_test.py)
    string(REPLACE _test.py "" name bench_${suite})
    add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/bench/${suite})
    set_tests_properties(${name} PROPERTIES ENVIRONMENT ZENFS=$<TARGET_FILE:zenfs_cli> TIMEOUT 300)
  endforeach()
endfunction()
