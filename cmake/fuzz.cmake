# Fuzz targets (docs/testing/fuzzing.md): build/asan/fuzz/NAME for each, and the program that writes their seeds. The whole
# preset is instrumented; libFuzzer itself is linked to the targets only. A target links few layers: the fewer counters
# there are, the less time libFuzzer takes to look at them after each input.
#
# A layer is compiled as one source (the preset asks for it): on few cores that is what keeps the build short.
function(zenfs_fuzzer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  list(TRANSFORM ARG_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/tests/)
  add_executable(zenfs_fuzz_${name} ${ARG_SOURCES})
  set_target_properties(zenfs_fuzz_${name} PROPERTIES
    OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
  target_link_libraries(zenfs_fuzz_${name} PRIVATE ${ARG_LINK} zenfs_flags -fsanitize=fuzzer)
  add_dependencies(zenfs_fuzzers zenfs_fuzz_${name})
endfunction()

# What targets and seeds share.
function(zenfs_fuzz_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  list(TRANSFORM ARG_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/tests/)
  add_library(zenfs_fuzz_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(zenfs_fuzz_${name} PUBLIC ${ARG_LINK} PRIVATE zenfs_flags)
endfunction()

function(zenfs_add_fuzzers)
  zenfs_fuzz_library(device LINK zenfs_format zenfs_testing
    SOURCES fuzz/image_device.cc fuzz/simulated.cc fuzz/zone_script.cc)
  zenfs_fuzz_library(volume LINK zenfs_volume zenfs_fuzz_device
    SOURCES fuzz/edit_script.cc fuzz/image_bases.cc fuzz/image_input.cc fuzz/image_mutation.cc
      fuzz/volume_look.cc fuzz/volume_workout.cc)

  add_custom_target(zenfs_fuzzers)
  zenfs_fuzzer(superblock SOURCES fuzz/superblock_target.cc LINK zenfs_format)
  zenfs_fuzzer(edits SOURCES fuzz/edits_target.cc LINK zenfs_metalog)
  zenfs_fuzzer(metadata SOURCES fuzz/metadata_target.cc LINK zenfs_metalog zenfs_fuzz_device)
  zenfs_fuzzer(older SOURCES fuzz/older_target.cc LINK zenfs_upgrade zenfs_testing)
  zenfs_fuzzer(commits SOURCES fuzz/commits_target.cc fuzz/edit_mutator.cc LINK zenfs_fuzz_volume)
  zenfs_fuzzer(framed SOURCES fuzz/framed_target.cc LINK zenfs_wal zenfs_fuzz_device)
  zenfs_fuzzer(buffer_area SOURCES fuzz/buffer_area_target.cc LINK zenfs_buffers zenfs_metrics)
  zenfs_fuzzer(buffers SOURCES fuzz/buffers_target.cc fuzz/buffers_base.cc LINK zenfs_fuzz_volume)
  zenfs_fuzzer(emulated SOURCES fuzz/emulated_target.cc LINK zenfs_emulator)
  zenfs_fuzzer(uri SOURCES fuzz/uri_target.cc LINK zenfs_backends zenfs_volume)
  zenfs_fuzzer(command_line SOURCES fuzz/command_line_target.cc LINK zenfs_cli_core)
  zenfs_fuzzer(manifest SOURCES fuzz/manifest_target.cc LINK zenfs_backup)
  zenfs_fuzzer(backup_directory SOURCES fuzz/backup_directory_target.cc fuzz/backup_tree.cc fuzz/change_watch.cc
    LINK zenfs_backup zenfs_fuzz_volume)
  zenfs_fuzzer(metadata_copy SOURCES fuzz/metadata_copy_target.cc LINK zenfs_format)
  zenfs_fuzzer(image SOURCES fuzz/image_target.cc LINK zenfs_fuzz_volume)
  zenfs_fuzzer(repair SOURCES fuzz/repair_target.cc LINK zenfs_repair zenfs_fuzz_volume)

  set(seeds fuzz/seeds_main.cc fuzz/backup_directory_seeds.cc fuzz/buffers_seeds.cc fuzz/commits_seeds.cc
    fuzz/emulated_seeds.cc fuzz/format_seeds.cc fuzz/framed_seeds.cc fuzz/image_seeds.cc fuzz/metadata_seeds.cc
    fuzz/older_seeds.cc fuzz/buffer_area_seeds.cc fuzz/text_seeds.cc)
  list(TRANSFORM seeds PREPEND ${PROJECT_SOURCE_DIR}/tests/)
  add_executable(zenfs_fuzz_seeds ${seeds})
  target_link_libraries(zenfs_fuzz_seeds PRIVATE
    zenfs_cli_core zenfs_wal zenfs_buffers zenfs_metrics zenfs_fuzz_volume zenfs_flags)
  add_dependencies(zenfs_fuzzers zenfs_fuzz_seeds)
endfunction()
