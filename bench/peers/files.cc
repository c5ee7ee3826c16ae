// What db_bench does not do, for scripts/bench peers: many files, a full file system, a crash. On any file system that RocksDB
// can open.
//
//   files URI VERB FOLDER COUNT [ACKNOWLEDGED]
//
// URI is "posix" or zenfs://..., FOLDER a path of that file system.
//
//   list        opens the file system and lists FOLDER
//   small       writes COUNT files of 4 KiB, each synced
//   many        the same by sixteen threads, none synced
//   large       writes COUNT files of 4 MiB, each synced
//   full        the same until there is no room
//   tables      writes COUNT tables of 100 keys
//   ingest      moves these tables into a new database, a hundred at a time
//   checkpoint  makes a checkpoint of that database
//   delete      deletes the checkpoint and the database
//   load        writes to two databases until the machine is reset: every write synced, and none synced
//   verify      counts which of these writes are lost
//
// Results are printed as db_bench does, with exact percentiles. ACKNOWLEDGED is a file outside of the guest: how many writes of
// both databases have returned, as two numbers of eight bytes.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/system_clock.h"
#include "rocksdb/utilities/checkpoint.h"

namespace {

constexpr std::uint64_t kSmallFile = 4 << 10;
constexpr std::uint64_t kLargeFile = 4 << 20;
constexpr int kKeysOfTable = 100;
constexpr int kTablesAtOnce = 100;
constexpr std::uint64_t kThreadsOfMany = 16;
constexpr int kUnsyncedPauseMicros = 1000;

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "files: %s\n", what.c_str());
  std::fflush(stderr);
  std::_Exit(1);
}

void OkOrDie(const rocksdb::Status& status, const char* what) {
  if (!status.ok()) Die(std::string(what) + ": " + status.ToString());
}

std::uint64_t NowMicros() { return rocksdb::SystemClock::Default()->NowMicros(); }

// Times of single operations.
class Times {
 public:
  void Start() { started_ = NowMicros(); }
  void End() { micros_.push_back(NowMicros() - started_); }

  void Add(const Times& others) {
    micros_.insert(micros_.end(), others.micros_.begin(), others.micros_.end());
  }
  std::uint64_t Sum() const { return std::accumulate(micros_.begin(), micros_.end(), std::uint64_t{0}); }

  // `operations`: if one time is that of several. `elapsed`: microseconds, if several operations ran at a time.
  void Print(const char* name, std::uint64_t operations = 0, std::uint64_t elapsed = 0) {
    if (micros_.empty()) Die(std::string(name) + ": not one operation");
    std::sort(micros_.begin(), micros_.end());
    const std::uint64_t sum = Sum();
    if (operations == 0) operations = micros_.size();
    if (elapsed == 0) elapsed = sum;
    const double seconds = std::max<double>(1, static_cast<double>(elapsed)) / 1e6;
    const double count = static_cast<double>(operations);
    std::printf("%-12s : %11.3f micros/op %.0f ops/sec %.3f seconds %llu operations;\n", name,
                seconds * 1e6 / count, count / seconds, seconds, static_cast<unsigned long long>(operations));
    std::printf(
        "Microseconds per write:\nCount: %zu Average: %.4f  StdDev: 0\nMin: %llu  Median: %.4f  Max: %llu\n",
        micros_.size(), static_cast<double>(sum) / static_cast<double>(micros_.size()),
        static_cast<unsigned long long>(micros_.front()), At(50),
        static_cast<unsigned long long>(micros_.back()));
    std::printf("Percentiles: P50: %.2f P99: %.2f P99.9: %.2f P99.99: %.2f\n", At(50), At(99), At(99.9),
                At(99.99));
    std::fflush(stdout);
  }

 private:
  double At(double percent) const {
    const auto place = static_cast<std::size_t>(percent / 100 * static_cast<double>(micros_.size()));
    return static_cast<double>(micros_[std::min(place, micros_.size() - 1)]);
  }

  std::uint64_t started_ = 0;
  std::vector<std::uint64_t> micros_;
};

std::string Numbered(const char* prefix, std::uint64_t number) {
  char text[64];
  std::snprintf(text, sizeof text, "%s%010llu", prefix, static_cast<unsigned long long>(number));
  return text;
}

// A value that only this key has.
std::string ValueOf(std::uint64_t number) {
  const std::string one = Numbered("value", number);
  std::string value;
  value.reserve(kSmallFile);
  while (value.size() < 800) value += one;
  return value;
}

