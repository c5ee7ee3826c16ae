# Sources of what stands behind the device interface: src/backends and what finds devices. The rest is in sources.cmake.
# src/backends/host: what the kernel's devices share
set(ZENFS_SOURCES_host
  backends/host/backend_option.cc
  backends/host/data_path.cc
  backends/host/block_facts.cc
  backends/host/failed_write.cc
  backends/host/kernel_cache.cc
  backends/host/kernel_queue.cc
  backends/host/lock_holder.cc
  backends/host/plain_io.cc
  backends/host/io_scheduler.cc
)
set(ZENFS_TESTS_host
  backends/host/block_facts_test.cc
  backends/host/failed_write_test.cc
  backends/host/kernel_cache_test.cc
  backends/host/kernel_queue_test.cc
  backends/host/lock_holder_test.cc
  backends/host/ring_stall_test.cc
  backends/host/io_scheduler_test.cc
)

# src/backends/emulator
set(ZENFS_SOURCES_emulator
  backends/emulator/buffered_clock.cc
  backends/emulator/bufferless_clock.cc
  backends/emulator/disk_clock.cc
  backends/emulator/emulated_clone.cc
  backends/emulator/emulated_device.cc
  backends/emulator/emulated_file.cc
  backends/emulator/emulator.cc
  backends/emulator/emulator_geometry.cc
  backends/emulator/file_store.cc
  backends/emulator/page_cache_model.cc
  backends/emulator/power_loss.cc
  backends/emulator/precise_wait.cc
  backends/emulator/timing.cc
  backends/emulator/volatile_cache.cc
  backends/emulator/zone_machine.cc
)
set(ZENFS_TESTS_emulator
  backends/emulator/file_store_test.cc
  backends/emulator/buffered_clock_test.cc
  backends/emulator/timing_test.cc
  backends/emulator/cpu_meter_test.cc
  backends/emulator/emulated_clone_test.cc
  backends/emulator/emulated_device_test.cc
  backends/emulator/emulated_file_kill_test.cc
  backends/emulator/emulated_file_test.cc
  backends/emulator/emulator_geometry_test.cc
  backends/emulator/page_cache_model_test.cc
  backends/emulator/power_cut_test.cc
  backends/emulator/power_loss_test.cc
  backends/emulator/random_area_file_test.cc
  backends/emulator/random_area_test.cc
  backends/emulator/reserved_file_test.cc
  backends/emulator/timed_device_test.cc
  backends/emulator/vanishing_file_test.cc
  backends/emulator/volatile_cache_test.cc
  backends/emulator/zone_machine_property_test.cc
  backends/emulator/zone_machine_test.cc
)

# src/backends/block
set(ZENFS_SOURCES_block
  backends/block/zone_control.cc
  backends/block/block_device.cc
  backends/block/open_block_device.cc
)
set(ZENFS_TESTS_block
  backends/block/open_block_device_test.cc
  backends/block/block_device_test.cc
)

# src/backends/nvme
set(ZENFS_SOURCES_nvme
  backends/nvme/nvme_commands.cc
  backends/nvme/nvme_device.cc
  backends/nvme/nvme_namespace.cc
  backends/nvme/nvme_status.cc
)
set(ZENFS_TESTS_nvme
  backends/nvme/nvme_device_test.cc
  backends/nvme/nvme_namespace_test.cc
  backends/nvme/nvme_status_test.cc
)

# src/backends/zonefs
set(ZENFS_SOURCES_zonefs
  backends/zonefs/zonefs_device.cc
  backends/zonefs/zonefs_mount.cc
  backends/zonefs/zone_files.cc
  backends/zonefs/descriptor_cache.cc
  backends/zonefs/zone_file_device.cc
  backends/zonefs/zone_writers.cc
)
set(ZENFS_TESTS_zonefs
  backends/zonefs/zonefs_mount_test.cc
  backends/zonefs/zonefs_device_test.cc
  backends/zonefs/zone_files_test.cc
  backends/zonefs/descriptor_cache_test.cc
  backends/zonefs/zone_file_device_test.cc
  backends/zonefs/zone_writers_test.cc
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

# src/discovery: which devices there are
set(ZENFS_SOURCES_discovery
  discovery/contents.cc
  discovery/known_devices.cc
  discovery/resolve.cc
  discovery/volume_device.cc
)
set(ZENFS_TESTS_discovery
  discovery/contents_test.cc
  discovery/known_devices_test.cc
  discovery/resolve_test.cc
  discovery/volume_device_test.cc
)
