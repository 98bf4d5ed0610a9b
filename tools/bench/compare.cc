#include "tools/bench/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sim/client/lock_kind.h"
#include "tools/bench/bench.h"
#include "tools/bench/compare_words.h"

namespace holdfast::tools {
namespace {

using Says = ComparedRow::Says;
using Key = std::tuple<std::string, std::string, std::string, Parameters>;

constexpr double kSmallest = 1.0 / 1024;  // what a histogram can tell apart

Key key_of(const Measurement& m) { return {m.suite, m.subject, m.world, m.parameters}; }

// No lock, ours or another library's, and not the scripts of one.
bool is_reference(const Measurement& m) {
  return sim::find_lock_kind(m.subject) == nullptr && m.world != "real/peer" && m.suite != "seckill" &&
         m.suite != "oversell" && !m.subject.starts_with("shortest ");
}

// Counted in simulated time by one run.
bool is_exact(const Measurement& m, const std::string& metric, const Metric& a, const Metric& b) {
  return m.world == "embedded" && a.count() == 1 && b.count() == 1 && metric.find("cpu") == std::string::npos;
}

void say_exactly(ComparedRow& row) {
  const double most = std::max(std::abs(row.before), std::abs(row.now));
  if (std::abs(row.now - row.before) <= kSmallest * most) {
    row.says = Says::none;
    row.words = kNoDifference;
    return;
  }
  const bool ratio = row.before > 0 && row.now > 0;
  row.scale = ratio ? Contrast::Scale::ratio : Contrast::Scale::difference;
  const double by = ratio ? row.now / row.before : row.now - row.before;
  row.interval = {by, by};
  say_difference(row);
}

// What may explain a difference and is no lock: the values of each name on both sides.
void say_unlike(const char* what, const std::map<std::string, std::set<std::string>>& before,
                const std::map<std::string, std::set<std::string>>& now, std::vector<std::string>& unlike) {
  const auto joined = [](const std::set<std::string>& values) {
    std::string text;
    for (const std::string& value : values) text += (text.empty() ? "" : ", ") + value;
    return text;
  };
  for (const auto& [name, values] : before) {
    const auto found = now.find(name);
    if (found == now.end() || found->second == values) continue;
    unlike.push_back(fmt::format("{}{}: {}; now {}", what, name, joined(values), joined(found->second)));
  }
}

std::vector<std::string> unlike_of(const ReadResult& before, const ReadResult& now) {
  using Values = std::map<std::string, std::set<std::string>>;
  struct Side {
    Values machine, versions, seeds, settings;
  };
  const auto side_of = [](const ReadResult& read) {
    Side side;
    for (const BenchResult& document : read.documents) {
      for (const auto& [name, value] : document.machine) {
        if (!name.starts_with("load_")) side.machine[name].insert(value);
      }
      for (const auto& [name, value] : document.versions) side.versions[name].insert(value);
      for (const auto& [name, value] : document.seeds) side.seeds[name].insert(value);
      side.settings["quick"].insert(document.quick ? "yes" : "no");
      side.settings["complete"].insert(document.complete ? "yes" : "no");
    }
    return side;
  };
  const Side a = side_of(before), b = side_of(now);
  std::vector<std::string> unlike;
  say_unlike("", a.machine, b.machine, unlike);
  say_unlike("version of ", a.versions, b.versions, unlike);
  say_unlike("seeds of ", a.seeds, b.seeds, unlike);
  say_unlike("", a.settings, b.settings, unlike);
  return unlike;
}

struct Asked {
  std::size_t row;
  Contrast contrast;
};

// The rows of two measurements; what needs an interval goes to `asked`.
void compare_two(const Measurement& old_one, const Measurement& new_one, Comparison& comparison,
                 std::vector<Asked>& asked) {
  const SuiteInfo& suite = suite_info(new_one.suite);
  bool first = true;
  for (const MetricInfo& info : suite.metrics) {
    const auto a = old_one.metrics.find(info.name), b = new_one.metrics.find(info.name);
    if (a == old_one.metrics.end() || b == new_one.metrics.end()) continue;
    const Metric &before = a->second, &now = b->second;
    ComparedRow& row = comparison.rows.emplace_back();
    row.suite = new_one.suite;
    row.subject = new_one.subject;
    row.world = new_one.world;
    row.parameters = new_one.parameters;
    row.metric = info;
    row.first = std::exchange(first, false);
    row.reference = is_reference(new_one);
    row.before = suite.shows_means ? before.mean() : before.median();
    row.now = suite.shows_means ? now.mean() : now.median();
    if (is_exact(new_one, info.name, before, now)) {
      say_exactly(row);
    } else if (before.summary || now.summary) {
      row.words = fmt::format("cannot be compared: {} has no rounds, only a summary",
                              before.summary ? comparison.before : comparison.now);
    } else if (before.count() < 2 || now.count() < 2) {
      row.words = fmt::format("cannot be compared: {} has one round, which scatters from nothing",
                              before.count() < 2 ? comparison.before : comparison.now);
    } else if (before.rounds == now.rounds) {
      row.says = Says::none;
      row.words = kNoDifference;
    } else {
      asked.push_back({comparison.rows.size() - 1, Contrast(before.rounds, now.rounds)});
    }
  }
}

std::vector<const Measurement*> in_order(const ReadResult& read) {
  std::vector<const Measurement*> all;
  for (const SuiteInfo& suite : metric_table()) {
    for (const Measurement& m : read.measurements) {
      if (m.suite == suite.name) all.push_back(&m);
    }
  }
  return all;
}

}  // namespace

std::size_t Comparison::count(Says says) const {
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [&](const ComparedRow& row) { return row.says == says; }));
}

