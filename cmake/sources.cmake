# The one list of sources, by layer. scripts/check-style fails on a file under src/ that is not named here.
set(ZENFS_SOURCES_base
  base/clock.cc
  base/crc32c.cc
  base/fork_guard.cc
  base/mutex.cc
  base/random.cc
  base/status.cc
  base/thread.cc
  base/uuid.cc
)
set(ZENFS_TESTS_base
  base/aligned_buffer_test.cc
  base/coding_test.cc
  base/crc32c_test.cc
  base/mutex_test.cc
  base/random_test.cc
  base/status_test.cc
  base/uuid_test.cc
)

set(ZENFS_SOURCES_model
  model/applier.cc
  model/applier_files.cc
  model/applier_names.cc
  model/edit.cc
  model/file_record.cc
  model/lifetime.cc
  model/state.cc
  model/state_check.cc
  model/state_describe.cc
)
set(ZENFS_TESTS_model
  model/state_test.cc
)

set(ZENFS_SOURCES_metrics
)
set(ZENFS_TESTS_metrics
)

set(ZENFS_SOURCES_device
  device/checked_device.cc
  device/read_only_view.cc
  device/request_check.cc
  device/zone_info.cc
)
set(ZENFS_TESTS_device
  device/checked_device_test.cc
  device/zone_info_test.cc
)

set(ZENFS_SOURCES_format
  format/edit_codec.cc
  format/frame.cc
  format/metalog_payload.cc
  format/superblock.cc
)
set(ZENFS_TESTS_format
  format/edit_codec_test.cc
  format/frame_test.cc
  format/metalog_payload_test.cc
  format/superblock_test.cc
)

set(ZENFS_SOURCES_zone
  zone/extent_sink.cc
  zone/placement.cc
  zone/slot_plan.cc
  zone/zone_choice.cc
  zone/zone_handles.cc
  zone/zone_janitor.cc
  zone/zone_manager.cc
  zone/zone_pool.cc
  zone/zone_pool_report.cc
  zone/zone_table.cc
)
set(ZENFS_TESTS_zone
  zone/live_bytes_test.cc
  zone/placement_test.cc
  zone/slot_plan_test.cc
  zone/zone_failure_test.cc
  zone/zone_manager_test.cc
  zone/zone_pool_test.cc
  zone/zone_sharing_test.cc
)

set(ZENFS_SOURCES_metalog
  metalog/commit.cc
  metalog/footprint.cc
  metalog/generation_reader.cc
  metalog/generation_writer.cc
  metalog/metalog.cc
  metalog/metazones.cc
  metalog/probe.cc
  metalog/replay.cc
  metalog/roll.cc
  metalog/snapshot.cc
  metalog/zone_reader.cc
)
set(ZENFS_TESTS_metalog
  metalog/footprint_test.cc
  metalog/metalog_crash_test.cc
  metalog/metalog_fault_test.cc
  metalog/metalog_group_test.cc
  metalog/metalog_roll_test.cc
  metalog/metalog_test.cc
  metalog/probe_test.cc
)

set(ZENFS_SOURCES_file
  file/extent_list.cc
  file/extent_reader.cc
  file/file_view.cc
  file/plain_file.cc
  file/plain_file_read.cc
  file/plain_file_write.cc
  file/tail_buffer.cc
)
set(ZENFS_TESTS_file
  file/extent_reader_test.cc
  file/plain_file_model_test.cc
  file/plain_file_test.cc
  file/plain_file_threads_test.cc
)

set(ZENFS_SOURCES_wal
)
set(ZENFS_TESTS_wal
)

set(ZENFS_SOURCES_catalog
)
set(ZENFS_TESTS_catalog
)

set(ZENFS_SOURCES_reclaim
)
set(ZENFS_TESTS_reclaim
)

set(ZENFS_SOURCES_volume
)
set(ZENFS_TESTS_volume
)

# src/backends/emulator
set(ZENFS_SOURCES_emulator
  backends/emulator/emulated_device.cc
  backends/emulator/emulated_file.cc
  backends/emulator/emulated_queue.cc
  backends/emulator/emulator_geometry.cc
  backends/emulator/file_store.cc
  backends/emulator/lock_holder.cc
  backends/emulator/memory_store.cc
  backends/emulator/precise_wait.cc
  backends/emulator/zone_machine.cc
)
set(ZENFS_TESTS_emulator
  backends/emulator/emulated_device_test.cc
  backends/emulator/emulated_file_kill_test.cc
  backends/emulator/emulated_file_test.cc
  backends/emulator/emulator_geometry_test.cc
  backends/emulator/lock_holder_test.cc
  backends/emulator/zone_machine_property_test.cc
  backends/emulator/zone_machine_test.cc
)

# src/backends itself: naming and opening of devices
set(ZENFS_SOURCES_backends
  backends/device_uri.cc
  backends/open_device.cc
)
set(ZENFS_TESTS_backends
  backends/device_uri_test.cc
  backends/open_device_test.cc
)

set(ZENFS_SOURCES_rocksdb_plugin
)
set(ZENFS_TESTS_rocksdb_plugin
)

set(ZENFS_SOURCES_cli
)
set(ZENFS_TESTS_cli
)

# src/testing: helpers that tests share, never in a product
set(ZENFS_SOURCES_testing
  testing/borrowed_device.cc
  testing/crash_device.cc
  testing/device_data.cc
  testing/faulty_device.cc
  testing/immediate_queue.cc
  testing/loss.cc
  testing/temp_directory.cc
  testing/zone_image.cc
)
set(ZENFS_TESTS_testing
  testing/crash_device_test.cc
  testing/faulty_device_test.cc
)

# tests/: suites that stand above one layer
set(ZENFS_TESTS_conformance
  conformance/backends_under_test.cc
  conformance/data_conformance_test.cc
  conformance/persistence_conformance_test.cc
  conformance/queue_conformance_test.cc
  conformance/zone_conformance_test.cc
)
set(ZENFS_TESTS_crash
)
set(ZENFS_TESTS_rocksdb
)
