// The trace of a database, recorded by the mount option trace_file.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "format/file_trace.h"
#include "rocksdb/db.h"
#include "test_volume.h"

namespace zenfs {
namespace {

using What = TraceEvent::What;

struct TracedFile {
  TracedKind kind = TracedKind::kOther;
  Lifetime lifetime = Lifetime::kNotSet;
  std::uint64_t size = 0;
  bool deleted = false;
};

// All files of a trace. A line that can't be read is a failure of the test.
std::map<FileId, TracedFile> FilesOf(const std::string& path) {
  std::map<FileId, TracedFile> files;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  EXPECT_TRUE(ParseTraceHeader(line).ok()) << line;
  while (std::getline(file, line)) {
    const Result<TraceEvent> event = ParseTraceEvent(line);
    if (!event) {
      ADD_FAILURE() << event.error().ToString();
      break;
    }
    if (event->what == What::kBegin || event->what == What::kEnd) continue;
    TracedFile& traced = files[event->id];
    EXPECT_FALSE(traced.deleted) << line;
    if (event->what == What::kCreate) traced.kind = event->kind;
    if (event->what == What::kCreate || event->what == What::kLifetime) traced.lifetime = event->lifetime;
    if (event->what == What::kSize || event->what == What::kClose) traced.size = event->bytes;
    if (event->what == What::kDelete) traced.deleted = true;
  }
  return files;
}

class DatabaseTrace : public ::testing::Test {
 protected:
  ~DatabaseTrace() override { ::unlink(path_.c_str()); }

  // Overwrites the same keys until tables were compacted, so that tables and logs are deleted.
  void RunDatabase() {
    rocksdb::Env* env = nullptr;
    std::shared_ptr<rocksdb::Env> guard;
    ASSERT_TRUE(IsOk(rocksdb::Env::CreateFromUri(rocksdb::ConfigOptions(), "",
                                                 volume_.uri("trace_file:" + path_), &env, &guard)));
    rocksdb::Options options;
    options.env = env;
    options.create_if_missing = true;
    options.write_buffer_size = 1 << 20;
    options.target_file_size_base = 1 << 20;
    options.level0_file_num_compaction_trigger = 2;
    options.compression = rocksdb::kNoCompression;
    rocksdb::DB* opened = nullptr;
    ASSERT_TRUE(IsOk(rocksdb::DB::Open(options, "/db", &opened)));
    const std::unique_ptr<rocksdb::DB> db(opened);
    for (int i = 0; i < 12'000; ++i) {
      ASSERT_TRUE(IsOk(db->Put({}, KeyOf(i % 3'000), RandomBytes(800, static_cast<std::uint64_t>(i)))));
    }
    ASSERT_TRUE(IsOk(db->CompactRange({}, nullptr, nullptr)));
    std::vector<rocksdb::LiveFileMetaData> tables;
    db->GetLiveFilesMetaData(&tables);
    for (const auto& table : tables) live_table_bytes_ += table.size;
    ASSERT_TRUE(IsOk(db->Close()));
  }

  TestVolume volume_;
  const std::string path_ = ::testing::TempDir() + "zenfs-database-trace-" + std::to_string(::getpid());
  std::uint64_t live_table_bytes_ = 0;
};

TEST_F(DatabaseTrace, HasTheTablesAndLogsWithTheirLifetimesSizesAndDeletions) {
  RunDatabase();
  std::uint64_t live_tables = 0;
  int deleted_tables = 0, deleted_logs = 0, manifests = 0;
  for (const auto& [id, file] : FilesOf(path_)) {
    if (file.kind == TracedKind::kTable) {
      EXPECT_GE(file.lifetime, Lifetime::kMedium) << "file " << id.value;
      deleted_tables += file.deleted;
      live_tables += file.deleted ? 0 : file.size;
    } else if (file.kind == TracedKind::kLog) {
      EXPECT_EQ(file.lifetime, Lifetime::kShort) << "file " << id.value;
      deleted_logs += file.deleted;
    }
    manifests += file.kind == TracedKind::kManifest;
  }
  EXPECT_EQ(live_tables, live_table_bytes_);
  EXPECT_GE(deleted_tables, 4);
  EXPECT_GE(deleted_logs, 4);
  EXPECT_GE(manifests, 1);
}

}  // namespace
}  // namespace zenfs