class Program {
 public:
  Program(const char* uri, std::string folder, std::uint64_t count, const char* acknowledged)
      : env_(rocksdb::Env::Default()),
        folder_(std::move(folder)),
        count_(count),
        acknowledged_(acknowledged) {
    if (std::string(uri) != "posix") {
      OkOrDie(rocksdb::Env::CreateFromUri(rocksdb::ConfigOptions(), "", uri, &env_, &guard_), "open");
    }
  }

  void List() {
    Times times;
    std::vector<std::string> names;
    times.Start();
    OkOrDie(env_->GetChildren(folder_, &names), "list");
    times.End();
    times.Print("list", std::max<std::size_t>(1, names.size()));
  }

  void Small() { WriteFiles("small", kSmallFile); }

  // Their files commit together, where a file is committed.
  void Many() {
    MakeFolder();
    std::vector<Share> shares;
    for (std::uint64_t first = 0; first < kThreadsOfMany; ++first) shares.push_back({this, first, {}});
    Times whole;
    whole.Start();
    for (Share& share : shares) {
      rocksdb::Env::Default()->StartThread([](void* mine) { static_cast<Share*>(mine)->Write(); }, &share);
    }
    rocksdb::Env::Default()->WaitForJoin();
    whole.End();
    Times all;
    for (const Share& share : shares) all.Add(share.times);
    all.Print("many", 0, whole.Sum());
  }
  void Large() { WriteFiles("large", kLargeFile); }

  void Full() {
    MakeFolder();
    Times times;
    rocksdb::Status status;
    for (std::uint64_t number = 0; status.ok(); ++number) {
      times.Start();
      status = WriteFile(number, kLargeFile);
      if (status.ok()) times.End();
    }
    times.Print("full");
    std::printf("full ended with %s\n", status.ToString().c_str());
  }

