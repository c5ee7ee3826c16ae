// Shows copies between a volume and the host: the path of each file on standard output, notices and progress on standard error, and one
// line with totals at the end.
//
// Threads: one.
#pragma once

#include <string>

#include "backup/transfer.h"
#include "base/clock.h"
#include "cli/console.h"

namespace zenfs {

class TransferConsole : public TransferObserver {
 public:
  // Notices and progress begin with `verb`. With `json`, paths are not printed.
  TransferConsole(Console& console, std::string verb, bool json)
      : console_(console), verb_(std::move(verb)), json_(json) {}

  void OnPath(const std::string& path) override;
  void OnNotice(const std::string& line) override;
  void OnProgress(std::uint64_t done, std::uint64_t of) override;

  // Prints `counts` (with files and bytes) with seconds and a rate: as JSON, or as "`text`, 1.2 s, 345 MiB/s".
  void Summarize(Json counts, const std::string& text);

 private:
  double Seconds() const;

  Console& console_;
  const std::string verb_;
  const bool json_;
  const SteadyTime start_ = SteadyNow();
};

}  // namespace zenfs
