#include "option_kill_database.h"

#include "rocksdb/convenience.h"

namespace zenfs {
rocksdb::Status OptionKillDatabase::Open(const OptionKillCase& kill_case, const std::string& place,
                                         std::unique_ptr<OptionKillDatabase>* result) {
  std::unique_ptr<OptionKillDatabase> made(new OptionKillDatabase);
  rocksdb::Env* env = rocksdb::Env::Default();
  std::string root = place;
  if (place.find("://") != std::string::npos) {
    root = "/root";
    const rocksdb::Status status =
        rocksdb::Env::CreateFromUri(rocksdb::ConfigOptions(), "", place, &env, &made->env_);
    if (!status.ok()) return status;
  }
  const rocksdb::Status directory = env->CreateDirIfMissing(root);
  if (!directory.ok()) return directory;
  const rocksdb::Options options = OptionsOf(kill_case, env, root);
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors = {{rocksdb::kDefaultColumnFamilyName, options}};
  for (int i = 1; i < kill_case.families; ++i)
    descriptors.emplace_back("family" + std::to_string(i), options);
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(options, root + "/db", descriptors, &made->families_, &db);
  if (!status.ok()) return status;
  made->db_.reset(db);
  *result = std::move(made);
  return status;
}

OptionKillDatabase::~OptionKillDatabase() {
  for (rocksdb::ColumnFamilyHandle* family : families_) db_->DestroyColumnFamilyHandle(family);
}

rocksdb::Status OptionKillDatabase::LastOf(int thread, long* last) {
  std::string value;
  const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), CounterKey(thread), &value);
  *last = status.ok() ? CounterValue(value) : 0;
  return status.IsNotFound() ? rocksdb::Status::OK() : status;
}

rocksdb::Status OptionKillDatabase::ReadAll(OptionKillContent* content) {
  for (std::size_t i = 0; i < families_.size(); ++i) {
    const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(rocksdb::ReadOptions(), families_[i]));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      (*content)[{static_cast<int>(i), it->key().ToString()}] = it->value().ToString();
    }
    if (!it->status().ok()) return it->status();
  }
  return rocksdb::Status::OK();
}

}  // namespace zenfs
