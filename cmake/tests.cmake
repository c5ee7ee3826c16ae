# One test program per layer, from the *_test.cc beside the code, and one per suite under tests/.
# Each program is one ctest entry, named after what it tests. One that takes minutes is split into SHARDS, NAME.1 and so
# on, for ctest to run beside each other; each shard has a report of its own, and an hour, which ZENFS_FULL=1 needs.
function(zenfs_test_program name)
  cmake_parse_arguments(ARG "" "FOLDER;SHARDS" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_SOURCES)
    return()
  endif()
  list(TRANSFORM ARG_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/${ARG_FOLDER}/)
  add_executable(zenfs_${name}_test ${ARG_SOURCES})
  set_target_properties(zenfs_${name}_test PROPERTIES UNITY_BUILD_BATCH_SIZE 12)
  target_compile_options(zenfs_${name}_test PRIVATE ${ZENFS_TEST_FLAGS})
  target_link_libraries(zenfs_${name}_test PRIVATE
    ${ARG_LINK} ${ZENFS_RAPIDCHECK} GTest::gmock_main GTest::gtest zenfs_flags)
  if(NOT ARG_SHARDS)
    add_test(NAME ${name} COMMAND zenfs_${name}_test)
    set_tests_properties(${name} PROPERTIES TIMEOUT 900)
    return()
  endif()
  foreach(shard RANGE 1 ${ARG_SHARDS})
    math(EXPR index "${shard} - 1")
    add_test(NAME ${name}.${shard} COMMAND zenfs_${name}_test)
    set_tests_properties(${name}.${shard} PROPERTIES TIMEOUT 3600 ENVIRONMENT
      "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${index};GTEST_OUTPUT=xml:${PROJECT_BINARY_DIR}/test-reports/zenfs_${name}.${shard}_test.xml")
  endforeach()
endfunction()

# A test in Python: SCRIPT is below the root of the tree.
function(zenfs_python_test name script)
  cmake_parse_arguments(ARG "" "" "ARGUMENTS;ENVIRONMENT" ${ARGN})
  add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/${script} ${ARG_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 ENVIRONMENT "${ARG_ENVIRONMENT}")
endfunction()

# Helpers that tests share.
function(zenfs_add_testing)
  zenfs_layer(testing DEPENDS base device model emulator zonefs)
endfunction()
function(zenfs_add_tests)
  foreach(layer base model metrics device format buffers zone metalog file wal catalog open reclaim volume backup repair upgrade
                host emulator block nvme zonefs backends discovery testing)
    zenfs_test_program(${layer} FOLDER src SOURCES ${ZENFS_TESTS_${layer}}
      LINK zenfs_${layer} zenfs_testing ${ZENFS_LINK_${layer}} SHARDS ${ZENFS_SHARDS_${layer}})
  endforeach()
  zenfs_test_program(conformance FOLDER tests SOURCES ${ZENFS_TESTS_conformance}
    LINK zenfs_testing zenfs_backends)
  zenfs_test_program(live FOLDER tests SOURCES ${ZENFS_TESTS_live}
    LINK zenfs_testing zenfs_volume zenfs_emulator)
  zenfs_test_program(timing FOLDER tests SOURCES ${ZENFS_TESTS_timing} LINK zenfs_emulator)
  zenfs_add_device_timing()
  zenfs_add_crash_model()
  zenfs_test_program(crash FOLDER tests SOURCES ${ZENFS_TESTS_crash} LINK zenfs_crash_model SHARDS 8)
  zenfs_add_simulator()
  zenfs_add_tool_tests()
endfunction()

# The tests of what tests: the style check, and what the tools share; and of the documentation's pictures.
function(zenfs_add_tool_tests)
  zenfs_python_test(style_check_self_test scripts/check-style ARGUMENTS --self-test)
  zenfs_python_test(tooling tests/tooling/tooling_test.py)
  zenfs_python_test(pictures tests/docs/pictures_test.py)
endfunction()

function(zenfs_add_crash_model)
  set(sources ${ZENFS_CRASH_MODEL_SOURCES})
  list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/tests/)
  add_library(zenfs_crash_model STATIC ${sources})
  target_include_directories(zenfs_crash_model PUBLIC ${PROJECT_SOURCE_DIR}/tests/simulation)
  target_link_libraries(zenfs_crash_model PUBLIC zenfs_testing zenfs_volume zenfs_flags)
endfunction()

# What scripts/simulate runs.
function(zenfs_add_simulator)
  set(sources ${ZENFS_SIMULATOR_SOURCES})
  list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/tests/)
  add_executable(zenfs_simulate ${sources})
  target_link_libraries(zenfs_simulate PRIVATE
    zenfs_crash_model zenfs_backup CLI11::CLI11 nlohmann_json::nlohmann_json zenfs_flags)
endfunction()

# Real time against what was measured on drives. No test: on a host that is slow or busy it fails with nothing wrong.
# scripts/test --full runs it; the model alone is tested in virtual time (timing/model_test.cc).
function(zenfs_add_device_timing)
  set(sources ${ZENFS_DEVICE_TIMING_SOURCES})
  list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/tests/)
  add_executable(zenfs_device_timing EXCLUDE_FROM_ALL ${sources})
  set_target_properties(zenfs_device_timing PROPERTIES UNITY_BUILD OFF)
  target_link_libraries(zenfs_device_timing PRIVATE
    zenfs_emulator CLI11::CLI11 nlohmann_json::nlohmann_json zenfs_flags)
endfunction()
