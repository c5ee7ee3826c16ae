// Verbs about the command itself: help with the man page zenfs(8), and version.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "cli/command_line.h"
#include "cli/flags.h"
#include "cli/verbs.h"
#include "format/superblock.h"

namespace zenfs {
namespace {

std::string OverallHelp() {
  std::size_t width = 0;
  for (const Verb& verb : Verbs()) width = std::max(width, verb.name.size());
  std::string out =
      "ZenFS: the files of a RocksDB database in the zones of a zoned block device.\n\n"
      "Usage: zenfs VERB [FLAGS]\n\n"
      "Verbs:\n";
  for (const Verb& verb : Verbs()) out += fmt::format("  {:<{}}  {}\n", verb.name, width, verb.summary);
  out +=
      "\nA device is named by exactly one of --volume=VOLUME, --zbd=NAME, --nvme=NAME, --zonefs=MOUNT, "
      "--emu=PATH and --uri=URI.\n"
      "If none is given, verbs that read use the default volume of the configuration.\n"
      "In the names of flags '-' and '_' are the same. 'zenfs VERB --help' shows the flags of a verb.\n";
  return out;
}

// Escapes text for roff: no escapes, no requests, hyphens that can be copied.
std::string Roff(std::string_view text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    line_start = c == '\n';
    switch (c) {
      case '\\': out += "\\e"; break;
      case '-': out += "\\-"; break;
      case '\'': out += "\\(aq"; break;
      case '`': out += "\\(ga"; break;
      case '^': out += "\\(ha"; break;
      case '~': out += "\\(ti"; break;
      default: out += c;
    }
  }
  return out;
}

std::string Upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

// Wraps long lines, as linters of man pages demand.
std::string Wrapped(const std::string& text) {
  constexpr std::size_t kColumns = 64;
  std::string out;
  std::size_t line = 0;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const bool wraps = line + word.size() > kColumns;
    if (line > 0) out += wraps ? '\n' : ' ';
    line = wraps ? word.size() : line + 1 + word.size();
    out += word;
  }
  return out;
}

// Help texts are phrases; turn one into a sentence.
std::string Sentence(const std::string& text) {
  const bool ends = !text.empty() && std::string_view(".!?").find(text.back()) != std::string_view::npos;
  return Roff(Wrapped(text)) + (ends ? "" : ".");
}

std::string TagOf(const VerbFlag& flag) {
  if (flag.flags.empty()) return fmt::format("\\fI{}\\fR", Roff(flag.positional));
  std::string tag;
  for (const std::string& name : flag.flags) {
    tag += fmt::format("{}\\fB{}\\fR", tag.empty() ? "" : ", ", Roff(name));
  }
  if (flag.value.empty()) return tag;
  const std::string value = fmt::format("=\\fI{}\\fR", Roff(flag.value));
  return tag + (flag.value_optional ? "[" + value + "]" : value);
}

std::string EntryOf(const VerbFlag& flag) {
  std::string entry = fmt::format(".TP\n{}\n{}", TagOf(flag), Sentence(flag.description));
  if (!flag.default_value.empty()) entry += fmt::format("\nThe default is {}.", Roff(flag.default_value));
  return entry + "\n";
}

std::string SynopsisOf(const Verb& verb, const std::vector<VerbFlag>& flags) {
  std::string line = fmt::format("\\fBzenfs {}\\fR", Roff(verb.name));
  if (flags.size() > 1) line += " [\\fIflags\\fR]";
  for (const VerbFlag& flag : flags) {
    if (flag.positional.empty()) continue;
    const std::string name = fmt::format("\\fI{}\\fR{}", Roff(flag.positional), flag.many ? " ..." : "");
    line += flag.required ? " " + name : " [" + name + "]";
  }
  return line;
}

// The flags, each group under its heading. Leaves out --help, which every verb has.
std::string GroupsOf(const std::vector<VerbFlag>& flags) {
  std::string out;
  std::vector<std::string> groups;
  for (const VerbFlag& flag : flags) {
    if (std::find(groups.begin(), groups.end(), flag.group) == groups.end()) groups.push_back(flag.group);
  }
  for (const std::string& group : groups) {
    for (const VerbFlag& flag : flags) {
      const bool help = std::find(flag.flags.begin(), flag.flags.end(), "--help") != flag.flags.end();
      if (flag.group == group && !help && !group.starts_with("Device")) out += EntryOf(flag);
    }
  }
  return out;
}

// Describes the flags that name a device once, because they are the same for all verbs that have
// them.
std::string DeviceSection() {
  for (const Verb& verb : Verbs()) {
    std::string out;
    for (const VerbFlag& flag : FlagsOf(verb)) {
      if (flag.group.starts_with("Device")) out += EntryOf(flag);
    }
    if (!out.empty()) {
      return ".SH DEVICES\nA verb that works on a file system takes one of these.\n"
             "If none is given, a verb that only reads uses\nthe default volume of the configuration.\n" +
             out;
    }
  }
  return {};
}

