// The public histories that two tests judge when a folder with them is named (cmake
// -DHOLDFAST_HISTORIES=DIR), and their verdicts. The mutex files were drawn, the others come from Knossos and
// Porcupine.
#pragma once

#include "checker/testing/known_verdict.h"

namespace holdfast::checker::testing {

struct PublicHistory {
  const char* file;
  KnownVerdict verdict;
};

inline const std::vector<PublicHistory>& public_histories() {
  constexpr Value kNil;
  const auto mutex = [](bool keyed) {
    return KnownVerdict{.model = "mutex", .initial = Value(0), .keyed = keyed};
  };
  const auto bad_mutex = [](bool keyed, std::uint64_t index, const char* process, const char* holder) {
    return KnownVerdict{.model = "mutex",
                        .initial = Value(0),
                        .keyed = keyed,
                        .valid = false,
                        .index = index,
                        .process = process,
                        .holder = holder};
  };
  const auto cas = [](Value initial, bool valid) {
    return KnownVerdict{.model = "cas-register", .initial = initial, .valid = valid};
  };
  static const std::vector<PublicHistory> all = {
      {"mutex-etcd-invalid.edn", bad_mutex(false, 1119, "0", "3")},
      {"mutex-1000-10-clients-valid.edn", mutex(false)},
      {"mutex-1000-10-clients-invalid.edn", bad_mutex(false, 1995, "18", "2")},
      {"mutex-1018-100-keys-valid.edn", mutex(true)},
      {"mutex-1018-100-keys-invalid.edn", bad_mutex(true, 1904, "29", "13")},
      {"mutex-507-33-unknown-valid.edn", mutex(false)},
      {"mutex-509-33-unknown-invalid.edn", bad_mutex(false, 1007, "45", "36")},
      {"cas-failure-invalid.edn", cas(Value(0), false)},
      {"cas-immediate-failure-invalid.edn", cas(Value(0), false)},
      {"cas-rethink-fail-minimal-invalid.edn", cas(Value(0), false)},
      {"cas-register-bug-valid.edn", cas(Value(0), true)},
      {"cas-memstress3-0-valid.edn", cas(Value(0), true)},
      {"cas-memstress3-1-valid.edn", cas(Value(0), true)},
      {"cas-etcd-000-invalid.log", cas(kNil, false)},
      {"cas-etcd-002-valid.log", cas(kNil, true)},
  };
  return all;
}

}  // namespace holdfast::checker::testing
