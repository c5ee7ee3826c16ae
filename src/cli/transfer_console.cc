#include "cli/transfer_console.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/short_bytes.h"

namespace zenfs {

void TransferConsole::OnPath(const std::string& path) {
  if (!json_) console_.Print(Printable(path) + "\n");
}

void TransferConsole::OnNotice(const std::string& line) {
  console_.PrintError(fmt::format("zenfs {}: {}", verb_, Printable(line)));
}

void TransferConsole::OnProgress(std::uint64_t done, std::uint64_t of) {
  if (of == 0) return;
  const double rate = static_cast<double>(done) / std::max(Seconds(), 1e-3);
  const std::string left =
      done == 0 ? "" : fmt::format(", {:.0f} s left", static_cast<double>(of - std::min(done, of)) / rate);
  console_.Progress(
      fmt::format("{} {} of {}, {}/s{}", verb_, ShortBytes(done), ShortBytes(of), ShortBytes(rate), left),
      done, of);
}

void TransferConsole::Summarize(Json counts, const std::string& text) {
  constexpr double kMegabyte = 1 << 20;
  const double seconds = Seconds();
  const double rate = counts["bytes"].get<double>() / std::max(seconds, 1e-3);
  if (json_) {
    counts["seconds"] = seconds;
    counts["megabytes_per_second"] = rate / kMegabyte;
    console_.PrintJson(counts);
  } else {
    console_.Print(fmt::format("{}, {:.1f} s, {}/s\n", text, seconds, ShortBytes(rate)));
  }
}

double TransferConsole::Seconds() const {
  return std::chrono::duration<double>(SteadyNow() - start_).count();
}

}  // namespace zenfs
