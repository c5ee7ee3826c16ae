// Shared by tests in which somebody else changes the directory of a backup: files of the same names
// outside of it, which must stay unchanged.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <string>

#include "backup/backup_test_rig.h"
#include "base/crc32c.h"

namespace zenfs {

class HostileDirectoryTest : public BackupTest {
 protected:
  // Creates the volume's files with other contents, and the files that a backup creates for itself.
  void MakeOutside() {
    for (const auto& [path, content] : Contents()) PutHost(Outside(path), "outside " + path);
    PutHost(Outside("0"), "outside 0");
    PutHost(Outside("manifest"), "outside manifest");
    before_ = OutsideFiles();
  }
  std::string Outside(const std::string& below = "") const { return directory_.File("outside/" + below); }
  std::map<std::string, std::string> OutsideFiles() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(Outside())) {
      found[entry.path().string()] = entry.is_regular_file() ? Short(HostText(entry.path())) : "a directory";
    }
    return found;
  }
  // Shortens a text for a readable failure.
  static std::string Short(const std::string& text) {
    if (text.size() < 100) return text;
    return std::to_string(text.size()) + " bytes with CRC " + std::to_string(Crc32c(AsBytes(text)));
  }
  void ExpectOutsideIsUntouched() const { EXPECT_EQ(OutsideFiles(), before_); }
  // Replaces `below` by a link to the entry of the same name outside.
  void Divert(const std::string& below) {
    std::filesystem::remove_all(Dest(below));
    std::filesystem::create_symlink(Outside(below), Dest(below));
  }
  void LoseTheEndLine() {
    const std::string path = Dest(std::string(kManifestFile));
    std::string text = HostText(path);
    text.erase(text.rfind("{\"type\":\"end\""));
    PutHost(path, text);
  }

  std::map<std::string, std::string> before_;
};

}  // namespace zenfs
