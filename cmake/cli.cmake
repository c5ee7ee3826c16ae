# The command `zenfs`. Everything but main() is a library, so that unit tests link the same objects.
function(zenfs_add_cli_core)
  set(sources ${ZENFS_SOURCES_cli})
  list(REMOVE_ITEM sources cli/main.cc)
  list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/src/)
  add_library(zenfs_cli_core STATIC ${sources})
  # Each verb instantiates much of CLI11 and of the JSON library: together they compile four times as fast.
  set_target_properties(zenfs_cli_core PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 7)
  # The macros of ncurses have names such as OK.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/cli/screen.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_compile_options(zenfs_cli_core PRIVATE ${ZENFS_CLI_FLAGS})
  target_include_directories(zenfs_cli_core PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_include_directories(zenfs_cli_core SYSTEM PRIVATE ${ZENFS_TOMLPLUSPLUS})
  target_compile_definitions(zenfs_cli_core PRIVATE ZENFS_VERSION="${PROJECT_VERSION}" FUSE_USE_VERSION=312)
  target_link_libraries(zenfs_cli_core
    PUBLIC zenfs_volume zenfs_backup zenfs_repair zenfs_upgrade zenfs_backends zenfs_discovery CLI11::CLI11 nlohmann_json::nlohmann_json prometheus-cpp::core
    PRIVATE civetweb::civetweb ${ZENFS_FUSE} ${CURSES_LIBRARIES} zenfs_flags)
endfunction()

function(zenfs_add_cli)
  zenfs_add_cli_core()
  add_executable(zenfs_cli ${PROJECT_SOURCE_DIR}/src/cli/main.cc)
  set_target_properties(zenfs_cli PROPERTIES OUTPUT_NAME zenfs)
  target_link_libraries(zenfs_cli PRIVATE zenfs_cli_core zenfs_flags)
  install(TARGETS zenfs_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  zenfs_add_cli_pages()
endfunction()

# The man page, the completions and the dashboard, printed by the command itself from its table of verbs as soon as it is linked: whatever
# targets were built, an installation of the command has them.
function(zenfs_cli_page file destination)
  set(page ${PROJECT_BINARY_DIR}/share/${file})
  add_custom_command(TARGET zenfs_cli POST_BUILD VERBATIM BYPRODUCTS ${page}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/share
    COMMAND zenfs_cli ${ARGN} > ${page})
  install(FILES ${page} DESTINATION ${destination})
endfunction()

function(zenfs_add_cli_pages)
  zenfs_cli_page(zenfs.8 ${CMAKE_INSTALL_MANDIR}/man8 help --man)
  zenfs_cli_page(zenfs ${CMAKE_INSTALL_DATADIR}/bash-completion/completions completion bash)
  zenfs_cli_page(_zenfs ${CMAKE_INSTALL_DATADIR}/zsh/site-functions completion zsh)
  zenfs_cli_page(grafana-dashboard.json ${CMAKE_INSTALL_DATADIR}/zenfs exporter --dashboard)
  zenfs_cli_page(zenfs.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d completion fish)
endfunction()

# Unit tests of the parts, and golden tests of the whole command (tests/cli).
function(zenfs_add_cli_tests)
  zenfs_test_program(cli FOLDER src SOURCES ${ZENFS_TESTS_cli} LINK zenfs_cli_core zenfs_testing)
  # `zenfs doctor` looks at these in its tests. They are built without sanitizers, so that the command can load the library.
  add_library(zenfs_running_library SHARED ${PROJECT_SOURCE_DIR}/tests/cli/running_library.cc)
  set_target_properties(zenfs_running_library PROPERTIES OUTPUT_NAME running VERSION 7.9.2 SOVERSION 7.9)
  target_link_options(zenfs_running_library PRIVATE LINKER:--hash-style=sysv)  # the libraries of the host have the newer table
  add_executable(zenfs_running_program ${PROJECT_SOURCE_DIR}/tests/cli/running_program.cc)
  target_link_libraries(zenfs_running_program PRIVATE zenfs_running_library)
  target_link_options(zenfs_running_program PRIVATE LINKER:--audit=$<TARGET_FILE:zenfs_running_library>)
  add_executable(zenfs_running_static ${PROJECT_SOURCE_DIR}/tests/cli/running_program.cc ${PROJECT_SOURCE_DIR}/tests/cli/running_library.cc)
  set_target_properties(zenfs_running_static PROPERTIES ENABLE_EXPORTS ON UNITY_BUILD OFF)
  target_compile_definitions(zenfs_cli_test PRIVATE
    ZENFS_DOCS="${PROJECT_SOURCE_DIR}/docs" ZENFS_VERSION="${PROJECT_VERSION}" TESTED_LIBRARY="$<TARGET_FILE:zenfs_running_library>")
  add_dependencies(zenfs_cli_test zenfs_running_library)
  add_executable(zenfs_volume_tool ${PROJECT_SOURCE_DIR}/tests/cli/volume_tool.cc)
  set_target_properties(zenfs_volume_tool PROPERTIES OUTPUT_NAME volume_tool)
  target_link_libraries(zenfs_volume_tool PRIVATE zenfs_testing zenfs_volume zenfs_discovery zenfs_flags)

  set(environment ZENFS=$<TARGET_FILE:zenfs_cli> VOLUME_TOOL=$<TARGET_FILE:zenfs_volume_tool>)
  zenfs_python_test(cli_doctor tests/cli/doctor_test.py ENVIRONMENT ${environment}
    RUNNING_LIBRARY=$<TARGET_FILE:zenfs_running_library> RUNNING_PROGRAM=$<TARGET_FILE:zenfs_running_program>
    STATIC_PROGRAM=$<TARGET_FILE:zenfs_running_static>)
  foreach(suite usage_test.py emulator_test.py filesystem_test.py log_device_test.py damage_test.py repair_test.py scrub_test.py names_test.py
          backup_test.py one_file_test.py mount_test.py tree_test.py hostile_names_test.py watching_test.py space_test.py shell_test.py devices_test.py
          buffers_test.py advise_test.py outputs_test.py configuration_test.py screen_test.py older_test.py upgrade_test.py)
    string(REPLACE _test.py "" name cli_${suite})
    zenfs_python_test(${name} tests/cli/${suite} ENVIRONMENT ${environment})
  endforeach()
  if(DEFINED ENV{ZENFS_OLDER_IMAGES})  # devices of the real older ZenFS, which are not in the source tree
    zenfs_python_test(cli_older_images tests/cli/older_images_test.py ENVIRONMENT ${environment} ZENFS_OLDER_IMAGES=$ENV{ZENFS_OLDER_IMAGES})
  endif()
  zenfs_python_test(units tests/packaging/units_test.py ENVIRONMENT ${environment} BUILD=${PROJECT_BINARY_DIR})
  zenfs_python_test(monitoring tests/packaging/monitoring_test.py ENVIRONMENT ${environment} BUILD=${PROJECT_BINARY_DIR})
  if(NOT ZENFS_SANITIZE)  # their runtime reserves more address space than any limit of this test
    zenfs_python_test(cli_memory tests/cli/memory_test.py ENVIRONMENT ${environment})
  endif()
  zenfs_add_host_faults()
endfunction()

# The command on a host whose calls fail: a library that is preloaded into it makes them.
function(zenfs_add_host_faults)
  add_library(zenfs_fail_calls MODULE ${PROJECT_SOURCE_DIR}/tests/hostfaults/fail_calls.cc)
  set_target_properties(zenfs_fail_calls PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_link_libraries(zenfs_fail_calls PRIVATE ${CMAKE_DL_LIBS} zenfs_flags)
  zenfs_test_program(hostfaults FOLDER tests SOURCES ${ZENFS_TESTS_hostfaults} LINK zenfs_testing)
  set_target_properties(zenfs_hostfaults_test PROPERTIES UNITY_BUILD OFF)
  target_compile_definitions(zenfs_hostfaults_test PRIVATE
    FAIL_CALLS="$<TARGET_FILE:zenfs_fail_calls>" ZENFS_COMMAND="$<TARGET_FILE:zenfs_cli>")
  add_dependencies(zenfs_hostfaults_test zenfs_fail_calls zenfs_cli)
endfunction()
