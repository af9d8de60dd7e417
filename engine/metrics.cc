#include "engine/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "engine/engine.h"

namespace heddle {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

prometheus::MetricFamily family(const char* name, const char* help, prometheus::MetricType type) {
  return {name, help, type, {}};
}

void add(prometheus::MetricFamily& family, const Labels& labels, double value) {
  prometheus::ClientMetric metric;
  for (auto& [name, text] : labels) metric.label.push_back({name, text});
  switch (family.type) {
    case prometheus::MetricType::Counter:
      metric.counter.value = value;
      break;
    case prometheus::MetricType::Gauge:
      metric.gauge.value = value;
      break;
    default:
      metric.untyped.value = value;
      break;
  }
  family.metric.push_back(std::move(metric));
}

std::vector<prometheus::MetricFamily> collect(const Engine& engine) {
  using prometheus::MetricType;
  const Report report = engine.report();
  auto packets = family("heddle_packets_total", "Packets that entered an element", MetricType::Counter);
  auto bytes = family("heddle_bytes_total", "Bytes that entered an element", MetricType::Counter);
  auto drops = family("heddle_drops_total", "Packets that an element dropped, by reason", MetricType::Counter);
  auto statistics = family("heddle_statistic", "What else an element counts", MetricType::Untyped);
  auto received = family("heddle_received_packets_total", "Packets received by all sources", MetricType::Counter);
  auto received_bytes = family("heddle_received_bytes_total", "Bytes received by all sources", MetricType::Counter);
  auto dropped = family("heddle_dropped_packets_total", "Packets dropped by all elements", MetricType::Counter);
  auto load =
      family("heddle_thread_load", "Share of its time in which a packet thread found packets", MetricType::Gauge);
  for (auto& element : report.elements) {
    const Labels labels{{"element", element.name}, {"class", element.class_name}};
    const auto with = [&labels](const char* name, const std::string& value) {
      Labels more = labels;
      more.emplace_back(name, value);
      return more;
    };
    add(packets, labels, static_cast<double>(element.packets));
    add(bytes, labels, static_cast<double>(element.bytes));
    for (auto& [reason, count] : element.drops) add(drops, with("reason", reason), static_cast<double>(count));
    for (auto& [name, value] : element.statistics) add(statistics, with("name", name), static_cast<double>(value));
  }
  add(received, {}, static_cast<double>(report.received));
  add(received_bytes, {}, static_cast<double>(report.received_bytes));
  add(dropped, {}, static_cast<double>(report.dropped));
  const auto loads = engine.load();
  for (size_t thread = 0; thread < loads.size(); ++thread)
    add(load, {{"thread", std::to_string(thread)}}, loads[thread]);
  return {packets, bytes, drops, statistics, received, received_bytes, dropped, load};
}

}  // namespace

Metrics::Metrics(int port) try : server_(port) {
} catch (const Error& error) {
  throw Error(format("--metrics: %s; is the port in use?", error.what()));
}

void Metrics::offer(const Engine& engine) {
  server_.serve("/metrics", "text/plain; version=0.0.4; charset=utf-8",
                [&engine] { return prometheus::TextSerializer().Serialize(collect(engine)); });
}

}  // namespace heddle