  void Tables() {
    MakeFolder();
    Times times;
    for (std::uint64_t number = 0; number < count_; ++number) {
      times.Start();
      rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), Options());
      OkOrDie(writer.Open(PathOf(number)), "open a table");
      for (int i = 0; i < kKeysOfTable; ++i) {
        const std::uint64_t key = number * kKeysOfTable + static_cast<std::uint64_t>(i);
        OkOrDie(writer.Put(Numbered("key", key), ValueOf(key)), "put");
      }
      OkOrDie(writer.Finish(), "finish a table");
      times.End();
    }
    times.Print("tables");
  }

  void Ingest() {
    const std::unique_ptr<rocksdb::DB> database = Open("/database");
    rocksdb::IngestExternalFileOptions options;
    options.move_files = true;
    Times times;
    for (std::uint64_t first = 0; first < count_; first += kTablesAtOnce) {
      std::vector<std::string> paths;
      for (std::uint64_t number = first; number < std::min(first + kTablesAtOnce, count_); ++number) {
        paths.push_back(PathOf(number));
      }
      times.Start();
      OkOrDie(database->IngestExternalFile(paths, options), "ingest");
      times.End();
    }
    times.Print("ingest", count_);
  }

  void Checkpoint() {
    const std::unique_ptr<rocksdb::DB> database = Open("/database");
    rocksdb::Checkpoint* made = nullptr;
    OkOrDie(rocksdb::Checkpoint::Create(database.get(), &made), "checkpoint");
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
    Times times;
    times.Start();
    OkOrDie(checkpoint->CreateCheckpoint(folder_ + "/checkpoint"), "checkpoint");
    times.End();
    times.Print("checkpoint", count_);
  }

  void Delete() {
    Times times;
    times.Start();
    for (const char* name : {"/checkpoint", "/database"}) {
      OkOrDie(rocksdb::DestroyDB(folder_ + name, Options()), "destroy");
    }
    times.End();
    times.Print("delete", 2 * count_);
  }

  // Both threads end with the machine.
  void Load() {
    MakeFolder();
    synced_ = Open("/synced");
    unsynced_ = Open("/unsynced");
    file_ = open(acknowledged_, O_CREAT | O_WRONLY, 0644);
    if (file_ < 0) Die("no file of acknowledgements");
    rocksdb::Env::Default()->StartThread([](void* self) { static_cast<Program*>(self)->Write(false); }, this);
    Write(true);
  }

  void Verify() {
    std::uint64_t acknowledged[2] = {};
    const int file = open(acknowledged_, O_RDONLY);
    if (file < 0 || pread(file, acknowledged, sizeof acknowledged, 0) != sizeof acknowledged) {
      Die("no acknowledgements");
    }
    close(file);
    Lost("synced", acknowledged[0]);
    Lost("unsynced", acknowledged[1]);
  }

 private:
  // The files of one of several threads.
  struct Share {
    void Write() {
      for (std::uint64_t number = first; number < program->count_; number += kThreadsOfMany) {
        times.Start();
        OkOrDie(program->WriteFile(number, kSmallFile, false), "write");
        times.End();
      }
    }

    const Program* program;
    std::uint64_t first;
    Times times;
  };

  rocksdb::Options Options() const {
    rocksdb::Options options;
    options.env = env_;
    options.create_if_missing = true;
    options.compression = rocksdb::kNoCompression;
    options.max_open_files = -1;
    return options;
  }

  std::string PathOf(std::uint64_t number) const { return folder_ + Numbered("/f", number); }

  void MakeFolder() const { OkOrDie(env_->CreateDirIfMissing(folder_), "make the folder"); }

  std::unique_ptr<rocksdb::DB> Open(const char* name) const {
    std::unique_ptr<rocksdb::DB> database;
#if ROCKSDB_MAJOR >= 10
    OkOrDie(rocksdb::DB::Open(Options(), folder_ + name, &database), "open the database");
#else
    rocksdb::DB* opened = nullptr;
    OkOrDie(rocksdb::DB::Open(Options(), folder_ + name, &opened), "open the database");
    database.reset(opened);
#endif
    return database;
  }

  void WriteFiles(const char* name, std::uint64_t bytes) const {
    MakeFolder();
    Times times;
    for (std::uint64_t number = 0; number < count_; ++number) {
      times.Start();
      OkOrDie(WriteFile(number, bytes), "write");
      times.End();
    }
    times.Print(name);
  }

  rocksdb::Status WriteFile(std::uint64_t number, std::uint64_t bytes, bool synced = true) const {
    std::unique_ptr<rocksdb::WritableFile> file;
    rocksdb::Status status = env_->NewWritableFile(PathOf(number), &file, rocksdb::EnvOptions());
    if (!status.ok()) return status;
    std::string block = ValueOf(number);
    block.resize(kSmallFile, 'x');
    for (std::uint64_t at = 0; at < bytes && status.ok(); at += kSmallFile) status = file->Append(block);
    if (status.ok() && synced) status = file->Sync();
    const rocksdb::Status closed = file->Close();
    return status.ok() ? closed : status;
  }

  void Write(bool synced) {
    rocksdb::DB& database = synced ? *synced_ : *unsynced_;
    rocksdb::WriteOptions options;
    options.sync = synced;
    for (std::uint64_t number = 0;; ++number) {
      OkOrDie(database.Put(options, Numbered("key", number), ValueOf(number)), "put");
      const std::uint64_t done = number + 1;
      if (pwrite(file_, &done, sizeof done, synced ? 0 : sizeof done) != sizeof done)
        Die("no acknowledgement");
      if (!synced) rocksdb::SystemClock::Default()->SleepForMicroseconds(kUnsyncedPauseMicros);
    }
  }

  void Lost(const char* name, std::uint64_t acknowledged) const {
    const std::unique_ptr<rocksdb::DB> database = Open((std::string("/") + name).c_str());
    std::uint64_t lost = 0;
    for (std::uint64_t number = 0; number < acknowledged; ++number) {
      std::string value;
      const rocksdb::Status status = database->Get(rocksdb::ReadOptions(), Numbered("key", number), &value);
      if (!status.ok() && !status.IsNotFound()) Die("get: " + status.ToString());
      lost += !status.ok() || value != ValueOf(number);
    }
    std::printf("%s: acknowledged %llu lost %llu\n", name, static_cast<unsigned long long>(acknowledged),
                static_cast<unsigned long long>(lost));
  }

  rocksdb::Env* env_;
  std::shared_ptr<rocksdb::Env> guard_;
  const std::string folder_;
  const std::uint64_t count_;
  const char* const acknowledged_;
  std::unique_ptr<rocksdb::DB> synced_, unsynced_;
  int file_ = -1;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) Die("usage: files URI VERB FOLDER COUNT [ACKNOWLEDGED]");
  const std::string verb = argv[2];
  Times opening;
  opening.Start();
  Program program(argv[1], argv[3], std::strtoull(argv[4], nullptr, 10), argc > 5 ? argv[5] : "");
  opening.End();
  opening.Print("open");
  const struct {
    const char* name;
    void (Program::*run)();
  } verbs[] = {{"list", &Program::List},     {"small", &Program::Small},
               {"many", &Program::Many},     {"large", &Program::Large},
               {"full", &Program::Full},     {"tables", &Program::Tables},
               {"ingest", &Program::Ingest}, {"checkpoint", &Program::Checkpoint},
               {"delete", &Program::Delete}, {"load", &Program::Load},
               {"verify", &Program::Verify}};
  for (const auto& one : verbs) {
    if (verb == one.name) {
      (program.*one.run)();
      return 0;
    }
  }
  Die("no verb " + verb);
}
