// What is known of a history from elsewhere, and the comparison of every engine with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "checker/history/history_jsonl.h"

namespace holdfast::checker::testing {

struct KnownVerdict {
  std::string model;   // "mutex" or "cas-register"
  Value initial = {};  // of a register; nothing: nil
  bool keyed = false;
  bool valid = true;
  // Not valid: the index of the first completion that no order explains, where it is known; for a mutex also
  // its process, and the process that holds then.
  std::optional<std::uint64_t> index = {};
  std::string process = {}, holder = {};
};

// Fails the present test where an engine gives another verdict, or a witness that is not violated by itself,
// also after it was written as EDN and read again. `read` comes from a Jepsen format.
void expect_verdict_of_every_engine(const ReadHistory& read, const KnownVerdict& known);

}  // namespace holdfast::checker::testing
