#include "checker/testing/oracle.h"

#include <sstream>

#include "checker/checks/check.h"
#include "checker/history/formats.h"
#include "checker/history/joiner.h"
#include "checker/history/packed_history.h"
#include "checker/linearizability/breadth_search.h"
#include "checker/linearizability/depth_search.h"
#include "checker/linearizability/linearizability.h"
#include "checker/testing/oracle_scribe.h"
#include "checker/testing/plain_search.h"
#include "checker/testing/random.h"

namespace holdfast::checker::oracle {

namespace {

constexpr std::string_view kChecks[] = {"mutual-exclusion", "lease-exclusion", "fencing-monotonic",
                                        "told-in-time"};

class Comparison {
 public:
  Comparison(const Drawn& drawn, Tally* tally) : drawn_(drawn), tally_(tally) {}

  // False: there is a difference.
  bool agree(const std::string& text, Format format, const Telling& telling, bool alone) {
    text_ = &text;
    format_ = format;
    if (tally_ != nullptr) ++tally_->texts;
    try {
      std::istringstream in(text);
      PackedHistory packed;
      Format used{};
      const ReadHistory read = read_history(in, {.file = "drawn", .used = &used, .into = &packed});
      if (used != format) return differs("the guess of the format", "", to_string(used));
      if (!read.not_understood.empty())
        return differs("the reader", "", "does not understand " + read.not_understood[0].f);
      require_joined(packed, read, format == Format::jsonl);
      return judge(packed, telling, alone);
    } catch (const std::exception& error) {
      return differs("the reader", "reads it", error.what());
    }
  }
  const Difference& difference() const { return difference_; }

 private:
  static std::string_view said(Outcome outcome) {
    return outcome == Outcome::holds ? "holds" : outcome == Outcome::violated ? "violated" : "unknown";
  }
  bool differs(const std::string& by, std::string_view truth, std::string_view found) {
    difference_.by = by + " of " + std::string(to_string(format_));
    difference_.what = "truth: " + std::string(truth) + ", found: " + std::string(found) + "\nmodel " +
                       drawn_.model + ", permits " + std::to_string(drawn_.permits) + ", entries " +
                       std::to_string(drawn_.most_entries) + "\n" + *text_;
    return false;
  }
  bool same(const std::string& by, Truth truth, Outcome found) {
    if (tally_ != nullptr) ++tally_->compared;
    return to_string(truth) == said(found) || differs(by, to_string(truth), said(found));
  }

  bool judge(const PackedHistory& packed, const Telling& telling, bool alone) {
    const History history = packed.unpack();
    const Truth order = truth_of("linearizable", drawn_, telling);
    LinearizabilityOptions options;
    options.model = drawn_.model;
    options.model_options.permits = std::max<std::int64_t>(drawn_.permits, 1);
    options.model_options.most_entries = drawn_.most_entries;
    options.jepsen = telling.jepsen;
    options.shrink = false;
    if (!same("linearizable", order, check_linearizable(packed, options).outcome)) return false;
    if (!same("linearizable (events)", order, check_linearizable(history, options).outcome)) return false;
    options.engine = Engine::search;
    if (!same("linearizable (search)", order, check_linearizable(packed, options).outcome)) return false;
    options.engine = Engine::linear;
    const Outcome linear = check_linearizable(packed, options).outcome;
    if (linear != Outcome::unknown && !same("linearizable (linear)", order, linear)) return false;
    if (alone && !each_search(history, options, order)) return false;
    if (tally_ != nullptr) ++(order == Truth::violated ? tally_->violated : tally_->held)["linearizable"];
    CheckContext context{.reentrant = drawn_.reentrant, .permits = drawn_.permits};
    context.told_slack_ns = 0;
    for (const std::string_view check : kChecks) {
      const Truth truth = truth_of(check, drawn_, telling);
      if (!same(std::string(check), truth, find_check(check)->run(history, context).outcome)) return false;
      if (tally_ != nullptr && truth != Truth::unknown) {
        ++(truth == Truth::violated ? tally_->violated : tally_->held)[std::string(check)];
      }
    }
    return true;
  }

  // The engines without what stands before them.
  bool each_search(const History& history, const LinearizabilityOptions& how, Truth order) {
    const auto model = find_model(how.model)->make(how.model_options);
    const std::vector<KeyOperations> keys = extract_operations(history, extract_options(*model, how.jepsen));
    constexpr std::uint64_t kSteps = 1'000'000, kBytes = 1 << 28;
    bool breadth = true, depth = true, plain = true;
    for (const KeyOperations& key : keys) {
      const auto found = [](const std::optional<SearchResult>& result) {
        return result && result->outcome == SearchOutcome::linearizable;
      };
      breadth = breadth && found(BreadthSearch(key.operations, *model, kBytes).advance(kSteps));
      depth = depth && found(DepthSearch(key.operations, *model, kBytes).advance(kSteps));
      plain = plain && plain_search(key.operations, *model, kSteps).linearizable == true;
    }
    const Truth truth = order == Truth::violated ? Truth::violated : Truth::holds;
    const auto outcome = [](bool linearizable) { return linearizable ? Outcome::holds : Outcome::violated; };
    return same("linearizable (breadth)", truth, outcome(breadth)) &&
           same("linearizable (depth)", truth, outcome(depth)) &&
           same("linearizable (plain)", truth, outcome(plain));
  }

  const Drawn& drawn_;
  Tally* tally_;
  const std::string* text_ = nullptr;
  Format format_ = Format::jsonl;
  Difference difference_;
};

}  // namespace

Difference compare(const std::string& model, std::uint64_t seed, Tally* tally) {
  const Drawn drawn = draw(model, seed);
  if (drawn.recorded == 0) return {};
  if (tally != nullptr) ++tally->drawn;
  testing::Random random(seed ^ 0x5C41BE);
  Comparison comparison(drawn, tally);
  const bool claims = drawn.leased;  // without times a lease means nothing
  const Telling timed{.jepsen = false, .times = claims || random.chance(0.8)};
  const Telling ordered{.jepsen = true, .times = claims || random.chance(0.5)};
  (void)(comparison.agree(write_jsonl(drawn, timed, random), Format::jsonl, timed, true) &&
         comparison.agree(write_edn(drawn, ordered, random), Format::jepsen_edn, ordered, true) &&
         (!log_can_tell(drawn) || comparison.agree(write_log(drawn, random), Format::jepsen_log,
                                                   {.jepsen = true, .times = false}, false)));
  return comparison.difference();
}

}  // namespace holdfast::checker::oracle
