// Lists of edits: decoded, applied commit by commit, and described again. The input is a sequence
// of commits: a length (two bytes) and a list as in the metadata log.
#include "format/edit_codec.h"
#include "format/metalog_payload.h"
#include "input.h"
#include "metalog/replica.h"
#include "model/state.h"
#include "state_checks.h"

namespace zenfs {
namespace {

constexpr std::size_t kMaxCommits = 64;

void CheckCodec(const std::vector<Edit>& edits) {
  std::string encoded;
  EncodeEdits(edits, encoded);
  const auto again = DecodeEdits(AsBytes(encoded));
  Require(again.has_value() && *again == edits, "a list of edits survives being written");
  for (const Edit& edit : edits) static_cast<void>(EditText(edit));
}

// Checks a snapshot of the state, as the next log switch would write it and the next mount read it.
void CheckDescription(const State& state) {
  State rebuilt;
  std::string why;
  state.Describe([&](std::vector<Edit> edits) {
    std::string encoded;
    EncodeEdits(edits, encoded);
    const auto decoded = DecodeEdits(AsBytes(encoded));
    if (!decoded) why = decoded.error().ToString();
    const Status applied = decoded ? rebuilt.Apply(*decoded) : Status();
    if (!applied.ok() && why.empty()) why = applied.error().ToString();
  });
  Require(why.empty(), "a snapshot can be read: " + why);
  Require(rebuilt == state, "a snapshot rebuilds its state");
}

}  // namespace
}  // namespace zenfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zenfs;
  FuzzInput input(std::as_bytes(std::span(data, size)));
  State state;
  Footprint footprint(state);
  std::size_t commits = 0;
  while (!input.AtEnd() && commits < kMaxCommits) {
    const ByteView bytes = input.Bytes(input.Take<std::uint16_t>());
    static_cast<void>(DecodeCommit(bytes, [](EditListReader& list) {
                        for (auto next = list.Next(); next && *next != nullptr;) next = list.Next();
                        return Status();
                      }).ok());
    const auto edits = DecodeEdits(bytes);
    if (!edits) continue;
    CheckCodec(*edits);
    State next = state;
    Effects effects;
    if (!next.Apply(*edits, &effects).ok()) continue;
    footprint.Apply(*edits, effects, next);
    static_cast<void>(GrowthOf(*edits));
    state = std::move(next);
    ++commits;
  }
  if (commits == 0) return 0;
  CheckInvariants(state);
  CheckDescription(state);
  Require(footprint.bytes() >= Footprint(state).bytes(), "the footprint is an upper bound");
  return 0;
}
