// A trace that the mount option `trace_file` recorded (docs/formats/trace.md), as a stream of events.
//
// Each mount begins with a header and the files that it found. For files that an earlier mount recorded, these become
// nothing or a growth; files that the mount did not find are deleted. So a crash between two mounts leaves no wrong file.
// A line that a crash cut off is ignored: the last line, and the line before a header.
#pragma once

#include <cstddef>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "trace_source.h"

namespace zenfs::space {

class RecordedTrace final : public TraceSource {
 public:
  // `scale` multiplies all sizes of files. Errors: kNotFound; kNotSupported for another version; kCorruption.
  [[nodiscard]] static Result<std::unique_ptr<RecordedTrace>> Open(const std::string& path,
                                                                   std::uint64_t scale = 1);

  // The device of the first mount.
  const TraceDevice& device() const { return device_; }

  [[nodiscard]] Result<std::optional<TraceEvent>> Next() override;

 private:
  struct File {
    std::uint64_t size = 0;  // scaled
    bool found = true;       // by the present mount
  };
  RecordedTrace(std::string path, std::uint64_t scale)
      : path_(std::move(path)), file_(path_), scale_(scale) {}

  bool ReadLine();
  [[nodiscard]] Status TakeLine();
  [[nodiscard]] Status TakeHeader();
  [[nodiscard]] Status TakeEvent(TraceEvent event);
  void TakeFound(const TraceEvent& event);
  void DeleteFilesNotFound(const TraceEvent& begin);
  [[nodiscard]] std::unexpected<Error> Damaged(std::string_view why) const;

  const std::string path_;
  std::ifstream file_;
  const std::uint64_t scale_;
  TraceDevice device_;
  std::map<FileId, File> files_;
  std::deque<TraceEvent> events_;  // read and not returned yet
  std::string line_;
  bool whole_ = false;  // line_ had an end
  std::size_t number_ = 0;
  bool begun_ = false;          // the present mount has named all files that it found
  std::uint64_t begin_ms_ = 0;  // of the present mount, since the first one
  std::uint64_t last_ms_ = 0;
};

}  // namespace zenfs::space
