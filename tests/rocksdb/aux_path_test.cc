// A volume whose LOG and LOCK are kept in a directory of the host (mkfs --aux_path).
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aux_path_rig.h"
#include "volume/aux_directory/aux_directory.h"

namespace zenfs {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

// What another process is told that wants the lock on the file.
bool AnotherProcessGetsLock(const std::string& path) {
  const pid_t child = fork();
  if (child == 0) {
    struct flock lock{};
    lock.l_type = F_WRLCK;
    const int fd = open(path.c_str(), O_RDWR);
    _exit(fd >= 0 && fcntl(fd, F_SETLK, &lock) == 0 ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(AuxPath, DatabaseKeepsLogAndLockOnTheHostAndAllElseInTheVolume) {
  OpenDb();
  ASSERT_STATUS_OK(db->Put(rocksdb::WriteOptions(), "key", "value"));
  EXPECT_THAT(OnHost("/a/db/LOG"), HasSubstr("RocksDB version"));
  EXPECT_THAT(HostNames("/a/db"), UnorderedElementsAre("LOG", "LOCK"));
  EXPECT_THAT(Children("/a/db"), Contains("LOG"));
  EXPECT_THAT(Children("/a/db"), Contains("LOCK"));
  EXPECT_THAT(Children("/a/db"), Contains("CURRENT"));
  std::vector<rocksdb::FileAttributes> attributes;
  ASSERT_STATUS_OK(fs->GetChildrenFileAttributes("/a/db", kIo, &attributes, nullptr));
  std::uint64_t size = 0;
  ASSERT_STATUS_OK(fs->GetFileSize("/a/db/LOG", kIo, &size, nullptr));
  EXPECT_EQ(size, std::filesystem::file_size(aux + "/a/db/LOG"));
  EXPECT_EQ(attributes.size(), Children("/a/db").size());
}

TEST_F(AuxPath, DatabaseIsReopenedAndItsLogRotated) {
  OpenDb();
  ASSERT_STATUS_OK(db->Put(rocksdb::WriteOptions(), "key", "value"));
  for (int round = 0; round < 3; ++round) {
    Unmount();
    Mount();
    rocksdb::Options options = Options();
    options.keep_log_file_num = 2;
    ASSERT_STATUS_OK(TryOpenDb(options));
    std::string value;
    ASSERT_STATUS_OK(db->Get(rocksdb::ReadOptions(), "key", &value));
    EXPECT_EQ(value, "value");
    EXPECT_THAT(Children("/a/db"), Contains(StartsWith("LOG.old.")));
  }
  // RocksDB found the old ones in the listing and deleted them.
  const auto names = HostNames("/a/db");
  EXPECT_EQ(std::ranges::count_if(names, [](const auto& name) { return name.starts_with("LOG"); }), 2);
}

TEST_F(AuxPath, LockExcludesThisAndOtherProcesses) {
  OpenDb();
  EXPECT_FALSE(AnotherProcessGetsLock(aux + "/a/db/LOCK"));
  rocksdb::DB* second = nullptr;
  const rocksdb::Status refused = rocksdb::DB::Open(Options(), "/a/db", &second);
  EXPECT_TRUE(refused.IsIOError());
  EXPECT_THAT(refused.ToString(), HasSubstr("lock is held by this process"));
  EXPECT_THAT(refused.ToString(), HasSubstr(aux + "/a/db/LOCK"));
  db.reset();
  EXPECT_TRUE(AnotherProcessGetsLock(aux + "/a/db/LOCK"));
}

TEST_F(AuxPath, LockOfAnotherNameIsTheVolumes) {
  rocksdb::FileLock* lock = nullptr;
  ASSERT_STATUS_OK(fs->LockFile("/other", kIo, &lock, nullptr));
  rocksdb::FileLock* again = nullptr;
  EXPECT_TRUE(fs->LockFile("/other", kIo, &again, nullptr).IsIOError());
  ASSERT_STATUS_OK(fs->UnlockFile(lock, kIo, nullptr));
  EXPECT_THAT(HostNames(""), IsEmpty());
}

TEST_F(AuxPath, DestroyedDatabaseLeavesNothingOnEitherSide) {
  OpenDb();
  db.reset();
  OpenDb();  // leaves a LOG.old
  db.reset();
  ASSERT_STATUS_OK(rocksdb::DestroyDB("/a/db", Options()));
  EXPECT_THAT(Children("/a"), IsEmpty());
  EXPECT_THAT(HostNames("/a"), IsEmpty());
  ASSERT_STATUS_OK(fs->DeleteDir("/a", kIo, nullptr));
  EXPECT_THAT(HostNames(""), IsEmpty());
}

// D16 of docs/internals/failures.md.
TEST_F(AuxPath, LostAuxDirectoryIsNamedWhenTheVolumeIsOpened) {
  OpenDb();
  Unmount();
  std::filesystem::remove_all(aux);
  std::shared_ptr<rocksdb::FileSystem> result;
  const rocksdb::Status refused = volume.TryOpen(volume.uri(consent), &result);
  EXPECT_FALSE(refused.ok());
  EXPECT_THAT(refused.ToString(), HasSubstr("aux directory " + aux));
  EXPECT_THAT(refused.ToString(), HasSubstr("No such file or directory"));
  rocksdb::Env* found = nullptr;
  std::shared_ptr<rocksdb::Env> guard;
  EXPECT_FALSE(
      rocksdb::Env::CreateFromUri(rocksdb::ConfigOptions(), volume.uri(consent), "", &found, &guard).ok());
  std::filesystem::create_directory(aux);  // an empty one will do
  Mount();
  OpenDb();
}

// D16 of docs/internals/failures.md.
TEST_F(AuxPath, AuxDirectoryLostWhileInUseIsAnErrorAndNeverAnEmptyListing) {
  OpenDb();
  db.reset();
  std::filesystem::rename(aux, aux + ".gone");
  std::vector<std::string> names;
  std::vector<rocksdb::FileAttributes> attributes;
  std::uint64_t number = 0;
  std::shared_ptr<rocksdb::Logger> logger;
  for (const IOStatus& status :
       {fs->GetChildren("/a/db", kIo, &names, nullptr),
        fs->GetChildrenFileAttributes("/a/db", kIo, &attributes, nullptr),
        fs->FileExists("/a/db/LOG", kIo, nullptr), fs->GetFileSize("/a/db/LOG", kIo, &number, nullptr),
        fs->GetFileModificationTime("/a/db/LOG", kIo, &number, nullptr),
        fs->DeleteFile("/a/db/LOG", kIo, nullptr), fs->NewLogger("/a/db/LOG", kIo, &logger, nullptr),
        fs->RenameFile("/a/db/LOG", "/a/db/LOG.old.1", kIo, nullptr),
        fs->RenameFile("/a/db", "/a/moved", kIo, nullptr), fs->DeleteDir("/a/db", kIo, nullptr)}) {
    EXPECT_TRUE(status.IsIOError()) << status.ToString();
    EXPECT_THAT(status.ToString(), HasSubstr("aux directory " + aux));
  }
  EXPECT_THAT(names, IsEmpty());
  const rocksdb::Status refused = TryOpenDb(Options());
  EXPECT_THAT(refused.ToString(), HasSubstr(aux));
  EXPECT_FALSE(std::filesystem::exists(aux)) << "it must not be made in passing";
  std::filesystem::rename(aux + ".gone", aux);
  OpenDb();
}

TEST_F(AuxPath, ImageFromElsewhereMakesNoFileOnThisHostUnasked) {
  Unmount();
  std::shared_ptr<rocksdb::FileSystem> result;
  const rocksdb::Status refused = volume.TryOpen(volume.uri(), &result);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.ToString(), HasSubstr("add aux_path:" + aux + " to the options of the URI"));
  EXPECT_THAT(HostNames(""), IsEmpty());
  const rocksdb::Status other = volume.TryOpen(volume.uri("aux_path:/elsewhere"), &result);
  EXPECT_THAT(other.ToString(), HasSubstr("is " + aux + ", not /elsewhere"));
  EXPECT_FALSE(volume.TryOpen(volume.uri("aux_path:relative"), &result).ok());
  EXPECT_FALSE(volume.TryOpen(volume.uri("ro"), &result).ok());
}

TEST_F(AuxPath, MarkerThatMkfsLeavesIsTheConsentForItsVolumeOnly) {
  Unmount();
  const Uuid uuid = Uuid::Generate();
  const Uuid secret = Uuid::Generate();
  auto marker = AuxMarker::Prepare(*HostDirectory::OpenTrusted(aux), uuid, secret);
  ASSERT_TRUE(marker.has_value());
  std::shared_ptr<rocksdb::FileSystem> result;
  ASSERT_TRUE(marker->Keep().ok());
  for (const Uuid& known : {Uuid::Generate(), Uuid()}) {  // an image that has copied the UUID
    volume.Format({.uuid = uuid, .aux_path = aux, .aux_secret = known, .force = true});
    const rocksdb::Status refused = volume.TryOpen(volume.uri(), &result);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.ToString(), HasSubstr("add aux_path:" + aux + " to the options of the URI"));
  }
  volume.Format({.uuid = uuid, .aux_path = aux, .aux_secret = secret, .force = true});
  ASSERT_STATUS_OK(volume.TryOpen(volume.uri(), &result));
  std::vector<std::string> names;
  ASSERT_STATUS_OK(result->GetChildren("/", kIo, &names, nullptr));
  EXPECT_THAT(names, IsEmpty());
  result.reset();
  volume.Format({.aux_path = aux, .force = true});  // another volume
  EXPECT_FALSE(volume.TryOpen(volume.uri(), &result).ok());
}

TEST_F(AuxPath, LinksAndPipesInItAreNotFollowed) {
  ASSERT_STATUS_OK(fs->CreateDir("/db", kIo, nullptr));
  ASSERT_STATUS_OK(fs->CreateDir("/pipe", kIo, nullptr));
  const std::string outside = volume.directory() + "/outside";
  std::filesystem::create_directories(outside);
  std::ofstream(outside + "/LOG") << "precious";
  for (const std::string link : {"/db", "/db/LOG"}) {
    std::filesystem::remove_all(aux + "/db");
    std::filesystem::create_directories(std::filesystem::path(aux + link).parent_path());
    std::filesystem::create_symlink(link == "/db" ? outside : outside + "/LOG", aux + link);
    std::unique_ptr<rocksdb::FSWritableFile> file;
    std::shared_ptr<rocksdb::Logger> logger;
    rocksdb::FileLock* lock = nullptr;
    for (const IOStatus& status :
         {fs->NewWritableFile("/db/LOG", FileOptions(), &file, nullptr),
          fs->NewLogger("/db/LOG", kIo, &logger, nullptr), fs->Truncate("/db/LOG", 0, kIo, nullptr)}) {
      EXPECT_TRUE(status.IsIOError());
      EXPECT_THAT(status.ToString(), HasSubstr(aux + link + " is a symbolic link"));
    }
    if (link == "/db") {
      EXPECT_TRUE(fs->DeleteFile("/db/LOG", kIo, nullptr).IsIOError());
      EXPECT_TRUE(fs->LockFile("/db/LOCK", kIo, &lock, nullptr).IsIOError());
      EXPECT_TRUE(fs->RenameFile("/db/LOG", "/db/LOG.old.1", kIo, nullptr).IsIOError());
    }
    EXPECT_THAT(ReadWhole(*fs, "/db/LOG"), Not(HasSubstr("precious")));
  }
  std::ifstream file(outside + "/LOG");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "precious");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(outside), {}), 1);
  std::filesystem::create_directory(aux + "/pipe");
  ASSERT_EQ(mkfifo((aux + "/pipe/LOG").c_str(), 0600), 0);
  EXPECT_THAT(ReadWhole(*fs, "/pipe/LOG"), HasSubstr("no regular file"));
}

