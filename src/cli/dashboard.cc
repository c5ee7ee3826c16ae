#include "cli/dashboard.h"

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/prometheus_families.h"
#include "cli/volume_poll.h"

namespace zenfs {
namespace {

constexpr std::string_view kSelector = R"({instance=~"$instance",device=~"$device"})";
constexpr int kGridColumns = 24;  // of Grafana's grid
constexpr int kPanelHeight = 8;

// A row of the dashboard: the operations of the table from the first one to that of the next row.
struct Group {
  std::string_view title;
  Operation first;
};
constexpr Group kGroups[] = {{"Reads and writes of files", Operation::kWalWrite},
                             {"Names of files", Operation::kOpen},
                             {"Metadata log and device", Operation::kMetaSync}};

std::string Metric(std::string_view name) { return fmt::format("zenfs_{}{}", name, kSelector); }
std::string Rate(std::string_view name) { return fmt::format("rate({}[$__rate_interval])", Metric(name)); }

Json Source() { return {{"type", "prometheus"}, {"uid", "${datasource}"}}; }

class Panel {
 public:
  // `unit`: as Grafana names it; "short" for a plain number.
  Panel(std::string title, std::string_view unit) : unit_(unit) {
    json_ = {{"title", std::move(title)}, {"type", "timeseries"}, {"datasource", Source()}};
  }
  // `name`: what the curve is called, before its device.
  void Add(const std::string& expression, std::string_view name) {
    Json target = {{"refId", fmt::format("Q{}", targets_.size())},
                   {"datasource", Source()},
                   {"expr", expression},
                   {"legendFormat", fmt::format("{} {{{{device}}}}", name)}};
    targets_.push_back(std::move(target));
  }
  bool empty() const { return targets_.empty(); }
  Json At(int id, int x, int y, int width) const {
    Json json = json_;
    json["id"] = id;
    json["gridPos"] = {{"x", x}, {"y", y}, {"w", width}, {"h", kPanelHeight}};
    json["fieldConfig"] = {{"defaults", {{"unit", unit_}, {"min", 0}}}, {"overrides", Json::array()}};
    json["options"] = {
        {"legend", {{"displayMode", "table"}, {"placement", "right"}, {"calcs", {"lastNotNull"}}}}};
    json["targets"] = targets_;
    return json;
  }

 private:
  std::string unit_;
  Json json_;
  std::vector<Json> targets_;
};

class Rows {
 public:
  // Panels without a query are left out.
  void Add(std::string_view title, std::vector<Panel> panels) {
    std::erase_if(panels, &Panel::empty);
    panels_.push_back({{"title", title},
                       {"type", "row"},
                       {"id", ++id_},
                       {"collapsed", false},
                       {"panels", Json::array()},
                       {"gridPos", {{"x", 0}, {"y", y_}, {"w", kGridColumns}, {"h", 1}}}});
    ++y_;
    constexpr int kWidth = kGridColumns / 2;
    for (std::size_t i = 0; i < panels.size(); ++i) {
      const bool alone = i % 2 == 0 && i + 1 == panels.size();
      panels_.push_back(panels[i].At(++id_, i % 2 == 0 ? 0 : kWidth, y_, alone ? kGridColumns : kWidth));
      if (i % 2 == 1 || alone) y_ += kPanelHeight;
    }
  }
  Json Take() { return std::move(panels_); }

 private:
  Json panels_ = Json::array();
  int id_ = 0;
  int y_ = 0;
};

// The curves of a table of single numbers: each in the panel of its kind.
class ValuePanels {
 public:
  void Add(const ValueInfo& info) {
    if (info.counter) {
      AddCounter(info);
    } else if (info.name.ends_with("time_seconds")) {
      ages_.Add("time() - " + Metric(info.name), info.name);
    } else {
      AddGauge(info);
    }
  }
  std::vector<Panel> Take() { return {bytes_, events_, busy_, space_, numbers_, times_, ages_}; }

 private:
  void AddCounter(const ValueInfo& info) {
    Panel& panel = info.unit == "bytes" ? bytes_ : info.unit == "seconds" ? busy_ : events_;
    panel.Add(Rate(info.name), info.name);
  }
  void AddGauge(const ValueInfo& info) {
    Panel& panel = info.unit == "bytes" ? space_ : info.unit == "seconds" ? times_ : numbers_;
    panel.Add(Metric(info.name), info.name);
  }

