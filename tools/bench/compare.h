// Two results of `holdfast bench`, row by row: what is slower, by how much at least and at most, and where no
// difference can be seen. A row is one metric of one measurement that both have.
//
//   rounds on both sides        an interval (interval.h). Which rows count is decided for all of them at
//                               once: of those that are said to differ 5% at most are expected to be chance
//   one run of the embedded     the difference itself: simulated time does not scatter, one seed gives one
//   world on both sides         figure. What its clock does not count (CPU time) is left out
//   one round, or only a        nothing is said
//   summary of the rounds
//
// Rounds tell how a run scatters, not what is otherwise an hour later. So what no lock touches is compared as
// well, and said first: when redis-benchmark became slower, so did the machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/bench/bench_result.h"
#include "tools/bench/interval.h"
#include "tools/bench/metric_table.h"
#include "tools/holdfast/exit_code.h"
#include "tools/holdfast/terminal.h"

namespace holdfast::tools {

struct BenchArguments;

inline constexpr double kWrong = 0.05;  // this part of what is said to differ is chance, at most

struct ComparedRow {
  enum class Says { worse, better, differs, none, unknown };

  std::string suite, subject, world;
  Parameters parameters;
  MetricInfo metric;
  bool first = false;      // of the metrics of its measurement, in the order of metrics.json
  bool reference = false;  // nothing of it is a lock
  double before = 0, now = 0;
  Says says = Says::unknown;
  std::string words;  // "slower by 4 to 9%", "no difference that can be seen (...)", why not
  // What the words say, where they say it with an interval.
  std::optional<Contrast::Scale> scale = {};
  Interval interval = {};
};

struct Comparison {
  std::string before, now;  // what was compared
  std::vector<std::string>
      unlike;                     // "cpu: A; now B": what may explain a difference, and is none of the locks
  std::vector<ComparedRow> rows;  // in the order of suites, then of the newer result
  std::vector<std::string> only_before, only_now;  // rows of one side, in words

  std::size_t count(ComparedRow::Says says) const;
  // kFailed: something is worse. kUnknown: nothing could be compared. Else kMet.
  ExitCode code() const;
};

// What was measured now, as if it had been read.
ReadResult measured(const BenchResult& result, const std::string& name);
// `before`, `now`: their names.
Comparison compare(const ReadResult& before, const ReadResult& now, const std::string& before_name,
                   const std::string& now_name);
// For people. Of each measurement its first metric, and whatever differs.
std::string comparison_report(const Comparison& comparison, const Terminal& terminal);

// What of it is of the suites, locks and worlds that were asked for; references stay.
ReadResult narrowed(ReadResult read, const BenchArguments& arguments);

// Measures nothing: compares two files, or folders of files.
ExitCode compare_command(const BenchArguments& arguments);

}  // namespace holdfast::tools
