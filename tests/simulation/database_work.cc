#include "database_work.h"

#include <fmt/format.h>

namespace zenfs {
namespace {

constexpr std::size_t kTablesMax = 5;
constexpr std::size_t kWalBytesMax = 12000;
constexpr std::size_t kBlobBytesMax = 40000;
constexpr std::size_t kArchivedMax = 6;  // logs

}  // namespace

DatabaseWork::DatabaseWork(Client& client, const std::string& root)
    : client_(client), root_(root), archives_(client.random().OneIn(2)) {
  for (const auto& [path, file] : client.model().Live()) {
    if (file != nullptr && path.starts_with(ArchiveRoot())) archived_.push_back(path);
    if (file == nullptr || path.rfind('/') != root.size())
      continue;  // directories, and files in the checkpoint or the archive
    const std::size_t digits = path.find_first_of("0123456789", root.size());  // 000012.log, MANIFEST-000013
    const std::uint64_t number = digits == path.npos ? 0 : std::strtoull(path.c_str() + digits, nullptr, 10);
    next_number_ = std::max(next_number_, number + 1);
    if (path.ends_with(".sst")) {
      tables_.push_back(path);
    } else if (!path.ends_with("CURRENT")) {
      old_.push_back(path);
    }
  }
}

std::string DatabaseWork::Name(std::uint64_t number, const char* suffix) const {
  return fmt::format("{}/{:06}{}", root_, number, suffix);
}

void DatabaseWork::Step() {
  if (client_.failed()) return;
  if (manifest_.empty()) return NewManifest();
  if (wal_.empty()) {
    wal_ = Name(next_number_++, ".log");
    client_.Create("wal", wal_);
    return;
  }
  if (client_.SizeOf("wal") > kWalBytesMax) return FlushMemtable();
  switch (client_.random().Below(31)) {
    case 0: return FlushMemtable();
    case 1: return Compact();
    case 2: return NewManifest();
    case 3: return client_.SyncDirectory(root_);
    case 4: return Checkpoint();
    case 5:
    case 6:
    case 7:
    case 8: return Read();
    case 9:
    case 10:
    case 11: return PutBlob();
    default: return Put();
  }
}

void DatabaseWork::Put() {
  client_.Append("wal", 20 + client_.random().Below(client_.random().OneIn(8) ? 5000 : 300));
  client_.Flush("wal");  // as RocksDB does after every record
  if (client_.random().OneIn(3)) client_.Sync("wal");
}

// Like the stacked BlobDB: a file that is not a log is flushed after every record.
void DatabaseWork::PutBlob() {
  if (blob_.empty()) {
    blob_ = Name(next_number_++, ".blob");
    client_.Create("blob", blob_);
  }
  client_.Append("blob", 30 + client_.random().Below(client_.random().OneIn(4) ? 9000 : 300));
  client_.Flush("blob");
  if (client_.failed() || client_.SizeOf("blob") < kBlobBytesMax) return;
  client_.Close("blob");
  old_.push_back(blob_);
  blob_.clear();
}

// Mostly reads a table; sometimes a log or the MANIFEST, as a secondary instance does.
void DatabaseWork::Read() {
  if (client_.random().OneIn(3)) return client_.Read(client_.random().OneIn(2) ? wal_ : manifest_);
  if (!tables_.empty()) client_.Read(tables_[client_.random().Below(tables_.size())]);
}

void DatabaseWork::Log(const std::string& path, std::size_t bytes) {
  client_.Append(path, bytes);
  client_.Sync(path);
}

void DatabaseWork::WriteTable() {
  const std::string table = Name(next_number_++, ".sst");
  client_.Create("table", table);
  const std::uint64_t pieces = 1 + client_.random().Below(4);
  for (std::uint64_t i = 0; i < pieces; ++i) client_.Append("table", 500 + client_.random().Below(9000));
  if (client_.random().OneIn(2)) client_.RewriteTail("table", 100);  // as a direct writer does
  client_.Flush("table");                                            // as RocksDB does before each sync
  client_.Sync("table");
  client_.Close("table");
  tables_.push_back(table);
}

// Archives a log that is no longer needed for a while, as with WAL_ttl_seconds, or deletes it.
// Archived logs leave live frames in zones beside dead frames.
void DatabaseWork::GiveUp(const std::string& wal) {
  if (!archives_) return client_.Unlink(wal);
  if (!client_.model().durable().contains(ArchiveRoot())) client_.MakeDirectory(ArchiveRoot());
  archived_.push_back(ArchiveRoot() + wal.substr(root_.size()));
  client_.Rename(wal, archived_.back());
  while (archived_.size() > kArchivedMax && !client_.failed()) {
    const auto which =
        archived_.begin() + static_cast<std::ptrdiff_t>(client_.random().Below(archived_.size()));
    client_.Unlink(*which);
    archived_.erase(which);
  }
}

// Closes the log only after the table and its record are durable.
void DatabaseWork::FlushMemtable() {
  const std::string next = Name(next_number_++, ".log");
  client_.Create("next", next);
  WriteTable();
  Log("manifest", 60 + client_.random().Below(100));
  client_.Close("wal");
  GiveUp(wal_);
  client_.Close("next");
  client_.Reopen("wal", next);
  wal_ = next;
  while (!old_.empty() && !client_.failed()) {
    client_.Unlink(old_.front());
    old_.pop_front();
  }
  if (tables_.size() > kTablesMax) Compact();
}

void DatabaseWork::Compact() {
  if (tables_.size() < 2) return;
  WriteTable();
  Log("manifest", 100 + client_.random().Below(200));
  for (int i = 0; i < 2 && !client_.failed(); ++i) {
    client_.Unlink(tables_.front());
    tables_.pop_front();
  }
}

void DatabaseWork::NewManifest() {
  const std::string next = fmt::format("{}/MANIFEST-{:06}", root_, next_number_++);
  const std::string temporary = Name(next_number_++, ".dbtmp");
  client_.Create("next-manifest", next);
  Log("next-manifest", 200 + client_.random().Below(2000));
  client_.WriteFile(temporary, 16);
  client_.Rename(temporary, root_ + "/CURRENT");
  client_.SyncDirectory(root_);
  if (!manifest_.empty()) {
    client_.Close("manifest");
    client_.Unlink(manifest_);
  }
  client_.Close("next-manifest");
  client_.Reopen("manifest", next);
  manifest_ = next;
}

// Makes hard links in a new directory, and later removes it.
void DatabaseWork::Checkpoint() {
  if (tables_.empty()) return;
  const std::string directory = root_ + "/checkpoint";
  const std::string link = directory + "/table.sst";
  if (!client_.model().durable().contains(directory)) client_.MakeDirectory(directory);
  if (client_.model().FindLive(link) != nullptr) {
    client_.Unlink(link);
    client_.RemoveDirectory(directory);
  } else {
    client_.Link(tables_.back(), link);
  }
}

}  // namespace zenfs