// In man(7) macros, for groff and mandoc. The same program always returns the same text.
std::string ManPage() {
  std::string out = fmt::format(
      ".TH {} 8 \"\" \"zenfs {}\" \"System Administration\"\n"
      ".SH NAME\nzenfs \\- file systems of RocksDB databases in the zones of a zoned block device\n"
      ".SH SYNOPSIS\n\\fBzenfs\\fR \\fIverb\\fR [\\fIflags\\fR]\n",
      Upper("zenfs"), Roff(ZENFS_VERSION));
  out +=
      ".SH DESCRIPTION\nZenFS puts the files of a RocksDB database\nstraight into the zones of a zoned block "
      "device.\n"
      "This command makes such a file system, looks into it and checks it.\n"
      "In the names of flags \\fB\\-\\fR and \\fB_\\fR are the same.\n"
      ".SH VERBS\n";
  for (const Verb& verb : Verbs()) {
    const std::vector<VerbFlag> flags = FlagsOf(verb);
    out += fmt::format(".SS {}\n{}\n.PP\n{}\n{}", Roff(verb.name), SynopsisOf(verb, flags),
                       Sentence(std::string(verb.summary)), GroupsOf(flags));
  }
  out += DeviceSection();
  out += ".SH EXIT STATUS\n0 for success, 1 for failure";
  for (const Verb& verb : Verbs()) {
    if (verb.error_status != 1) out += fmt::format(";\nof \\fB{}\\fR {}", Roff(verb.name), verb.error_status);
  }
  out +=
      ".\nAn error is one line on standard error: verb, what, where, what to do.\n"
      ".SH ENVIRONMENT\n.TP\n\\fBNO_COLOR\\fR\nIf set, nothing is coloured.\n"
      ".TP\n\\fBCOLUMNS\\fR\nThe width of the output where it is not a terminal.\n"
      ".TP\n\\fBZENFS_DEVICES\\fR\nEmulated devices to look at: paths separated by colons.\n"
      ".TP\n\\fBZENFS_DEVICES_FILE\\fR\nA list of devices, used instead of the files below.\n"
      ".SH FILES\n.TP\n\\fI$XDG_CONFIG_HOME/zenfs/devices\\fR, \\fI/etc/zenfs/devices\\fR\n"
      "Devices to look at, one per line; only the first existing file is used.\n"
      ".TP\n\\fI$XDG_CONFIG_HOME/zenfs/zenfs.conf\\fR, \\fI/etc/zenfs/zenfs.conf\\fR\n"
      "Names of volumes and defaults, in TOML;\neach key is taken from the first file that has it:\n"
      "\\fBdefault_volume\\fR, the volume of verbs that only read;\n"
      "\\fBflush_dir\\fR, the directory for append buffers;\n"
      "\\fBexporter.listen\\fR, where the exporter listens;\n"
      "\\fBvolumes.NAME\\fR, the URI of a volume.\n"
      "Without \\fBXDG_CONFIG_HOME\\fR, the user\\(aqs file is\n\\fI~/.config/zenfs/zenfs.conf\\fR.\n";
  return out;
}

class HelpAction : public Action {
 public:
  explicit HelpAction(CLI::App& app) {
    app.add_option("verb", verb_, "The verb to explain")->expected(0, 2);
    app.add_flag("--man", man_, "Print the man page zenfs(8) instead, for man(1)");
  }

  Result<int> Run(Console& console) override {
    if (man_) {
      if (!verb_.empty())
        return Fail(Code::kInvalidArgument, "--man covers all verbs; give it without a verb");
      console.Print(ManPage());
      return 0;
    }
    if (verb_.empty()) {
      console.Print(OverallHelp());
      return 0;
    }
    const FoundVerb found = FindVerb(verb_);
    if (found.verb != nullptr && found.words != verb_.size()) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("'{0}' is one word too many; 'zenfs help {1}' shows the flags of {1}",
                              verb_.back(), found.verb->name));
    }
    if (found.verb == nullptr) {
      return Fail(Code::kInvalidArgument, DescribeUnknownVerb(verb_));
    }
    console.Print(HelpOf(*found.verb));
    return 0;
  }

 private:
  std::vector<std::string> verb_;
  bool man_ = false;
};

class VersionAction : public Action {
 public:
  explicit VersionAction(CLI::App& app) { AddJson(app, json_); }

  Result<int> Run(Console& console) override {
    if (json_) {
      console.PrintJson(Json{{"version", ZENFS_VERSION}, {"format", kFormatVersion}});
    } else {
      console.Print(fmt::format("zenfs {}, on-disk format {}\n", ZENFS_VERSION, kFormatVersion));
    }
    return 0;
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeHelp(CLI::App& app) { return MakeAction<HelpAction>(app); }
std::unique_ptr<Action> MakeVersion(CLI::App& app) { return MakeAction<VersionAction>(app); }

}  // namespace zenfs
