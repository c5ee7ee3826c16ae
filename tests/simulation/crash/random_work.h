// Random work of one client.
#pragma once

#include <string>

#include "client.h"

namespace zenfs {

// Makes one call after the other on files and names under `root`. The client's random numbers and
// the existing files determine the next call. At most a few hundred KiB are live at a time, so that
// any of DeviceShapes() has room for three such clients.
class RandomWork {
 public:
  // `client` must outlive it. `plain`: what is done with files that are no logs.
  enum class Plain {
    kAll,
    kNoTruncation,
    kFlushAndTruncate,  // often, one after the other
  };
  RandomWork(Client& client, const std::string& root, Plain plain = Plain::kAll)
      : client_(client), root_(root), plain_(plain) {}

  void Step();

 private:
  std::string Name();
  std::string Handle();
  bool IsFile(const std::string& path) const { return client_.model().FindLive(path) != nullptr; }
  template <typename Body>
  void OnHandle(const Body& body);

  void CreateOne();
  void ReopenOne();
  void Write(const std::string& handle);
  void Truncate(const std::string& handle);
  void FlushAndTruncate(const std::string& handle);
  void ReadOne();
  void UnlinkOne();
  void RenameOne();
  void LinkOne();
  void Directories();

  Client& client_;
  const std::string root_;
  const Plain plain_;
};

// Up to `steps` steps, until the client fails.
void WorkAtRandom(Client& client, const std::string& root, int steps);

}  // namespace zenfs
