#include "checker/testing/known_verdict.h"

#include <gtest/gtest.h>

#include <sstream>

#include "checker/history/formats.h"
#include "checker/linearizability/linearizability.h"

namespace holdfast::checker::testing {

namespace {

History through_edn(const History& history, bool keyed) {
  ReadHistory written;
  written.history = history;
  std::stringstream text;
  write_edn(written, text, keyed);
  return std::move(read_history(text, {.keyed = keyed}).history);
}

void expect_violation(const ReadHistory& read, const KnownVerdict& known, const KeyVerdict& first,
                      const LinearizabilityOptions& options) {
  if (known.index) {
    EXPECT_EQ(read.index_of(first.at), *known.index);
  }
  const auto process_at = [&](std::size_t position) {
    return std::string(read.history.text(read.history.events()[position].process));
  };
  if (!known.process.empty()) {
    EXPECT_EQ(process_at(first.at), known.process);
  }
  if (!known.holder.empty()) {
    ASSERT_TRUE(first.holder.has_value());
    EXPECT_EQ(process_at(*first.holder), known.holder);
  }
  if (known.model == "mutex") {
    EXPECT_LE(first.witness.size(), 8U);
  }
  const History part = read.history.subset(first.witness);
  EXPECT_EQ(check_linearizable(part, options).outcome, Outcome::violated) << to_jsonl(part);
  EXPECT_EQ(check_linearizable(through_edn(part, known.keyed), options).outcome, Outcome::violated)
      << to_jsonl(part);
}

}  // namespace

void expect_verdict_of_every_engine(const ReadHistory& read, const KnownVerdict& known) {
  for (const Engine engine : {Engine::automatic, Engine::search}) {
    SCOPED_TRACE(to_string(engine));
    LinearizabilityOptions options;
    options.model = known.model;
    options.model_options.initial = known.initial;
    options.jepsen = true;
    options.engine = engine;
    const LinearizabilityResult result = check_linearizable(read.history, options);
    ASSERT_EQ(result.outcome, known.valid ? Outcome::holds : Outcome::violated) << result.reason;
    if (!known.valid) expect_violation(read, known, *result.first(), options);
  }
}

}  // namespace holdfast::checker::testing
