#include "option_kill_cases.h"

#include <algorithm>

#include "rocksdb/table.h"

namespace zenfs {
namespace {

constexpr void (*kUnchanged)(rocksdb::Options&, const std::string&) = [](rocksdb::Options&,
                                                                         const std::string&) {};

const OptionKillCase kCases[] = {
    {"defaults", kUnchanged},
    {"recycled_logs",
     [](rocksdb::Options& o, const std::string&) {
       o.recycle_log_file_num = 3;
       o.wal_recovery_mode =
           rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;  // with others RocksDB recycles none
     }},
    {"two_queues", [](rocksdb::Options& o, const std::string&) { o.two_write_queues = true; }},
    {"pipelined", [](rocksdb::Options& o, const std::string&) { o.enable_pipelined_write = true; }},
    {"unordered", [](rocksdb::Options& o, const std::string&) { o.unordered_write = true; }},
    {"manual_flush", [](rocksdb::Options& o, const std::string&) { o.manual_wal_flush = true; }, 1,
     AcknowledgedBy::kFlushWal},
    {"two_queues_manual_flush",
     [](rocksdb::Options& o, const std::string&) { o.two_write_queues = o.manual_wal_flush = true; }, 1,
     AcknowledgedBy::kFlushWal},
    {"tracked_logs",
     [](rocksdb::Options& o, const std::string&) { o.track_and_verify_wals_in_manifest = true; }},
    {"compressed_log", [](rocksdb::Options& o, const std::string&) { o.wal_compression = rocksdb::kZSTD; }},
    {"recycled_pipelined_logs",
     [](rocksdb::Options& o, const std::string&) {
       o.recycle_log_file_num = 2;
       o.enable_pipelined_write = true;
       o.wal_recovery_mode = rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
     }},
    {"absolute_consistency",
     [](rocksdb::Options& o, const std::string&) {
       o.wal_recovery_mode = rocksdb::WALRecoveryMode::kAbsoluteConsistency;
     }},
    {"atomic_flush", [](rocksdb::Options& o, const std::string&) { o.atomic_flush = true; }, 8},
    {"atomic_flush_without_log", [](rocksdb::Options& o, const std::string&) { o.atomic_flush = true; }, 3,
     AcknowledgedBy::kMemtableFlush},
    {"eight_families", [](rocksdb::Options& o, const std::string&) { o.max_total_wal_size = 64 << 10; }, 8},
    {"blobs",
     [](rocksdb::Options& o, const std::string&) {
       o.enable_blob_files = o.enable_blob_garbage_collection = true;
       o.min_blob_size = 200;
       o.blob_file_size = 64 << 10;
       o.blob_garbage_collection_age_cutoff = 0.5;
     }},
    {"universal", [](rocksdb::Options& o,
                     const std::string&) { o.compaction_style = rocksdb::kCompactionStyleUniversal; }},
    {"mapped_reads", [](rocksdb::Options& o, const std::string&) { o.allow_mmap_reads = true; }},
    {"direct",
     [](rocksdb::Options& o, const std::string&) {
       o.use_direct_reads = o.use_direct_io_for_flush_and_compaction = true;
     }},
    {"several_paths",
     [](rocksdb::Options& o, const std::string& root) {
       o.db_paths = {{root + "/near", 200 << 10}, {root + "/far", 1 << 30}};
     }},
    {"own_wal_dir", [](rocksdb::Options& o, const std::string& root) { o.wal_dir = root + "/wal"; }},
    {"archived_logs",
     [](rocksdb::Options& o, const std::string&) {
       o.WAL_ttl_seconds = 3600;
       o.avoid_flush_during_recovery = true;
     }},
    {"checksums_and_range_syncs",
     [](rocksdb::Options& o, const std::string&) {
       o.checksum_handoff_file_types.Add(rocksdb::FileType::kWalFile);
       o.checksum_handoff_file_types.Add(rocksdb::FileType::kTableFile);
       o.checksum_handoff_file_types.Add(rocksdb::FileType::kDescriptorFile);
       o.bytes_per_sync = o.wal_bytes_per_sync = 16 << 10;
       o.strict_bytes_per_sync = true;
     }},
};
static_assert(std::size(kCases) == 22);

}  // namespace

std::span<const OptionKillCase> OptionKillCases() { return kCases; }

const OptionKillCase* FindOptionKillCase(const std::string& name) {
  const auto found = std::ranges::find(kCases, name, &OptionKillCase::name);
  return found == std::end(kCases) ? nullptr : found;
}

rocksdb::Options OptionsOf(const OptionKillCase& kill_case, rocksdb::Env* env, const std::string& root) {
  rocksdb::Options options;
  options.env = env;
  options.create_if_missing = options.create_missing_column_families = true;
  options.write_buffer_size = 64 << 10;
  options.target_file_size_base = 64 << 10;
  options.max_bytes_for_level_base = 256 << 10;
  options.level0_file_num_compaction_trigger = 2;
  options.compression = rocksdb::kNoCompression;
  options.paranoid_checks = true;
  kill_case.adjust(options, root);
  return options;
}

}  // namespace zenfs
