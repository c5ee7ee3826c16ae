// Writes files of every kind that RocksDB and its tools write, flushes them, closes and syncs none that it need not, and
// kills itself (flush_kill_test.cc runs it, and looks at what is left).
//
//   zenfs_flush_writer URI ROOT files|database    URI: of a file system, or "posix" for RocksDB's own
//
// Exit status 1, with a message, if something fails before that.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "flush_files.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/file_system.h"
#include "rocksdb/sst_file_manager.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/table.h"
#include "rocksdb/trace_reader_writer.h"
#include "rocksdb/utilities/backup_engine.h"
#include "rocksdb/utilities/checkpoint.h"
#include "rocksdb/utilities/options_util.h"

namespace zenfs {
namespace {

using rocksdb::Status;

void Must(const Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "flush_writer: %s: %s\n", what, status.ToString().c_str());
  _exit(1);
}

// Appends and flushes the pieces of `file`; the handle stays open.
std::unique_ptr<rocksdb::FSWritableFile> WritePieces(rocksdb::FileSystem& fs, const std::string& root,
                                                     const FlushedFile& file) {
  std::unique_ptr<rocksdb::FSWritableFile> open;
  Must(fs.NewWritableFile(root + "/" + file.name, rocksdb::FileOptions(), &open, nullptr), "creating a file");
  const std::string content = file.Content();
  for (std::size_t at = 0; at < content.size(); at += file.piece) {
    const rocksdb::Slice piece(content.data() + at, std::min(file.piece, content.size() - at));
    Must(open->Append(piece, rocksdb::IOOptions(), nullptr), "appending");
    Must(open->Flush(rocksdb::IOOptions(), nullptr), "flushing");
  }
  return open;
}

void WriteFiles(rocksdb::FileSystem& fs, const std::string& root) {
  std::vector<std::unique_ptr<rocksdb::FSWritableFile>> open;
  for (const FlushedFile& file : FlushedFiles()) open.push_back(WritePieces(fs, root, file));
  kill(getpid(), SIGKILL);
}

rocksdb::Options DatabaseOptions(rocksdb::Env* env) {
  rocksdb::Options options;
  options.env = env;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.disable_auto_compactions = true;
  options.enable_blob_files = true;
  options.min_blob_size = 500;
  options.delete_obsolete_files_period_micros = 0;
  // Slow enough that what is deleted stays there as .trash.
  options.sst_file_manager.reset(rocksdb::NewSstFileManager(env, nullptr, "", 1024));
  options.sst_file_manager->SetDeleteRateBytesPerSecond(1024);
  return options;
}

void Put(rocksdb::DB& db, long from, long to) {
  for (long i = from; i < to; ++i) Must(db.Put({}, FlushedKey(i), FlushedValue(i)), "Put");
}

void WriteExternalTable(const rocksdb::Options& options, const std::string& path) {
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options);
  Must(writer.Open(path), "opening an external table");
  for (long i = 0; i < 3000; ++i) Must(writer.Put(FlushedKey(i), FlushedValue(i)), "putting into it");
  Must(writer.Finish(), "finishing it");
}

void WriteDatabase(rocksdb::Env* env, const std::string& root) {
  const rocksdb::Options options = DatabaseOptions(env);
  rocksdb::DB* db = nullptr;
  Must(rocksdb::DB::Open(options, root + "/db", &db), "opening the database");
  std::unique_ptr<rocksdb::TraceWriter> trace;
  Must(rocksdb::NewFileTraceWriter(env, rocksdb::EnvOptions(), root + "/trace", &trace), "making a trace");
  Must(db->StartTrace(rocksdb::TraceOptions(), std::move(trace)), "StartTrace");
  Must(rocksdb::NewFileTraceWriter(env, rocksdb::EnvOptions(), root + "/block_cache_trace", &trace),
       "making a trace");
  Must(db->StartBlockCacheTrace(rocksdb::TraceOptions(), std::move(trace)), "StartBlockCacheTrace");
  Put(*db, 0, 2000);
  Must(db->Flush(rocksdb::FlushOptions()), "flushing a memtable");
  Put(*db, 1000, 4000);
  Must(db->Flush(rocksdb::FlushOptions()), "flushing a memtable");
  std::string value;
  for (long i = 0; i < 4000; ++i) Must(db->Get({}, FlushedKey(i), &value), "Get");
  Must(db->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr), "compacting");
  WriteExternalTable(options, root + "/external.sst");
  rocksdb::BackupEngine* backup = nullptr;
  rocksdb::BackupEngineOptions backup_options(root + "/backup", env);
  backup_options.sync = false;
  Must(rocksdb::BackupEngine::Open(env, backup_options, &backup), "opening the backup");
  Must(backup->CreateNewBackup(db, true), "CreateNewBackup");
  rocksdb::Checkpoint* checkpoint = nullptr;
  Must(rocksdb::Checkpoint::Create(db, &checkpoint), "making a checkpoint");
  Must(checkpoint->CreateCheckpoint(root + "/checkpoint"), "CreateCheckpoint");
  Put(*db, 4000, kFlushedKeys);
  kill(getpid(), SIGKILL);
}

int Run(const std::string& uri, const std::string& root, const std::string& what) {
  rocksdb::Env* env = rocksdb::Env::Default();
  std::shared_ptr<rocksdb::Env> guard;
  if (uri != "posix")
    Must(rocksdb::Env::CreateFromUri(rocksdb::ConfigOptions(), "", uri, &env, &guard), "opening");
  Must(env->CreateDirIfMissing(root), "making a directory");
  if (what == "files") {
    WriteFiles(*env->GetFileSystem(), root);
  } else {
    WriteDatabase(env, root);
  }
  return 1;
}

}  // namespace
}  // namespace zenfs

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  return zenfs::Run(argv[1], argv[2], argv[3]);
}