TEST_F(AuxPath, DirectoryThatOthersMayWriteIsRefused) {
  Unmount();
  std::shared_ptr<rocksdb::FileSystem> result;
  std::filesystem::permissions(aux, std::filesystem::perms::all);
  EXPECT_THAT(volume.TryOpen(volume.uri(consent), &result).ToString(), HasSubstr("writable by all"));
  std::filesystem::permissions(aux, std::filesystem::perms::owner_all);
  std::filesystem::rename(aux, aux + ".there");
  std::filesystem::create_directory_symlink(aux + ".there", aux);
  EXPECT_THAT(volume.TryOpen(volume.uri(consent), &result).ToString(), HasSubstr("symbolic link"));
}

TEST_F(AuxPath, ReadOnlyMountReadsAndWritesNothing) {
  ASSERT_STATUS_OK(WriteWhole(*fs, "/LOG", "log"));
  Unmount();
  Mount("ro");
  EXPECT_EQ(ReadWhole(*fs, "/LOG"), "log");
  EXPECT_THAT(Children("/"), UnorderedElementsAre("LOG"));
  std::shared_ptr<rocksdb::Logger> logger;
  for (const IOStatus& status :
       {fs->NewLogger("/LOG", kIo, &logger, nullptr), fs->DeleteFile("/LOG", kIo, nullptr),
        fs->RenameFile("/LOG", "/LOG.old.1", kIo, nullptr)}) {
    EXPECT_THAT(status.ToString(), HasSubstr("read-only"));
  }
  EXPECT_EQ(OnHost("/LOG"), "log");
}

TEST_F(AuxPath, FileSystemIsFoundAgainByItsId) {
  EXPECT_STREQ(fs->Name(), "ZenFS");
  const std::string text = fs->ToString(rocksdb::ConfigOptions());
  EXPECT_THAT(text, Not(HasSubstr("target")));
  std::shared_ptr<rocksdb::FileSystem> again;
  ASSERT_STATUS_OK(rocksdb::FileSystem::CreateFromString(rocksdb::ConfigOptions(), text, &again));
  EXPECT_EQ(again->GetId(), fs->GetId());
}

}  // namespace
}  // namespace zenfs
