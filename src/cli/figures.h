// A list of named values, printed as aligned lines or as one JSON object.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/console.h"

namespace zenfs {

class Figures {
 public:
  // `shown`: the text of the line; without it, the value itself.
  void Add(std::string title, const std::string& key, Json value, std::string shown);
  void Add(std::string title, const std::string& key, Json value);

  void Print(Console& console, bool json) const;

 private:
  std::vector<std::pair<std::string, std::string>> lines_;
  Json json_ = Json::object();
};

}  // namespace zenfs
