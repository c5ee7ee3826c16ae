#include "volume/scrub_metadata.h"

#include <fmt/format.h>

#include <algorithm>

#include "metalog/metazones.h"
#include "metalog/zone_survey.h"

namespace zenfs {
namespace {

class MetadataScrub {
 public:
  MetadataScrub(ScrubContext& context, bool replayed, std::uint64_t generation)
      : context_(context),
        layout_(context.device.geometry().block_size),
        replayed_(replayed),
        generation_(generation) {}

  void Zone(const ZoneSurvey& survey) {
    ++context_.out.superblocks;
    Superblock(survey);
    if (!survey.header) return NoHeader(survey);
    if (survey.header->generation < generation_) return Superseded(survey);
    context_.out.metadata_frames += survey.frames.size() + 1;
    for (const ZoneSurvey::Gap& gap : survey.gaps) Gap(survey, gap);
    if (survey.header->generation > generation_ && survey.gaps.empty() && !survey.IsComplete()) {
      Add(Severity::kNote, survey, layout_.header_at,
          fmt::format(
              "generation {} of the metadata log was begun there and is not complete; the next read-write "
              "mount gives it up",
              survey.header->generation));
    }
  }

 private:
  void Add(Severity severity, const ZoneSurvey& survey, std::uint64_t at, const std::string& what) {
    context_.Add(severity, fmt::format("zone {} at byte {}: {}", survey.zone.value, at, what), survey.zone,
                 at);
  }

  // A roll that failed, and a later one in another zone: power lost before this zone's reset was durable brings some of it
  // back.
  bool IsLeftOver(const ZoneSurvey& survey) const {
    return survey.header && survey.header->generation < generation_ && !survey.IsComplete();
  }

  void Superblock(const ZoneSurvey& survey) {
    if (survey.superblock && IsLeftOver(survey)) {
      Add(Severity::kWarning, survey, 0,
          fmt::format(
              "the copy of the superblock is damaged ({}), and nothing depends on it: generation {} of the "
              "metadata log was never complete there; the next roll resets the zone",
              survey.superblock->ToString(), survey.header->generation));
    } else if (survey.superblock && (survey.header || !replayed_)) {
      Add(Severity::kError, survey, 0,
          fmt::format("the copy of the superblock is damaged: {}", survey.superblock->ToString()));
    } else if (survey.superblock_differs) {
      Add(Severity::kError, survey, 0, "the copy of the superblock is not the same as the one in use");
    }
  }

  // A roll that was cut off in its first writes leaves such a zone, too.
  void NoHeader(const ZoneSurvey& survey) {
    Add(replayed_ ? Severity::kWarning : Severity::kError, survey, layout_.header_at,
        replayed_
            ? "there is no valid log header: a roll of the metadata log was cut off there, or a superseded "
              "generation is damaged; the next read-write mount resets the zone"
            : "there is no valid log header");
  }

  // Nothing depends on it but a repair for which the generation in use is too far gone.
  void Superseded(const ZoneSurvey& survey) {
    for (const ZoneSurvey::Gap& gap : survey.gaps) {
      if (gap.inside) {
        Add(Severity::kWarning, survey, gap.at, Inside(survey, gap) + "; a newer generation is in use");
      } else if (!gap.IsUnwritten()) {
        Add(Severity::kNote, survey, gap.at,
            fmt::format("{} bytes {}, behind the end of generation {} of the metadata log or in its last "
                        "frame; a newer generation is in use",
                        gap.bytes, WhatIsWrong(gap), survey.header->generation));
      }
    }
  }

  static std::string Inside(const ZoneSurvey& survey, const ZoneSurvey::Gap& gap) {
    const std::string which = gap.first_frame == gap.last_frame
                                  ? fmt::format("frame {}", gap.last_frame)
                                  : fmt::format("frames {} to {}", gap.first_frame, gap.last_frame);
    return fmt::format(
        "{} of generation {} of the metadata log is damaged: {} bytes there are no valid frame", which,
        survey.header->generation, gap.bytes);
  }
  static const char* WhatIsWrong(const ZoneSurvey::Gap& gap) {
    return gap.unreadable ? "can't be read" : "are no valid frame";
  }

  void Gap(const ZoneSurvey& survey, const ZoneSurvey::Gap& gap) {
    if (gap.inside) return Add(Severity::kError, survey, gap.at, Inside(survey, gap));
    if (gap.IsUnwritten()) return;  // the zone was finished before it was full
    const char* const what = WhatIsWrong(gap);
    if (survey.header->generation > generation_) {
      return Add(Severity::kError, survey, gap.at,
                 fmt::format(
                     "{} bytes {}: generation {} of the metadata log, newer than the one in use, was cut off "
                     "there or is damaged, and then commits may be missing",
                     gap.bytes, what, survey.header->generation));
    }
    Add(Severity::kError, survey, gap.at,
        fmt::format(
            "{} bytes behind the end of the metadata log {}: a commit was cut off there, or the last one is "
            "damaged and missing",
            gap.bytes, what));
  }

  ScrubContext& context_;
  const MetazoneLayout layout_;
  const bool replayed_;
  const std::uint64_t generation_;
};

}  // namespace

void ScrubMetadata(ScrubContext& context, const LogPicture& picture,
                   std::optional<std::uint64_t> generation) {
  std::uint64_t highest = 0;
  for (const std::optional<LogHeader>& head : picture.heads) {
    if (head) highest = std::max(highest, head->generation);
  }
  MetadataScrub scrub(context, generation.has_value(), generation.value_or(highest));
  for (const ZoneInfo& info : picture.zones) {
    if (info.condition == ZoneCondition::kOffline) {
      context.Add(Severity::kWarning, fmt::format("zone {}: a metadata zone is offline", info.id.value),
                  info.id, 0);
      continue;
    }
    if (info.WrittenBytes() == 0) continue;
    context.out.metadata_bytes += info.WrittenBytes();
    scrub.Zone(SurveyMetazone(context.device, context.superblock, info));
    context.advance(info.WrittenBytes());
  }
}

}  // namespace zenfs