  Panel bytes_{"Bytes a second", "Bps"};
  Panel events_{"Events a second", "ops"};
  Panel busy_{"CPU time a second", "percentunit"};
  Panel space_{"Bytes", "bytes"};
  Panel numbers_{"Numbers", "short"};
  Panel times_{"Times", "s"};
  Panel ages_{"Time since", "s"};
};

std::vector<Panel> PanelsOf(std::span<const ValueInfo> values) {
  ValuePanels panels;
  for (const ValueInfo& info : values) panels.Add(info);
  return panels.Take();
}

std::vector<Panel> PanelsOf(std::span<const OperationInfo> operations) {
  Panel calls("Calls a second", "ops");
  Panel bytes("Bytes a second", "Bps");
  Panel latency("Latency: quantile $quantile", "s");
  Panel errors("Errors a second", "ops");
  for (const OperationInfo& info : operations) {
    const std::string name(info.name);
    calls.Add(Rate(name + "_total"), name);
    errors.Add(Rate(name + "_errors_total"), name);
    if (info.has_bytes) bytes.Add(Rate(name + "_bytes_total"), name);
    latency.Add(fmt::format("histogram_quantile($quantile, {})", Rate(name + "_latency_seconds_bucket")),
                name);
  }
  return {calls, latency, bytes, errors};
}

// Metrics that are not always there: zeros take their place, so that the panel tells "none" from "not scraped".
Panel Troubles() {
  Panel panel("Why a volume or its counters can't be read", "short");
  panel.Add(fmt::format("{} or on (instance, device) 0 * {}", Metric("trouble"), Metric("readable")),
            "{{reason}}");
  return panel;
}

Panel Amplification() {
  Panel panel("Write amplification: bytes written to zones for each byte of a file", "short");
  panel.Add(
      fmt::format("({} + {}) / ({} + {})", Rate("zone_write_bytes_total"), Rate("zone_append_bytes_total"),
                  Rate("wal_write_bytes_total"), Rate("non_wal_write_bytes_total")),
      "");
  return panel;
}

// Labels tell what these are; the value is 1.
Panel Identities() {
  Panel panel("Volumes", "short");
  panel.Add(Metric("volume_info"), "{{label}} {{uuid}}");
  panel.Add(R"(zenfs_build_info{instance=~"$instance"})", "ZenFS {{version}} {{instance}}");
  return panel;
}

std::vector<Panel> VolumePanels() {
  std::vector<ValueInfo> rest;
  for (const ValueInfo& info : VolumeGauges()) {
    if (info.name != "trouble" && !info.name.ends_with("_info")) rest.push_back(info);
  }
  std::vector<Panel> panels = PanelsOf(rest);
  panels.push_back(Troubles());
  panels.push_back(Amplification());
  panels.push_back(Identities());
  return panels;
}

Json Variable(std::string_view name, std::string_view title) {
  return {{"name", name},
          {"label", title},
          {"type", "query"},
          {"datasource", Source()},
          {"query", {{"query", fmt::format("label_values(zenfs_readable, {})", name)}, {"refId", name}}},
          {"refresh", 2},  // whenever the time changes
          {"includeAll", true},
          {"allValue", ".*"},
          {"multi", true},
          {"current", {{"text", "All"}, {"value", "$__all"}}}};
}

Json Variables() {
  const Json source = {
      {"name", "datasource"}, {"label", "Data source"}, {"type", "datasource"}, {"query", "prometheus"}};
  const Json quantile = {{"name", "quantile"},
                         {"label", "Quantile"},
                         {"type", "custom"},
                         {"query", "0.5,0.9,0.99,0.999"},
                         {"current", {{"text", "0.99"}, {"value", "0.99"}}}};
  return Json::array({source, Variable("instance", "Exporter"), Variable("device", "Device"), quantile});
}

}  // namespace

Json Dashboard() {
  Rows rows;
  rows.Add("Volumes", VolumePanels());
  rows.Add("Space and zones", PanelsOf(ZoneGauges()));
  const std::span<const OperationInfo> operations = Operations();
  for (std::size_t i = 0; i < std::size(kGroups); ++i) {
    const auto begin = static_cast<std::size_t>(kGroups[i].first);
    const auto end =
        i + 1 < std::size(kGroups) ? static_cast<std::size_t>(kGroups[i + 1].first) : operations.size();
    rows.Add(kGroups[i].title, PanelsOf(operations.subspan(begin, end - begin)));
  }
  rows.Add("Writes by cause, and the mount", PanelsOf(Values()));
  return {{"title", "ZenFS"},
          {"uid", "zenfs"},
          {"tags", {"zenfs"}},
          {"schemaVersion", 36},
          {"refresh", "30s"},
          {"time", {{"from", "now-6h"}, {"to", "now"}}},
          {"templating", {{"list", Variables()}}},
          {"panels", rows.Take()}};
}

}  // namespace zenfs
