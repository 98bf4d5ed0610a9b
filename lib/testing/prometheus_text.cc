#include "lib/testing/prometheus_text.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

namespace holdfast::testing {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
constexpr std::string_view kNameEnds = "{ ";

bool is_name(std::string_view name, bool of_label) {
  const std::string first = std::string(kLetters) + (of_label ? "" : ":");
  return !name.empty() && first.find(name.front()) != std::string::npos &&
         name.find_first_not_of(first + "0123456789") == std::string_view::npos;
}

using Labels = std::map<std::string, std::string>;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  PrometheusText run() {
    if (!text_.ends_with('\n')) bad("the text does not end with a line's end");
    while (!text_.empty()) {
      ++number_;
      const std::size_t end = text_.find('\n');
      line_ = text_.substr(0, end);
      text_.remove_prefix(end + 1);
      if (line_.starts_with("# ")) {
        comment();
      } else if (!line_.empty()) {
        sample();
      }
    }
    end_family();
    return std::move(result_);
  }

 private:
  struct Buckets {
    double bound = -std::numeric_limits<double>::infinity(), count = 0;
    bool whole = false;
  };

  [[noreturn]] void bad(const std::string& what) const {
    throw BadPrometheusText("line " + std::to_string(number_) + ": " + what + ": " + std::string(line_));
  }

  std::string_view take(std::string_view& from, std::string_view ends) const {
    const std::size_t end = std::min(from.find_first_of(ends), from.size());
    const std::string_view taken = from.substr(0, end);
    from.remove_prefix(end);
    return taken;
  }

  void comment() {
    std::string_view rest = line_.substr(2);
    const std::string_view what = take(rest, " ");
    if (what != "HELP" && what != "TYPE") return;
    rest.remove_prefix(std::min<std::size_t>(1, rest.size()));
    const std::string name(take(rest, " "));
    rest.remove_prefix(std::min<std::size_t>(1, rest.size()));
    if (!is_name(name, false)) bad("no name of a metric");
    if (what == "HELP") {
      end_family();
      if (!helped_.insert(name).second) bad("a family twice");
      family_ = name;
      return;
    }
    if (name != family_) bad("TYPE without HELP before it");
    if (rest != "counter" && rest != "histogram" && rest != "gauge") bad("no type");
    if (rest == "counter" && !name.ends_with("_total")) bad("a counter's name ends in _total");
    if (!result_.types.emplace(name, rest).second) bad("a second TYPE");
  }

  void sample() {
    std::string_view rest = line_;
    const std::string name(take(rest, kNameEnds));
    if (!is_name(name, false)) bad("no name of a metric");
    const auto type = result_.types.find(family_);
    if (type == result_.types.end() || !name.starts_with(family_)) bad("a sample outside its family");
    const std::string suffix = name.substr(family_.size());
    const bool histogram = type->second == "histogram";
    if (histogram ? suffix != "_bucket" && suffix != "_sum" && suffix != "_count" : !suffix.empty())
      bad("a sample outside its family");
    Labels labels = read_labels(rest);
    if (rest.empty() || rest.front() != ' ') bad("no space before the value");
    const double value = number(rest.substr(1));
    if (type->second == "counter" && !(value >= 0)) bad("a counter below zero");
    if (!result_.samples.emplace(name + written(labels), value).second) bad("a sample twice");
    if (histogram) part_of_histogram(suffix, std::move(labels), value);
  }

  Labels read_labels(std::string_view& rest) const {
    Labels labels;
    if (rest.empty() || rest.front() != '{') return labels;
    rest.remove_prefix(1);
    for (;;) {
      const std::string name(take(rest, "="));
      if (!is_name(name, true)) bad("no name of a label");
      if (!rest.starts_with("=\"")) bad("no value of a label");
      rest.remove_prefix(2);
      std::string value;
      for (; !rest.empty() && rest.front() != '"'; rest.remove_prefix(1)) {
        if (rest.front() != '\\') {
          value += rest.front();
          continue;
        }
        rest.remove_prefix(1);
        const char c = rest.empty() ? ' ' : rest.front();
        if (c != '\\' && c != '"' && c != 'n') bad("no escape");
        value += c == 'n' ? '\n' : c;
      }
      if (rest.empty()) bad("a label without an end");
      rest.remove_prefix(1);
      if (!labels.emplace(name, value).second) bad("a label twice");
      const char next = rest.empty() ? ' ' : rest.front();
      rest.remove_prefix(std::min<std::size_t>(1, rest.size()));
      if (next == '}') return labels;
      if (next != ',') bad("labels without an end");
    }
  }

  double number(std::string_view text) const {
    if (text == "+Inf") return std::numeric_limits<double>::infinity();
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) bad("no number");
    return value;
  }

  static std::string written(const Labels& labels) {
    std::string out;
    for (const auto& [name, value] : labels) out += (out.empty() ? "{" : ",") + name + "=\"" + value + '"';
    return out.empty() ? out : out + '}';
  }

  void part_of_histogram(const std::string& suffix, Labels labels, double value) {
    const auto bound = labels.extract("le");
    if ((suffix == "_bucket") != !bound.empty()) bad("'le' belongs to buckets");
    Buckets& buckets = histograms_[written(labels)];
    if (suffix == "_bucket") {
      const double above = number(bound.mapped());
      if (above <= buckets.bound || value < buckets.count) bad("buckets do not rise");
      buckets = {above, value, std::isinf(above)};
    } else if (suffix == "_count" && value != buckets.count) {
      bad("_count is not what the last bucket has");
    }
  }

  void end_family() {
    if (!family_.empty() && result_.types.count(family_) == 0) bad("HELP without TYPE");
    for (const auto& [labels, buckets] : histograms_) {
      for (const char* const suffix : {"_sum", "_count"}) {
        if (result_.samples.count(family_ + suffix + labels) == 0)
          bad("a histogram without " + std::string(suffix));
      }
      if (!buckets.whole) bad("a histogram without +Inf");
    }
    histograms_.clear();
  }

  std::string_view text_, line_;
  int number_ = 0;
  std::string family_;
  std::set<std::string> helped_;
  std::map<std::string, Buckets> histograms_;  // of this family, by their labels
  PrometheusText result_;
};

}  // namespace

PrometheusText parse_prometheus(std::string_view text) { return Reader(text).run(); }

}  // namespace holdfast::testing