ExitCode Comparison::code() const {
  if (count(Says::worse) > 0) return kFailed;
  return count(Says::unknown) == rows.size() ? kUnknown : kMet;
}

ReadResult measured(const BenchResult& result, const std::string& name) {
  ReadResult read;
  read.files = {name};
  read.measurements = result.measurements;
  read.of.assign(result.measurements.size(), 0);
  BenchResult document = result;
  document.measurements.clear();
  read.documents.push_back(std::move(document));
  return read;
}

ReadResult narrowed(ReadResult read, const BenchArguments& arguments) {
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
  };
  ReadResult out{std::move(read.files), std::move(read.documents), {}, {}};
  for (std::size_t i = 0; i < read.measurements.size(); ++i) {
    Measurement& m = read.measurements[i];
    const bool embedded = m.world == "embedded";
    if (arguments.world != "both" && embedded != (arguments.world == "embedded")) continue;
    if (!has(arguments.suites, m.suite) || !(is_reference(m) || has(arguments.locks, m.subject))) continue;
    out.measurements.push_back(std::move(m));
    out.of.push_back(read.of[i]);
  }
  return out;
}

Comparison compare(const ReadResult& before, const ReadResult& now, const std::string& before_name,
                   const std::string& now_name) {
  Comparison comparison{before_name, now_name, unlike_of(before, now), {}, {}, {}};
  std::map<Key, const Measurement*> old_ones;
  for (const Measurement& m : before.measurements) old_ones[key_of(m)] = &m;
  std::set<Key> in_both;
  std::vector<Asked> asked;
  for (const Measurement* m : in_order(now)) {
    if (const auto found = old_ones.find(key_of(*m)); found != old_ones.end()) {
      in_both.insert(key_of(*m));
      compare_two(*found->second, *m, comparison, asked);
    } else {
      comparison.only_now.push_back(row_name(m->suite, m->subject, m->world, m->parameters));
    }
  }
  for (const Measurement* m : in_order(before)) {
    if (!in_both.contains(key_of(*m)))
      comparison.only_before.push_back(row_name(m->suite, m->subject, m->world, m->parameters));
  }
  std::vector<double> chances;
  for (const Asked& one : asked) chances.push_back(one.contrast.chance());
  const std::vector<bool> chosen = discoveries(chances, kWrong);
  const auto how_many = static_cast<std::size_t>(std::count(chosen.begin(), chosen.end(), true));
  for (std::size_t i = 0; i < asked.size(); ++i) {
    ComparedRow& row = comparison.rows[asked[i].row];
    row.scale = asked[i].contrast.scale();
    row.interval = asked[i].contrast.interval(chosen[i] ? confidence_of_chosen(how_many, asked.size(), kWrong)
                                                        : 1 - kWrong);
    if (chosen[i]) {
      say_difference(row);
    } else {
      say_none(row);
    }
  }
  return comparison;
}

}  // namespace holdfast::tools
