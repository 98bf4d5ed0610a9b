// Which model and which checks a history is judged by, where the user names none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checker/checks/questions.h"
#include "checker/history/packed_history.h"
#include "tools/holdfast/check_judge.h"

namespace holdfast::tools {

struct PlannedCheck {
  checker::Question question;
  bool asked = true;  // by the user or the run; a usual one that lacks a field is listed, and does not count
};

struct CheckPlan {
  std::string model;
  std::string why = {};  // of a guessed model: what speaks for it
  std::string if_it_holds =
      {};  // of a guessed model that asks less than another one would: what is open then
  bool permits_unknown = false;  // a guessed semaphore, and nobody said how many permits there are
  std::vector<PlannedCheck> checks;
  checker::CheckContext context = {};  // without what only the history says
};

// `run`: what was asked of the run, null: nobody says. The command line outranks it.
CheckPlan plan_checks(const checker::PackedHistory& history, checker::Format format,
                      const CheckArguments& arguments, const checker::Questions* run);

// How `history` is judged by the plan's model; without a budget of time.
checker::LinearizabilityOptions linearizability_options(const CheckPlan& plan,
                                                        const CheckArguments& arguments,
                                                        checker::Format format,
                                                        const checker::PackedHistory& history);

// The questions in a file of JSON, or in the header of a history. Throws BadUsage, checker::FormatError.
checker::Questions read_questions(const std::string& file);

// Reentrant: an owner may enter again what it holds.
bool is_reentrant(const std::string& model);

// The whole number that `text` is, if it is one.
std::optional<std::int64_t> number_of(const std::string& text);

}  // namespace holdfast::tools
