// Prometheus' text format 0.0.4, written line by line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/runtime/time.h"

namespace holdfast {

// Names with their values, which may be any text in UTF-8.
using MetricLabels = std::vector<std::pair<std::string_view, std::string_view>>;

// Whether a user may name a label so: as Prometheus wants it, and not "__..." or "le", which are its own.
bool is_label_name(std::string_view name);

class Exposition {
 public:
  // What follows belongs to the metric of that name, until the next family. REQUIRES: each family once.
  void family(std::string_view name, std::string_view type, std::string_view help);
  void sample(const MetricLabels& labels, std::uint64_t value);
  // Of a histogram: `counts` has one number for each of `bounds`, and one for what is above.
  void histogram(const MetricLabels& labels, std::span<const Duration> bounds,
                 std::span<const std::uint64_t> counts, std::uint64_t sum_ns);

  const std::string& text() const { return text_; }

 private:
  void line(std::string_view suffix, const MetricLabels& labels, std::string_view value);

  std::string family_, text_;
};

}  // namespace holdfast
