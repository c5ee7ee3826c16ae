#include "cli/scrub_result.h"

#include <fmt/format.h>

#include "base/host_directory.h"
#include "base/output_file.h"
#include "cli/json.h"

namespace zenfs {
namespace {

std::string NameOf(const std::string& uuid) { return uuid + ".json"; }

std::optional<ScrubResult> Parse(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto ended = json.find("ended");
  const auto errors = json.find("errors");
  if (ended == json.end() || errors == json.end()) return std::nullopt;
  if (!ended->is_number_unsigned() || !errors->is_number_unsigned()) return std::nullopt;
  return ScrubResult{.ended = *ended, .errors = *errors};
}

}  // namespace

Status WriteScrubResult(const std::string& directory, const std::string& uuid, const ScrubResult& result) {
  constexpr mode_t kMode = 0666;  // as the umask allows it
  ZENFS_ASSIGN_OR_RETURN(NewOutput file,
                         NewOutput::Begin(directory + "/" + NameOf(uuid), NewOutput::Place::kReplace, kMode));
  const std::string text = Json{{"ended", result.ended}, {"errors", result.errors}}.dump() + "\n";
  ZENFS_RETURN_IF_ERROR(file.Append(AsBytes(text)));
  return file.Publish();
}

Result<std::optional<ScrubResult>> ReadScrubResult(const std::string& directory, const std::string& uuid) {
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory opened, HostDirectory::Open(directory));
  const Result<HostFile> file = opened.OpenForRead(NameOf(uuid));
  if (!file && file.error().code() == Code::kNotFound) return std::optional<ScrubResult>();
  if (!file) return Fail(file.error());
  std::array<std::byte, 256> bytes;  // more than any result has
  ZENFS_ASSIGN_OR_RETURN(const std::size_t length, file->Read(0, ByteSpan(bytes)));
  const auto result = Parse({reinterpret_cast<const char*>(bytes.data()), length});
  if (result) return result;
  return Fail(Error(Code::kInvalidArgument, fmt::format("{} is not the result of a scrub", file->path()))
                  .Advise("remove it; the next zenfs scrub writes another"));
}

}  // namespace zenfs
