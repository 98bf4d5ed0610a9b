// Questions: what was asked of a run, so that its history can be asked the same: the header line of its file,
// and what `holdfast check --expect FILE` reads. The members: checker/HISTORY.md, "The header of a run".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checker/checks/check.h"

namespace holdfast::checker {

struct Question {
  std::string check;                     // REQUIRES: find_check() knows it
  std::optional<Outcome> expected = {};  // holds or violated; none: whatever it says
  std::string kind = {};                 // violated: at least one witness of this kind; "": any
  std::string seeds = {};  // on which share of the seeds it is expected (">= 20%"); "": on each of them
  std::vector<std::string> marks = {};  // of the check `reached`

  enum class Answer { met, missed, unknown };
  // One run tells nothing against what is expected of a share of them only.
  Answer answered_by(const Verdict& verdict) const;
  std::string wanted() const;  // "violated (double-grant) on >= 20% of the seeds"; "" nothing is
};

struct Questions {
  std::string title;            // of the run: "storm/fair, seed 7"; may be empty
  CheckContext context;         // without required_marks: each question has its own
  std::vector<Question> asked;  // in the order of the scenario
};

// A verdict whose outcome is `outcome`, and that has a witness of `kind` ("": of any, or none).
bool shows(const Verdict& verdict, Outcome outcome, std::string_view kind);

// The header line, without its newline.
std::string to_header(const Questions& questions);

// `text` begins at that line and column (from 1) of `file`. Throws FormatError: no JSON, a member that is
// missing, not known or of another type, a check, a kind or a model that does not exist, a later schema.
Questions parse_questions(std::string_view text, const std::string& file, std::uint64_t line = 1,
                          std::uint64_t column = 1);

}  // namespace holdfast::checker
