// Runs `holdfast check` as a user does, for tests.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "checker/testing/known_verdict.h"
#include "tools/holdfast/testing/run_tool.h"

namespace holdfast::tools::testing {

// What is written to standard error is part of `out`. `before` is put before the command: "cat h.edn |",
// "COLUMNS=80". Without it: 100 columns, in UTF-8.
inline Ran check(const std::string& arguments, const std::string& before = "") {
  return run_shell("unset COLUMNS NO_COLOR; export LC_ALL=C.UTF-8; " + before + " " + kTool + " check " +
                   arguments + " 2>&1");
}

inline void expect_all(const Ran& ran, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts)
    EXPECT_NE(ran.out.find(part), std::string::npos) << part << "\n" << ran.out;
}

// The command has the verdict that is known of the file, with its format guessed and named. The witness that
// it writes has the same verdict. Returns the text of the witness.
inline std::string expect_known_verdict(const std::string& path,
                                        const checker::testing::KnownVerdict& known) {
  SCOPED_TRACE(path);
  std::string arguments = "--model " + known.model;
  if (known.keyed) arguments += " --keyed";
  if (known.model == "cas-register") {
    arguments += " --init " + (known.initial.empty() ? "nil" : std::to_string(known.initial.number()));
  }
  std::string told;
  if (known.index) told = "index " + std::to_string(*known.index) + ": ";
  if (!known.holder.empty()) {
    told += "acquire of process " + known.process + " completes while process " + known.holder + " holds";
  }
  const TemporaryFolder folder;
  const std::string witness = folder.path() + "/w.edn";
  for (const std::string format :
       {"", path.ends_with(".log") ? " --format jepsen-log" : " --format jepsen-edn"}) {
    const Ran ran = check(arguments + format + " --witness " + witness + " " + path);
    EXPECT_EQ(ran.exit, known.valid ? 0 : 1) << ran.out;
    expect_all(ran, {known.valid ? ": holds\n" : ": violated\n", told});
  }
  if (known.valid) return "";
  const Ran again = check(arguments + " " + witness);
  EXPECT_EQ(again.exit, 1) << again.out;
  expect_all(again, {told});
  return read_text(witness);
}

}  // namespace holdfast::tools::testing
